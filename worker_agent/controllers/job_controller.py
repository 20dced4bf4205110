"""One controller for every job kind: it loads a JobView, asks ``job_lifecycle`` and applies the answer.

Watches (spec/jobs 10): the jobs of the kind, and Workloads, which lead to the job that controls them and to the jobs
which that job controls in turn.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from worker_agent import log_context
from worker_agent.api import companions, frameworks, names, need, timestamps
from worker_agent.api.companions import Companion
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind, prebuilt_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod, PriorityClass
from worker_agent.api.resource_type import (
    JOBS,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from worker_agent.api.workload import Workload
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.controllers.ancestors import Ancestors, owner_value
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.fence import Fence
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import fencing, job_ancestors, job_first_wait, job_lifecycle, workload_status
from worker_agent.engine.intents import CreateObject, Intent
from worker_agent.engine.job_ancestors import NO_ANCESTOR, Lookup
from worker_agent.engine.job_first_wait import ReadyKeptBack
from worker_agent.engine.job_view import JobView
from worker_agent.jobs import KINDS
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event, EventType

log = logging.getLogger(__name__)

OWNER_INDEX = "owner"
"""Index of Workloads and jobs by the object that controls them."""

PREBUILT_INDEX = "prebuilt"
"""Index of jobs by the Workload they ask for."""

UNSEEN_SECONDS = 1.0
"""When to look again at a job that the server has and the cache does not."""


BY_DEFAULT = (JOBS, PODS)
OWNERS_FINALIZERS = "asked for where the plugin OwnerReferencesPermissionEnforcement is on: Workloads hold their jobs"
NEEDS = (
    need.of(WORKLOADS, "create", "patch"),
    need.of(WORKLOADS, "get", unseen=need.LOST_RACE),
    need.of(WORKLOADS, "delete", unseen="Workloads that do not fit their job any more"),
    *(
        need.of_kind(resource, "list", "watch", by_default=resource in BY_DEFAULT)
        for kind in KINDS.values()
        for resource in (kind.resource, *kind.companion_resources)
    ),
    *(need.of_kind(kind.resource, "patch", by_default=kind.resource in BY_DEFAULT) for kind in KINDS.values()),
    *(
        need.of(kind.resource, "update", subresource="finalizers", unseen=OWNERS_FINALIZERS)
        for kind in KINDS.values()
        if kind.reconciled
    ),
)
"""Of kinds that are not enabled too: which are is a setting, and roles are written before."""


def owner_values(item: Workload | Pod | Document) -> Iterable[str]:
    """What ``OWNER_INDEX`` files an object under; typed Workloads and documents alike."""
    if isinstance(item, dict):
        owner = frameworks.controller_of(item)
        if owner is not None:
            namespace = item["metadata"].get("namespace", "")
            yield owner_value(namespace, owner.get("apiVersion", ""), owner.get("kind", ""), owner.get("name", ""))
        return
    controller = item.metadata.controller
    if controller is not None:
        yield owner_value(item.metadata.namespace, controller.api_version, controller.kind, controller.name)


@dataclass(frozen=True, slots=True)
class JobWorld:
    """What all job controllers of one program share.

    ``fence`` is asked before a job that a hub sent is started. ``elsewhere(workload)`` says whether another cluster may
    run the Workload's job: the hub knows, and its quota is not free before. ``dispatched(workload)`` says that its pods
    are to run on another cluster, so that those here are never let go.
    """

    known: KnownObjects
    policy: JobPolicy
    clock: Clock
    ancestors: Ancestors
    fence: Fence
    elsewhere: Callable[[Document], bool] = lambda workload: False
    dispatched: Callable[[Document], bool] = lambda workload: False
    on_created: Callable[[str, float], None] = lambda kind, seconds: None
    """Told of every Workload made for a job: the job's kind, and its age in seconds."""
    on_unsaid: Callable[[Key, datetime], None] = lambda workload, since: None
    """Told of Workloads that ended without having said since when their pods were ready."""


