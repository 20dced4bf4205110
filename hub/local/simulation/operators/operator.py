"""The shell of every simulated operator: watches its kind and its children, and carries out what ``decide`` says."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from hub.local.simulation.operators.plan import Children, Kind, Plan
from worker_agent.api.document import Document
from worker_agent.api.frameworks import controller_of
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ResourceType
from worker_agent.app import kinds_served
from worker_agent.jobs import KINDS
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import AlreadyExists, NotFound
from worker_agent.kube.informer import Event, Informer, Keep, document

FIELD_MANAGER: Final = "simulated-operators"
CONTROLLER: Final = "controller"
"""Index of children by the UID of what controls them."""
BATCH_SECONDS: Final = 0.1


class Operators:
    """All simulated operators of a cluster: they share the informers of the kinds that several of them watch."""

    def __init__(
        self, client: Client, kinds: Iterable[Kind], shared: dict[ResourceType, Informer[Any]], clock: Clock
    ) -> None:
        self._client = client
        self._kinds = tuple(kinds)
        self._clock = clock
        self._informers: dict[ResourceType, Informer[Document]] = dict(shared)
        self._own: list[Informer[Document]] = []
        for kind in self._kinds:
            for resource in (kind.resource, *kind.children):
                if resource not in self._informers:
                    made = Informer(client, resource, document, keep=Keep.DECODED)
                    self._informers[resource] = made
                    self._own.append(made)
        for resource in {child for kind in self._kinds for child in kind.children}:
            self._informers[resource].add_index(CONTROLLER, _controller_uid)

    async def run(self) -> None:
        """Works until cancelled; kinds that the server does not have yet are waited for."""
        async with asyncio.TaskGroup() as group:
            for source in self._own:
                group.create_task(self._follow(source), name=f"simulated {source.resource.plural}")
            for kind in self._kinds:
                operator = _Operator(self._client, kind, self._informers, self._clock)
                group.create_task(operator.run(), name=f"simulated operator {kind.resource.kind}")

    async def _follow(self, source: Informer[Document]) -> None:
        await kinds_served.until_served(self._client, source.resource, self._clock)
        await source.run()


class _Operator:
    def __init__(
        self, client: Client, kind: Kind, informers: dict[ResourceType, Informer[Document]], clock: Clock
    ) -> None:
        self._client = client
        self._kind = kind
        self._clock = clock
        self._job = next((each for each in KINDS.values() if each.resource == kind.resource), None)
        self._objects = informers[kind.resource]
        self._children = {resource: informers[resource] for resource in kind.children}
        self._controller: Controller[Key] = Controller(
            f"simulated {kind.resource.kind}", self._reconcile, workers=4, clock=clock
        )

    async def run(self) -> None:
        await self._objects.synced.wait()
        for source in self._children.values():
            await source.synced.wait()
        self._objects.add_handler(lambda event: self._controller.enqueue(event.key))
        for source in self._children.values():
            source.add_handler(self._child_changed)
        await self._controller.run()

    def _child_changed(self, event: Event[Document]) -> None:
        for seen in (event.old, event.new):
            owner = None if seen is None else controller_of(seen)
            resource = self._kind.resource
            if owner is not None and (owner.get("apiVersion"), owner.get("kind")) == (
                resource.api_version,
                resource.kind,
            ):
                self._controller.enqueue(Key(event.key.namespace, owner["name"]), BATCH_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        owner = self._objects.get(key)
        if owner is None or owner["metadata"].get("deletionTimestamp") or self._runs_elsewhere(owner):
            return None
        plan = self._kind.decide(owner, self._children_of(owner), self._clock.now())
        await self._carry_out(owner, plan)
        return plan.look_again

    def _runs_elsewhere(self, owner: Document) -> bool:
        """Another controller has the object: it was dispatched to a worker cluster."""
        job = self._job
        return job is not None and job.managed_by(owner) not in ("", job.native_manager)

    def _children_of(self, owner: Document) -> Children:
        uid = owner["metadata"]["uid"]
        return {
            resource: sorted(source.by_index(CONTROLLER, uid), key=lambda each: str(each["metadata"]["name"]))
            for resource, source in self._children.items()
        }

    async def _carry_out(self, owner: Document, plan: Plan) -> None:
        for resource, document_ in plan.delete:
            metadata = document_["metadata"]
            remove = partial(self._client.delete, resource, metadata["name"], metadata.get("namespace", ""))
            try:
                await remove(uid=metadata.get("uid", ""))
            except NotFound:
                continue
        for resource, document_ in plan.create:
            try:
                await self._client.create(
                    resource, document_, document_["metadata"]["namespace"], field_manager=FIELD_MANAGER
                )
            except AlreadyExists:
                # Made before a restart or a lost answer; its name is its identity, and the watch will show it.
                continue
        for resource, before, after in plan.change:
            await self._patch(resource, before, _difference(before, after), "")
        if plan.status is not None and plan.status != (owner.get("status") or {}):
            body = _difference({"status": owner.get("status") or {}}, {"status": plan.status})
            await self._patch(self._kind.resource, owner, body, "status")

    async def _patch(self, resource: ResourceType, before: Document, body: Document, subresource: str) -> None:
        if not body:
            return
        metadata = before["metadata"]
        await self._client.patch(
            resource,
            metadata["name"],
            metadata.get("namespace", ""),
            {**body, "metadata": {"uid": metadata["uid"], **body.get("metadata", {})}},
            patch_type=PatchType.MERGE,
            subresource=subresource,
            field_manager=FIELD_MANAGER,
        )


def _controller_uid(document_: Any) -> Iterable[str]:
    owner = controller_of(document_)
    if owner is not None:
        yield str(owner.get("uid", ""))


def _difference(before: Any, after: Any) -> Document:
    """A merge patch from one document to the other."""
    patch: Document = {}
    for name in {*before, *after}:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            patch[name] = _difference(old, new)
        else:
            patch[name] = new
    return patch
