"""The controller of StatefulSets and LeaderWorkerSets whose pods are queued (spec/jobs 9.12, 9.13, 10)."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from worker_agent.api import frameworks, names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import queue_name
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod as PodView
from worker_agent.api.resource_type import NAMESPACES, PODS, STATEFUL_SETS, WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.job_controller import JobWorld, priority_classes
from worker_agent.engine import job_ancestors
from worker_agent.engine.intents import Intent, PatchObject
from worker_agent.jobs import leader_worker_set_lifecycle, stateful_set_lifecycle
from worker_agent.jobs.leader_worker_set import NAME_LABEL
from worker_agent.jobs.serving import ServingKind
from worker_agent.jobs.serving_pass import ServingView, without_moves_of_what_runs
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event

BATCH_SECONDS: Final = 1.0
"""The pods of a set come in bursts: they are looked at together."""

BY_OWNER: Final = "serving-owner"
BY_NAME_LABEL: Final = "serving-set"
OF_OWNER: Final = "serving-workloads"

Decide = Callable[[ServingView, datetime], list[Intent]]


def decide_stateful_set(view: ServingView, now: datetime) -> list[Intent]:
    """The set with its Workload, then each of its pods."""
    intents = stateful_set_lifecycle.decide(view, now)
    touched = {intent.key for intent in intents if isinstance(intent, PatchObject) and intent.resource == PODS}
    for pod in view.pods:
        if Key(view.key.namespace, pod["metadata"]["name"]) not in touched:
            intents += stateful_set_lifecycle.decide_pod(pod, view, now)
    return intents


class ServingController:
    """Reconciles the sets of one kind."""

    def __init__(self, kind: ServingKind, world: JobWorld, applier: Applier, *, workers: int = 5) -> None:
        self._kind = kind
        self._world = world
        self._known = world.known
        self._applier = applier
        self._is_stateful_set = kind.resource == STATEFUL_SETS
        self._decide: Decide = decide_stateful_set if self._is_stateful_set else leader_worker_set_lifecycle.decide
        self.controller: Controller[Key] = Controller(
            kind.framework, self._reconcile, workers=workers, clock=world.clock
        )
        known = self._known
        known.informer(kind.resource).add_handler(self._set_changed)
        pods, workloads = known.informer(PODS), known.informer(WORKLOADS)
        pods.add_index(self._pod_index, self._sets_of)
        pods.add_handler(self._pod_changed)
        workloads.add_index(f"{OF_OWNER}-{kind.framework}", self._owners_of)
        workloads.add_handler(self._workload_changed)
        if not self._is_stateful_set:
            known.informer(STATEFUL_SETS).add_handler(self._inner_set_changed)

    @property
    def _pod_index(self) -> str:
        return f"{BY_OWNER if self._is_stateful_set else BY_NAME_LABEL}-{self._kind.framework}"

    async def run(self) -> None:
        await self.controller.run()

    def look_at(self, workload: Workload) -> None:
        """Something outside this cluster matters to the Workload's set."""
        for value in self._owners_of(workload):
            self.controller.enqueue(Key.parse(value))

    def _sets_of(self, pod: PodView) -> Iterable[str]:
        """The set a pod belongs to, as ``namespace/name``."""
        metadata = pod.metadata
        if not self._is_stateful_set:
            name = metadata.label(NAME_LABEL)
        else:
            owner, parent = metadata.controller, metadata.annotation(names.POD_SUSPENDING_PARENT_ANNOTATION)
            ours = owner is not None and owner.kind == "StatefulSet" and parent == self._kind.parent
            name = owner.name if owner is not None and ours else ""
        if name:
            yield f"{metadata.namespace}/{name}"

    def _owners_of(self, workload: Workload) -> Iterable[str]:
        resource = self._kind.resource
        for owner in workload.metadata.owner_references or ():
            if (owner.api_version, owner.kind) == (resource.api_version, resource.kind):
                yield f"{workload.metadata.namespace}/{owner.name}"

    def _set_changed(self, event: Event[Document]) -> None:
        self.controller.enqueue(event.key)

    def _pod_changed(self, event: Event[PodView]) -> None:
        for pod in (event.old, event.new):
            for value in () if pod is None else self._sets_of(pod):
                self.controller.enqueue(Key.parse(value), BATCH_SECONDS)

    def _workload_changed(self, event: Event[Workload]) -> None:
        for workload in (event.old, event.new):
            for value in () if workload is None else self._owners_of(workload):
                self.controller.enqueue(Key.parse(value))

    def _inner_set_changed(self, event: Event[Document]) -> None:
        for document in (event.old, event.new):
            name = ((document or {}).get("metadata", {}).get("labels") or {}).get(NAME_LABEL)
            if name:
                self.controller.enqueue(Key(event.key.namespace, name), BATCH_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        job = self._known.document(self._kind.resource, key)
        if job is None and self._is_stateful_set:
            return None
        if job is not None and (self._kind.belongs_elsewhere(job) or not self._is_managed(job)):
            return None
        lookup = None if job is None else await self._world.ancestors.of(job)
        if job is not None and lookup is not None and _has_managed_ancestor(job, lookup, self._world):
            return None
        intents = self._decide(self._view(key, job), self._world.clock.now())
        return await self._applier.apply(without_moves_of_what_runs(intents))

    def _is_managed(self, job: Document) -> bool:
        policy = self._world.policy
        if not queue_name(job) and not policy.manage_without_queue_name:
            return False
        if policy.namespaces is None:
            return True
        namespace = self._known.informer(NAMESPACES).get(Key("", job["metadata"].get("namespace", "")))
        return namespace is not None and policy.namespaces.matches(namespace.metadata.labels or {})

    def _view(self, key: Key, job: Document | None) -> ServingView:
        known = self._known
        pods = tuple(
            pod
            for pod in known.documents(PODS, self._pod_index, str(key))
            if pod["metadata"].get("namespace") == key.namespace
        )
        workload_classes, pod_classes = priority_classes(known)
        return ServingView(
            kind=self._kind,
            key=key,
            policy=self._world.policy,
            job=job,
            workloads=self._workloads(key, job),
            pods=tuple(sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))),
            sets=self._inner_sets(key),
            workload_priority_classes=workload_classes,
            priority_classes=pod_classes,
        )

    def _workloads(self, key: Key, job: Document | None) -> dict[str, Document]:
        """Those the set owns, and those that have the names it would give."""
        owned = self._known.documents(WORKLOADS, f"{OF_OWNER}-{self._kind.framework}", str(key))
        found = {workload["metadata"]["name"]: workload for workload in owned}
        for name in () if job is None else self._kind.workload_names(job, self._world.policy):
            workload = self._known.document(WORKLOADS, Key(key.namespace, name))
            if workload is not None:
                found[name] = workload
        return {
            name: workload for name, workload in found.items() if workload["metadata"].get("namespace") == key.namespace
        }

    def _inner_sets(self, key: Key) -> tuple[Document, ...]:
        if self._is_stateful_set:
            return ()
        sets = self._known.informer(STATEFUL_SETS).values()
        return tuple(
            each
            for each in sets
            if each["metadata"].get("namespace") == key.namespace
            and (each["metadata"].get("labels") or {}).get(NAME_LABEL) == key.name
        )


def _has_managed_ancestor(job: Document, lookup: job_ancestors.Lookup, world: JobWorld) -> bool:
    if frameworks.controller_of(job) is None:
        return False
    return job_ancestors.search(job, lookup, world.policy).managed is not None