class JobController:
    """Reconciles the jobs of one kind. Add it after its informers exist; ``run`` needs them synced."""

    def __init__(self, kind: JobKind, world: JobWorld, applier: Applier, *, workers: int = 5) -> None:
        self.kind = kind
        self._world = world
        self._known = world.known
        self._applier = applier
        self.accepts: Callable[[Document], bool] = lambda job: True
        """Which objects of the kind are jobs by themselves."""
        self._ready: dict[Key, datetime] = {}
        """Since when the pods of jobs are ready that keep this back."""
        self.controller: Controller[Key] = Controller(
            f"{kind.framework}", self._reconcile, workers=workers, clock=world.clock
        )
        jobs = self._known.informer(kind.resource)
        jobs.add_index(OWNER_INDEX, owner_values)
        jobs.add_index(PREBUILT_INDEX, self._prebuilt)
        jobs.add_handler(self._job_changed)
        self._known.informer(WORKLOADS).add_handler(self._workload_changed)
        for resource in kind.companion_resources:
            self._known.informer(resource).add_handler(self._companion_changed)

    async def run(self) -> None:
        await self.controller.run()

    def _prebuilt(self, job: Document | Pod) -> Iterable[str]:
        document = job if isinstance(job, dict) else _marks(job)
        name = prebuilt_name(document, self._world.policy)
        if name:
            yield f"{document['metadata'].get('namespace', '')}/{name}"

    def _job_changed(self, event: Event[Document]) -> None:
        self.controller.enqueue(event.key)

    def _companion_changed(self, event: Event[Any]) -> None:
        """What the kind's own controller made tells of the job."""
        resource = self.kind.resource
        ours = owner_value(event.key.namespace, resource.api_version, resource.kind, "")
        for item in (event.old, event.new):
            for owner in owner_values(item) if item is not None else ():
                if owner.startswith(ours):
                    self.controller.enqueue(Key(event.key.namespace, owner.removeprefix(ours)))

    def look_at(self, workload: Workload) -> None:
        """Something outside this cluster matters to the Workload's job."""
        self._workload_changed(Event(EventType.MODIFIED, workload.metadata.key, workload, workload))

    def _workload_changed(self, event: Event[Workload]) -> None:
        workload = event.new or event.old
        if workload is None:
            return
        resource = self.kind.resource
        jobs = self._known.informer(resource)
        owner = workload.metadata.controller
        if owner is not None:
            if (owner.api_version, owner.kind) == (resource.api_version, resource.kind):
                self.controller.enqueue(Key(event.key.namespace, owner.name))
            # A child waits for its ancestor's Workload.
            children = owner_value(event.key.namespace, owner.api_version, owner.kind, owner.name)
            for job in () if self.kind.top_level else jobs.by_index(OWNER_INDEX, children):
                self.controller.enqueue(_key(job))
        for job in jobs.by_index(PREBUILT_INDEX, str(event.key)):
            self.controller.enqueue(_key(job))

    async def _reconcile(self, key: Key) -> float | None:
        job = self._known.document(self.kind.resource, key)
        if job is None and await self._only_unseen(key):
            return UNSEEN_SECONDS
        if job is not None and not self.accepts(job):
            return None
        lookup = None if job is None or self.kind.top_level else await self._world.ancestors.of(job)
        may_start = job is not None and self.kind.is_suspended(job) and fencing.is_fenced(job) and self._admitted(job)
        refusal = await self._world.fence.refusal(job) if job is not None and may_start else ""
        if refusal:
            log.warning("%s %s is not started: %s", self.kind.resource.kind, key, refusal)
        view = replace(self._view(key, lookup), not_to_start=refusal, ready_since=self._ready.get(key))
        now = self._world.clock.now()
        intents = job_lifecycle.decide_to_rest(view, now)
        self._note_ready(view, intents, now)
        log_context.about(_workload_of(view, intents))
        after = await self._applier.apply(intents)
        self._tell_of_created(job, intents)
        return after

    def _admitted(self, job: Document) -> bool:
        """Whether a Workload that may be the job's is admitted: nothing else is started, and need be asked about."""
        resource, key = self.kind.resource, _key(job)
        owned = self._workloads(key.namespace, resource.api_version, resource.kind, key.name)
        prebuilt = self._prebuilt_workload(job, key.namespace)
        found = owned if prebuilt is None else (*owned, prebuilt)
        return any(workload_status.is_true(workload, names.ADMITTED) for workload in found)

    def _note_ready(self, view: JobView, intents: Sequence[Intent], now: datetime) -> None:
        """What is told later than it comes true is dated by this."""
        if any(isinstance(intent, ReadyKeptBack) for intent in intents):
            self._ready.setdefault(view.key, now)
            return
        since = self._ready.pop(view.key, None)
        ended = job_first_wait.ended_unsaid(view, intents) if since is not None else None
        if since is not None and ended is not None:
            self._world.on_unsaid(fencing.key_of(ended), since)

    def _tell_of_created(self, job: Document | None, intents: Iterable[Intent]) -> None:
        created = ((job or {}).get("metadata") or {}).get("creationTimestamp")
        if created and any(isinstance(i, CreateObject) and i.resource is WORKLOADS for i in intents):
            age = self._world.clock.now() - timestamps.parse(created)
            self._world.on_created(self.kind.resource.kind, age.total_seconds())

    async def _only_unseen(self, key: Key) -> bool:
        """A Workload may be known before its new job is: nothing is taken for ownerless on a cache's word alone."""
        resource = self.kind.resource
        if not self._workloads(key.namespace, resource.api_version, resource.kind, key.name):
            return False
        return await self._world.ancestors.exists(resource, key)

    def _view(self, key: Key, lookup: Lookup | None) -> JobView:
        """Everything is read in one turn of the loop, so that it shows one moment."""
        known, policy, resource = self._known, self._world.policy, self.kind.resource
        job = known.document(resource, key)
        if job is not None:
            job = companions.joined(job, self.kind.companions(job), companion_lookup(known))
        ancestry = NO_ANCESTOR if job is None or lookup is None else job_ancestors.search(job, lookup, policy)
        namespace = known.informer(NAMESPACES).get(Key("", key.namespace))
        workloads = self._workloads(key.namespace, resource.api_version, resource.kind, key.name)
        workload_classes, pod_classes = priority_classes(known)
        return JobView(
            kind=self.kind,
            key=key,
            policy=policy,
            job=job,
            workloads=workloads,
            runs_elsewhere=any(self._world.elsewhere(workload) for workload in workloads),
            dispatched=any(self._world.dispatched(workload) for workload in workloads),
            prebuilt=self._prebuilt_workload(job, key.namespace),
            namespace_labels=None if namespace is None else namespace.metadata.labels or {},
            ancestry=ancestry,
            ancestor_workloads=self._workloads_of(ancestry.managed),
            flavors=by_name(known.informer(RESOURCE_FLAVORS).values()),
            workload_priority_classes=workload_classes,
            priority_classes=pod_classes,
        )

    def _workloads(self, namespace: str, api_version: str, kind: str, name: str) -> tuple[Document, ...]:
        """Workloads whose controller has this kind and name, by name. The index does not see what we just created."""
        value = owner_value(namespace, api_version, kind, name)
        found = self._known.documents(WORKLOADS, OWNER_INDEX, value)
        owned = [w for w in found if any(owner == value for owner in owner_values(w))]
        return tuple(sorted(owned, key=lambda w: str(w["metadata"]["name"])))

    def _workloads_of(self, owner: Document | None) -> tuple[Document, ...]:
        if owner is None:
            return ()
        metadata = owner["metadata"]
        return self._workloads(
            metadata.get("namespace", ""), owner.get("apiVersion", ""), owner.get("kind", ""), metadata["name"]
        )

    def _prebuilt_workload(self, job: Document | None, namespace: str) -> Document | None:
        name = prebuilt_name(job, self._world.policy) if job is not None else ""
        return self._known.document(WORKLOADS, Key(namespace, name)) if name else None


