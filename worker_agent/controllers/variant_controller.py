"""Keeps Workloads and their variants in line: the shell of ``engine.concurrent_admission``."""

from collections.abc import Iterable

from worker_agent.api import names
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import concurrent_admission, variant_family
from worker_agent.engine.reservation import Observability
from worker_agent.engine.variant_family import Family
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event, Informer

PARENT_INDEX = "parent"
"""Variants by ``namespace/name`` of their parent."""


def by_parent(workload: Workload) -> Iterable[str]:
    key = _parent_key(workload)
    if key is not None:
        yield str(key)


class VariantController:
    """Reconciles a parent when it, one of its variants or the flavors of its ClusterQueue change."""

    def __init__(
        self, known: KnownObjects, applier: Applier, how: Observability, clock: Clock, *, short_names: bool = False
    ) -> None:
        self._known = known
        self._applier = applier
        self._how = how
        self._clock = clock
        self._short_names = short_names
        self.controller: Controller[Key] = Controller("concurrent admission", self._reconcile, workers=5, clock=clock)
        self._workloads: Informer[Workload] = known.informer(WORKLOADS)
        self._local_queues: Informer[LocalQueue] = known.informer(LOCAL_QUEUES)
        self._cluster_queues: Informer[ClusterQueue] = known.informer(CLUSTER_QUEUES)
        self._workloads.add_index(PARENT_INDEX, by_parent)
        self._workloads.add_handler(self._workload_changed)
        self._cluster_queues.add_handler(self._cluster_queue_changed)
        self._local_queues.add_handler(self._local_queue_changed)

    async def run(self) -> None:
        await self.controller.run()

    def _workload_changed(self, event: Event[Workload]) -> None:
        workload = event.new or event.old
        if workload is None:
            return
        parent = _parent_key(workload)
        if parent is not None:
            self.controller.enqueue(parent)
        elif event.new is not None and _is_parent(event.new):
            self.controller.enqueue(event.key)

    def _cluster_queue_changed(self, event: Event[ClusterQueue]) -> None:
        if event.new is not None and (event.old is None or event.old.spec != event.new.spec):
            self._enqueue(
                {q.metadata.key for q in self._local_queues.values() if q.spec.cluster_queue == event.key.name}
            )

    def _local_queue_changed(self, event: Event[LocalQueue]) -> None:
        if event.old is None:
            self._enqueue({event.key})

    def _enqueue(self, queues: set[Key]) -> None:
        for workload in self._workloads.values():
            if _is_parent(workload) and Key(workload.metadata.namespace, workload.spec.queue_name) in queues:
                self.controller.enqueue(workload.metadata.key)

    async def _reconcile(self, key: Key) -> float | None:
        parent = self._known.document(WORKLOADS, key)
        if parent is None:
            return None
        variants = tuple(
            variant
            for variant in self._known.documents(WORKLOADS, PARENT_INDEX, str(key))
            if variant_family.parent_of(variant) == key
        )
        family = Family(
            parent=parent,
            variants=variants,
            cluster_queue=self._cluster_queue(key.namespace, parent),
            short_names=self._short_names,
        )
        return await self._applier.apply(concurrent_admission.decide(family, self._how, self._clock.now()))

    def _cluster_queue(self, namespace: str, parent: Document) -> ClusterQueue | None:
        queue = self._local_queues.get(Key(namespace, (parent.get("spec") or {}).get("queueName", "")))
        return None if queue is None else self._cluster_queues.get(Key("", queue.spec.cluster_queue))


def _is_parent(workload: Workload) -> bool:
    return workload.metadata.label(names.CONCURRENT_ADMISSION_PARENT_LABEL) == "true"


def _parent_key(workload: Workload) -> Key | None:
    for owner in workload.metadata.owner_references or ():
        if owner.kind == WORKLOADS.kind and owner.api_version == WORKLOADS.api_version:
            return Key(workload.metadata.namespace, owner.name)
    return None
