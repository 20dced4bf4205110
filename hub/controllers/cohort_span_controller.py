"""Keeps the quota of Cohorts that span workers at what those leave to global work (``hub.engine.cohort_span``)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from hub.clusters import worker_queues
from hub.clusters.remote_clients import RemoteClients
from hub.clusters.worker_connection import WorkerConnection
from hub.clusters.worker_watches import RemoteObject
from hub.controllers.federation_objects import FederationObjects
from hub.controllers.overdrawn_spans import OverdrawnSpans
from hub.engine import admission_check, cohort_span, manager_quota
from hub.engine.cohort_span import Members
from worker_agent.api import names, need
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.resource_type import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, ResourceType
from worker_agent.api.workload import Workload
from worker_agent.controllers.applier import Applier
from worker_agent.engine.intents import MULTIKUEUE_MANAGER, Intent, PatchObject, RecordEvent
from worker_agent.engine.resources import Amounts
from worker_agent.engine.view import EMPTY, EngineView
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event, Informer

BATCH_SECONDS: Final = 1.0
"""How long triggers are collected: a worker's queues tell of every job that starts and ends."""

REASON: Final = "CohortSpan"
FOLLOWED: Final = frozenset({CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES})
HIDDEN: Final = frozenset(resource.plural for resource in FOLLOWED)
"""Where the credential may not read one of these, a worker is judged as one out of contact."""


NEEDS = (need.of(COHORTS, "patch", unseen="Cohorts that span workers, where their annotation asks for it"),)


