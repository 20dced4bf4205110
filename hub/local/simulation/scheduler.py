"""Shell of the scheduler: binds waiting pods where they fit, in passes.

A pass looks at all waiting pods, by priority and age, on what is free now; a change that may help starts another one.
Within a pass room only shrinks, so pods equal to one that did not fit are not tried again.
"""

import asyncio
import logging
from typing import Any

import msgspec

from hub.local.simulation import job_pods, placement
from hub.local.simulation.placement import Demand, Room, Unschedulable
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node, PodSpec
from worker_agent.api.quantity import QuantityError
from worker_agent.api.resource_type import PODS
from worker_agent.api.timestamps import rfc3339
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, BadRequest, Conflict, NotFound, ServerError
from worker_agent.kube.informer import Event, Informer

log = logging.getLogger(__name__)

FIELD_MANAGER = "kube-scheduler"
PASS_PAUSE_SECONDS = 0.02
"""Between passes: what happens together is decided together."""

RETRY_SECONDS = 5.0
"""After a failed write, and between two messages to the same pod."""

BINDINGS_AT_ONCE = 32
PODS_PER_TURN = 64
"""Pods decided before others get a turn in the event loop: with a thousand nodes about 80 ms."""


class Scheduler:
    """Runs over informers of pods and nodes that the caller runs; ``run`` may start once both have synced."""

    def __init__(self, client: Client, pods: Informer[Document], nodes: Informer[Node], clock: Clock) -> None:
        self._client = client
        self._pods = pods
        self._nodes = nodes
        self._clock = clock
        self._room = Room()
        self._waiting: dict[Key, Document] = {}
        self._bound: set[str] = set()
        self._told_at: dict[str, float] = {}
        self._demands: dict[str, Demand] = {}
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Works until cancelled."""
        self._nodes.add_handler(self._node_changed)
        self._pods.add_handler(self._pod_changed)
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._pass()
            await self._clock.sleep(PASS_PAUSE_SECONDS)

    def _node_changed(self, event: Event[Node]) -> None:
        if event.new is None:
            self._room.remove_node(event.key.name)
        else:
            self._room.put_node(event.new)
        self._changed.set()

    def _pod_changed(self, event: Event[Document]) -> None:
        pod = event.new
        if pod is None:
            self._waiting.pop(event.key, None)
            uid = job_pods.uid(event.old or {"metadata": {}})
            self._forget(uid)
            self._lift(uid)
            self._demands.pop(uid, None)
            return
        uid = job_pods.uid(pod)
        node = pod["spec"].get("nodeName")
        if placement.is_schedulable(pod) and uid not in self._bound:
            self._waiting[event.key] = pod
            self._changed.set()
            return
        self._waiting.pop(event.key, None)
        if job_pods.is_finished(pod):
            self._lift(uid)
        elif node:
            self._forget(uid)
            self._room.place(uid, node, self._demand(pod).requests)

    def _lift(self, uid: str) -> None:
        if self._room.lift(uid):
            self._changed.set()

    def _forget(self, uid: str) -> None:
        self._bound.discard(uid)
        self._told_at.pop(uid, None)

    def _demand(self, pod: Document) -> Demand:
        """What the pod asks for; its requests never change. Raises QuantityError."""
        uid = job_pods.uid(pod)
        demand = self._demands.get(uid)
        if demand is None:
            spec = msgspec.convert(pod["spec"], PodSpec)
            demand = self._demands[uid] = Demand.of(spec)
        return demand

    async def _pass(self) -> None:
        """Decides for every waiting pod, and writes as it goes."""
        hopeless: dict[str, str] = {}
        pods = sorted(self._waiting.values(), key=_order)
        slots = asyncio.Semaphore(BINDINGS_AT_ONCE)
        for start in range(0, len(pods), PODS_PER_TURN):
            # Those that were deleted or bound while earlier ones were written are no longer of interest.
            turn = [pod for pod in pods[start : start + PODS_PER_TURN] if self._waiting.get(_key(pod)) is pod]
            choices = [(pod, self._choose(pod, hopeless)) for pod in turn]
            bindings = [(pod, choice) for pod, choice in choices if isinstance(choice, str)]
            await asyncio.gather(*(self._bind(slots, pod, node) for pod, node in bindings))
            for pod, choice in choices:
                if isinstance(choice, Unschedulable):
                    await self._refuse(pod, choice.message)

    def _choose(self, pod: Document, hopeless: dict[str, str]) -> str | Unschedulable:
        """The node for a pod, on which it is assumed from now on. ``hopeless`` keeps what did not fit in this pass."""
        try:
            demand = self._demand(pod)
        except QuantityError as error:
            return Unschedulable(str(error))
        known = hopeless.get(demand.signature)
        choice = Unschedulable(known) if known is not None else self._room.choose(demand)
        if isinstance(choice, Unschedulable):
            hopeless[demand.signature] = choice.message
        else:
            uid = job_pods.uid(pod)
            self._room.place(uid, choice, demand.requests)
            self._bound.add(uid)
        return choice

    async def _bind(self, slots: asyncio.Semaphore, pod: Document, node: str) -> None:
        key = _key(pod)
        async with slots:
            try:
                await self._write_binding(key, job_pods.uid(pod), node)
            except (NotFound, Conflict) as error:
                log.debug("pod %s is gone or bound already: %s", key, error)
                self._undo(pod)
            except (ApiError, ConnectionError) as error:
                log.warning("pod %s not bound to %s: %s", key, node, error)
                self._undo(pod)
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._changed.set)
            else:
                if self._waiting.get(key) is pod:
                    del self._waiting[key]

    async def _write_binding(self, key: Key, uid: str, node: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._client.create(
            PODS, binding, key.namespace, name=key.name, subresource="binding", field_manager=FIELD_MANAGER
        )

    def _undo(self, pod: Document) -> None:
        """The pod is not where we assumed; what the watch shows counts again."""
        uid = job_pods.uid(pod)
        self._bound.discard(uid)
        seen = self._pods.get(_key(pod))
        if seen is None or not seen["spec"].get("nodeName"):
            self._room.lift(uid)

    async def _refuse(self, pod: Document, message: str) -> None:
        """Says on the pod why it waits; a changed reason soon, the same one never twice."""
        meta = pod["metadata"]
        now = self._clock.monotonic()
        known = _scheduled_condition(pod)
        if known.get("reason") == "Unschedulable" and (
            known.get("message") == message or now - self._told_at.get(meta["uid"], -RETRY_SECONDS) < RETRY_SECONDS
        ):
            return
        self._told_at[meta["uid"]] = now
        since = known.get("lastTransitionTime") if known.get("status") == "False" else None
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": since or rfc3339(self._clock.now()),
            "lastProbeTime": None,
        }
        body: Any = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [condition]}}
        try:
            await self._client.patch(
                PODS,
                meta["name"],
                meta["namespace"],
                body,
                patch_type=PatchType.STRATEGIC,
                subresource="status",
                field_manager=FIELD_MANAGER,
            )
        except (NotFound, Conflict, BadRequest) as error:
            log.debug("pod %s/%s: %s", meta["namespace"], meta["name"], error)
        except (ServerError, ApiError, ConnectionError) as error:
            log.warning("pod %s/%s: reason not written: %s", meta["namespace"], meta["name"], error)


def _key(pod: Document) -> Key:
    return Key(pod["metadata"]["namespace"], pod["metadata"]["name"])


def _order(pod: Document) -> tuple[int, str, str]:
    meta = pod["metadata"]
    return -int(pod["spec"].get("priority") or 0), meta.get("creationTimestamp", ""), meta["name"]


def _scheduled_condition(pod: Document) -> Document:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled":
            return dict(condition)
    return {}