def companion_lookup(known: KnownObjects) -> companions.Lookup:
    """Companions of jobs from the informers that follow their kinds."""

    def lookup(companion: Companion) -> Document | None:
        return known.document(companion.resource, Key(companion.namespace, companion.name))

    return lookup


def _marks(pod: Pod) -> Document:
    """What a pod says of how it is queued."""
    metadata = pod.metadata
    return {
        "metadata": {"namespace": metadata.namespace, "labels": metadata.labels, "annotations": metadata.annotations}
    }


def _key(item: Document | Pod) -> Key:
    if not isinstance(item, dict):
        return item.metadata.key
    metadata = item["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def priority_classes(known: KnownObjects) -> tuple[dict[str, WorkloadPriorityClass], dict[str, PriorityClass]]:
    """The classes that a job's priority is resolved from: of Workloads, of pods."""
    of_workloads, of_pods = known.informer(WORKLOAD_PRIORITY_CLASSES), known.informer(PRIORITY_CLASSES)
    return by_name(of_workloads.values()), by_name(of_pods.values())


def by_name(objects: Iterable[Any]) -> dict[str, Any]:
    return {item.metadata.name: item for item in objects}


def _workload_of(view: JobView, intents: Iterable[Intent]) -> Key | str:
    """Its latest one, or the one that is about to be made; empty when there is none."""
    made = next((i.key for i in intents if isinstance(i, CreateObject) and i.resource is WORKLOADS), None)
    known = (*view.workloads, *([view.prebuilt] if view.prebuilt is not None else ()))
    if made is None and known:
        made = Key(view.key.namespace, known[-1]["metadata"]["name"])
    return made or ""