class CohortSpanController:
    """Reconciles a spanning Cohort when the manager's tree, a worker's queues, their usage, or a contact changes."""

    def __init__(
        self,
        objects: FederationObjects,
        clients: RemoteClients[WorkerConnection],
        applier: Applier,
        overdrawn: OverdrawnSpans,
        clock: Clock,
    ) -> None:
        self._objects = objects
        self._clients = clients
        self._applier = applier
        self._overdrawn = overdrawn
        self._told: dict[str, str] = {}
        self._view: EngineView = EMPTY
        self._cohorts: Informer[Cohort] = objects.known.informer(COHORTS)
        self._local_queues: Informer[LocalQueue] = objects.known.informer(LOCAL_QUEUES)
        self.controller: Controller[str] = Controller("cohort-span", self._reconcile, clock=clock)
        self._cohorts.add_handler(self._tree_changed)
        self._local_queues.add_handler(self._tree_changed)
        objects.queues.add_handler(self._tree_changed)
        objects.checks.add_handler(self._tree_changed)
        objects.configs.add_handler(self._tree_changed)
        objects.clusters.add_handler(self._cluster_changed)
        objects.workloads.add_handler(self._workload_changed)

    async def run(self) -> None:
        await self.controller.run()

    def contact_changed(self, cluster: str) -> None:
        self._enqueue_cluster(cluster)

    def usage_changed(self, view: EngineView) -> None:
        """Quota was taken or came back on the manager: what has not changed is the same object in the next view."""
        before, self._view = self._view, view
        known, cohorts = before.cluster_queues, list(self._spanning())
        if cohorts and any(known.get(name) is not picture for name, picture in view.cluster_queues.items()):
            for cohort in cohorts:
                self.controller.enqueue(cohort.metadata.name, BATCH_SECONDS)

    def remote_changed(self, cluster: str, resource: ResourceType, event: Event[RemoteObject]) -> None:
        """Something changed on a worker: of its queues also what is in use."""
        if resource in FOLLOWED:
            self._enqueue_cluster(cluster)

    def _spanning(self) -> Iterator[Cohort]:
        return (cohort for cohort in self._cohorts.values() if cohort_span.config_of(cohort))

    def _tree_changed(self, event: Event[Any]) -> None:
        """The manager's own tree is small and changes seldom; what it says of usage does not count here."""
        if event.old is None or event.new is None or _shape(event.old) != _shape(event.new):
            for cohort in self._spanning():
                self.controller.enqueue(cohort.metadata.name, BATCH_SECONDS)

    def _cluster_changed(self, event: Event[MultiKueueCluster]) -> None:
        if event.old is None or event.new is None or _cordoned(event.old) != _cordoned(event.new):
            self._enqueue_cluster(event.key.name)

    def _workload_changed(self, event: Event[Workload]) -> None:
        """Of a worker out of contact the manager's Workloads are all that tells."""
        for workload in (event.old, event.new):
            cluster = workload.status.cluster_name if workload is not None else None
            if cluster and self._clients.link(cluster) is None:
                self._enqueue_cluster(cluster)

    def _enqueue_cluster(self, cluster: str) -> None:
        for cohort in self._spanning():
            config = self._objects.config(cohort_span.config_of(cohort))
            if config is not None and cluster in config.spec.clusters:
                self.controller.enqueue(cohort.metadata.name, BATCH_SECONDS)

    async def _reconcile(self, name: str) -> float | None:
        document = self._objects.known.document(COHORTS, Key("", name))
        if document is None or document["metadata"].get("deletionTimestamp"):
            self._told.pop(name, None)
            self._overdrawn.forget(name)
            return None
        cohort = msgspec.convert(document, Cohort, strict=False)
        config = self._objects.config(cohort_span.config_of(cohort))
        if config is not None and any(map(self._is_first_tried, config.spec.clusters)):
            return BATCH_SECONDS  # the quota of before stands: room that only seems gone would cost somebody's work
        if cohort_span.config_of(cohort):
            return await self._applier.apply(self._decide(cohort, document))
        return None

    def _is_first_tried(self, cluster: str) -> bool:
        return Key("", cluster) in self._objects.clusters and self._clients.is_first_tried(cluster)

    def _decide(self, cohort: Cohort, document: Document) -> list[Intent]:
        found = cohort_span.members(cohort.metadata.name, self._objects.queues.values(), self._cohorts.values())
        config = self._objects.config(cohort_span.config_of(cohort))
        if config is None:
            return self._tell(cohort, f'MultiKueueConfig "{cohort_span.config_of(cohort)}" not found')
        wrong = cohort_span.obstacle(cohort, found, self._config_of)
        if wrong:
            return self._tell(cohort, wrong)
        self._told.pop(cohort.metadata.name, None)
        groups = cohort_span.resource_groups(cohort, found, self._reaches(found, config.spec.clusters))
        if groups is None:
            return self._overdrawn.decide(cohort.metadata.name, list(self._cohorts.values()))
        after = document | {"spec": document["spec"] | {"resourceGroups": groups}}
        return [PatchObject(resource=COHORTS, before=document, after=after, field_manager=MULTIKUEUE_MANAGER)]

    def _reaches(self, found: Members, clusters: Iterable[str]) -> Iterator[Amounts]:
        named = {queue.metadata.name for queue in found.queues}
        local = [each.metadata.key for each in self._local_queues.values() if each.spec.cluster_queue in named]
        for cluster in clusters:
            link = self._clients.link(cluster)
            if link is None or not HIDDEN.isdisjoint(link.unknown):
                yield cohort_span.held_by(self._running_in(cluster, named))
                continue
            known = self._objects.clusters.get(Key("", cluster))
            opened = known is not None and not _cordoned(known)
            yield cohort_span.reach(worker_queues.around(link, local), takes_work=opened)

    def _running_in(self, cluster: str, queues: set[str]) -> Iterator[Workload]:
        for workload in self._objects.workloads.values():
            admission = workload.status.admission
            if workload.status.cluster_name == cluster and admission is not None and admission.cluster_queue in queues:
                yield workload

    def _config_of(self, queue: ClusterQueue) -> str:
        check = manager_quota.multikueue_check(queue, self._objects)
        try:
            return admission_check.config_name(check) if check is not None else ""
        except admission_check.BadReference:
            return ""

    def _tell(self, cohort: Cohort, obstacle: str) -> list[Intent]:
        """A Cohort has no conditions: an event, once for each obstacle."""
        name = cohort.metadata.name
        if self._told.get(name) == obstacle:
            return []
        self._told[name] = obstacle
        message = f"Quota does not follow the workers: {obstacle}"
        return [
            RecordEvent(
                resource=COHORTS,
                key=cohort.metadata.key,
                reason=REASON,
                message=message,
                type="Warning",
                uid=cohort.metadata.uid,
            )
        ]


def _shape(item: Any) -> tuple[int, str]:
    return item.metadata.generation, item.metadata.annotation(names.SPANS_ANNOTATION)


def _cordoned(cluster: MultiKueueCluster) -> bool:
    return cluster.metadata.annotation(names.CORDONED_ANNOTATION) == "true"
