"""The controller of queued pods: single ones, and groups that share one Workload (spec/jobs 9.10, 10)."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from worker_agent import log_context
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import prebuilt_name
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod as PodView
from worker_agent.api.resource_type import NAMESPACES, PODS, RESOURCE_FLAVORS, WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.job_controller import JobController, JobWorld, by_name, priority_classes
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import fencing, job_lifecycle, workload_status
from worker_agent.engine.intents import DeleteObject, Intent
from worker_agent.engine.job_view import JobView
from worker_agent.jobs import pod_facts, pod_group, pod_group_lifecycle
from worker_agent.jobs.pod import Pod
from worker_agent.jobs.pod_group import PodGroup
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event

log = logging.getLogger(__name__)

GROUP_INDEX: Final = "pod-group"
"""Index of pods by namespace and group name."""


class Group(NamedTuple):
    """A group's key: its namespace, its name."""

    namespace: str
    name: str


class PodController:
    """Reconciles pods one by one, and groups as a whole. Needs pods followed with their JSON."""

    def __init__(self, world: JobWorld, applier: Applier, *, workers: int = 5) -> None:
        self._world = world
        self._known: KnownObjects = world.known
        self._applier = applier
        self._kind = PodGroup()
        self._single = JobController(Pod(), world, applier, workers=workers)
        self._single.accepts = self._is_single
        self._deleted: dict[Group, set[str]] = {}
        """UIDs of pods that were too many and whose end the watch has yet to show."""
        self.controller: Controller[Group] = Controller(
            "pod group", self._reconcile, workers=workers, clock=world.clock
        )
        pods = self._known.informer(PODS)
        pods.add_index(GROUP_INDEX, self._groups_of)
        pods.add_handler(self._pod_changed)
        self._known.informer(WORKLOADS).add_handler(self._workload_changed)

    @property
    def single(self) -> JobController:
        """The controller of pods that belong to no group."""
        return self._single

    async def run(self) -> None:
        await self.controller.run()

    def look_at(self, workload: Workload) -> None:
        """Something outside this cluster matters to the Workload's pods."""
        self._single.look_at(workload)
        if _is_of_group(workload):
            self.controller.enqueue(Group(workload.metadata.namespace, workload.metadata.name))

    def _name_in(self, pod: PodView) -> str:
        annotated = self._world.policy.identifier_annotations and pod.metadata.annotation(names.POD_GROUP_NAME_LABEL)
        return annotated or pod.metadata.label(names.POD_GROUP_NAME_LABEL)

    def _groups_of(self, pod: PodView) -> Iterable[str]:
        name = self._name_in(pod)
        if name:
            yield f"{pod.metadata.namespace}/{name}"

    def _is_single(self, pod: Document) -> bool:
        return not pod_facts.group_name(pod, self._world.policy)

    def _pod_changed(self, event: Event[PodView]) -> None:
        for pod in (event.old, event.new):
            if pod is not None and (name := self._name_in(pod)):
                self.controller.enqueue(Group(event.key.namespace, name))

    def _workload_changed(self, event: Event[Workload]) -> None:
        workload = event.new or event.old
        if workload is None:
            return
        group = Group(event.key.namespace, event.key.name)
        if _is_of_group(workload) or any(self._pods(group)):
            self.controller.enqueue(group)
        for owner in workload.metadata.owner_references or ():
            if owner.kind == "Pod" and not owner.controller:
                pod = self._known.document(PODS, Key(event.key.namespace, owner.name))
                if pod is not None and (name := pod_facts.group_name(pod, self._world.policy)):
                    self.controller.enqueue(Group(event.key.namespace, name))

    def _pods(self, group: Group) -> list[Document]:
        found = self._known.documents(PODS, GROUP_INDEX, f"{group.namespace}/{group.name}")
        here = (pod for pod in found if pod["metadata"].get("namespace") == group.namespace)
        mine = [pod for pod in here if pod_facts.group_name(pod, self._world.policy) == group.name]
        return sorted(mine, key=lambda pod: str(pod["metadata"]["name"]))

    async def _reconcile(self, group: Group) -> float | None:
        log_context.about(f"{group.namespace}/{group.name}")
        refusal = await self._refusal(group)
        if refusal:
            log.warning("pod group %s/%s is not started: %s", group.namespace, group.name, refusal)
        view = replace(self._view(group), not_to_start=refusal)
        intents = job_lifecycle.decide_to_rest(view, self._world.clock.now(), decide=pod_group_lifecycle.decide)
        again = await self._applier.apply(intents)
        self._remember(group, intents)
        return again

    async def _refusal(self, group: Group) -> str:
        """Why its gated pods must not be let go now; empty when they may. Every pod that is there when this returns was
        asked about, once for all that one hub sent alike.

        Raises ApiError and ConnectionError.
        """
        asked: set[tuple[str, int, bool]] = set()
        while sent := {_sender(pod): pod for pod in self._to_let_go(group) if _sender(pod) not in asked}:
            for sender, pod in sent.items():
                if refusal := await self._world.fence.refusal(pod):
                    return refusal
                asked.add(sender)
        return ""

    def _to_let_go(self, group: Group) -> list[Document]:
        """Pods from a hub with a lease that wait for their gate alone: nothing is let go before it is admitted."""
        pods = [pod for pod in self._pods(group) if pod_facts.is_gated(pod) and fencing.is_fenced(pod)]
        if not pods:
            return []
        named = {group.name, *(prebuilt_name(pod, self._world.policy) for pod in pods)} - {""}
        workloads = (self._known.document(WORKLOADS, Key(group.namespace, name)) for name in named)
        admitted = any(workload_status.is_true(each, names.ADMITTED) for each in workloads if each is not None)
        return pods if admitted else []

    def _remember(self, group: Group, intents: Iterable[Intent]) -> None:
        """Pods that were too many: until their end is seen nothing more is cleaned up."""
        gone = {intent.uid for intent in intents if isinstance(intent, DeleteObject) and intent.resource == PODS}
        if gone:
            self._deleted.setdefault(group, set()).update(gone)

    def _awaits_deletions(self, group: Group, pods: Iterable[Document]) -> bool:
        waiting = self._deleted.get(group)
        if not waiting:
            return False
        alive = {pod["metadata"].get("uid", "") for pod in pods if not pod_facts.is_deleting(pod)}
        waiting &= alive
        if not waiting:
            del self._deleted[group]
        return bool(waiting)

    def _view(self, group: Group) -> JobView:
        known, policy = self._known, self._world.policy
        pods = self._pods(group)
        job = pod_group.compose(pods) if pods else None
        named = known.document(WORKLOADS, Key(group.namespace, group.name))
        prebuilt = prebuilt_name(job, policy) if job is not None else ""
        namespace = known.informer(NAMESPACES).get(Key("", group.namespace))
        workloads = () if named is None else (named,)
        workload_classes, pod_classes = priority_classes(known)
        return JobView(
            kind=self._kind,
            key=Key(group.namespace, group.name),
            policy=policy,
            job=job,
            workloads=workloads,
            runs_elsewhere=any(self._world.elsewhere(workload) for workload in workloads),
            dispatched=any(self._world.dispatched(workload) for workload in workloads),
            prebuilt=known.document(WORKLOADS, Key(group.namespace, prebuilt)) if prebuilt else None,
            namespace_labels=None if namespace is None else namespace.metadata.labels or {},
            flavors=by_name(known.informer(RESOURCE_FLAVORS).values()),
            workload_priority_classes=workload_classes,
            priority_classes=pod_classes,
            awaiting_deletions=self._awaits_deletions(group, pods),
        )


def _sender(pod: Document) -> tuple[str, int, bool]:
    return fencing.origin_of(pod), fencing.term_of(pod), fencing.stops_when_lost(pod)


def _is_of_group(workload: Workload) -> bool:
    return workload.metadata.annotation(names.IS_GROUP_WORKLOAD_ANNOTATION) == "true"
