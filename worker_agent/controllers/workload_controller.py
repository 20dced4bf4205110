"""The Workload reconciler's shell: gathers a view, lets ``workload_lifecycle`` settle it, applies the outcome."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from worker_agent import log_context
from worker_agent.api import names, need
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key, Namespace, Object
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, NAMESPACES, WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers import intake
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.engine_thread import Engine
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import queue_facts, reservation, workload_first_look, workload_lifecycle, workload_status
from worker_agent.engine.queue_facts import QueueFacts
from worker_agent.engine.workload_turn import LifecycleRules, WorkloadView
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event, Informer

QUEUE_INDEX = "queue"
"""Workloads by ``namespace/LocalQueue``."""

CLUSTER_QUEUE_INDEX = "cluster queue"
"""LocalQueues by ClusterQueue; Workloads by the ClusterQueue that admitted them."""

NAMESPACE_INDEX = "namespace"

CLAIMS_INDEX = "claims"
"""All waiting Workloads that claim devices, under the empty value."""

DEVICE_BATCH_SECONDS = 0.5


EXPIRED = "Workloads past their retention, and those whose job went without its finalizers"
NEEDS = (
    need.of(WORKLOADS, "patch"),
    need.of(WORKLOADS, "get", unseen=need.LOST_RACE),
    need.of(WORKLOADS, "delete", unseen=EXPIRED),
    need.of(WORKLOADS, "patch", subresource="status"),
)


def by_queue(workload: Workload) -> Iterable[str]:
    yield f"{workload.metadata.namespace}/{workload.spec.queue_name}"


def by_admission(workload: Workload) -> Iterable[str]:
    if workload.status.admission is not None:
        yield workload.status.admission.cluster_queue


def by_namespace(item: Object) -> Iterable[str]:
    yield item.metadata.namespace


def by_claims(workload: Workload) -> Iterable[str]:
    if workload.is_true(names.QUOTA_RESERVED) or workload.is_true(names.FINISHED):
        return
    requeued = workload.condition(names.REQUEUED)
    refused = requeued is not None and requeued.is_false and requeued.reason == names.INADMISSIBLE
    if refused or any(b'"resourceClaims"' in bytes(pod_set.template) for pod_set in workload.spec.pod_sets):
        yield ""


def by_cluster_queue(queue: LocalQueue) -> Iterable[str]:
    yield queue.spec.cluster_queue


class WorkloadController:
    """Reconciles every Workload when it, its queues or its namespace change."""

    def __init__(
        self, known: KnownObjects, engine: Engine, applier: Applier, rules: LifecycleRules, clock: Clock
    ) -> None:
        self._known = known
        self._engine = engine
        self._applier = applier
        self._rules = rules
        self._clock = clock
        self.controller: Controller[Key] = Controller("workload", self._reconcile, workers=10, clock=clock)
        self._workloads: Informer[Workload] = known.informer(WORKLOADS)
        self._local_queues: Informer[LocalQueue] = known.informer(LOCAL_QUEUES)
        self._cluster_queues: Informer[ClusterQueue] = known.informer(CLUSTER_QUEUES)
        self._workloads.add_index(QUEUE_INDEX, by_queue)
        self._workloads.add_index(CLUSTER_QUEUE_INDEX, by_admission)
        self._workloads.add_index(NAMESPACE_INDEX, by_namespace)
        self._workloads.add_index(CLAIMS_INDEX, by_claims)
        self._local_queues.add_index(CLUSTER_QUEUE_INDEX, by_cluster_queue)
        self._workloads.add_handler(self._workload_changed)
        self._local_queues.add_handler(self._local_queue_changed)
        self._cluster_queues.add_handler(self._cluster_queue_changed)
        known.informer(NAMESPACES).add_handler(self._namespace_changed)
        for resource in intake.DEVICES:
            if known.follows(resource):
                known.informer(resource).add_handler(self._devices_changed)

    async def run(self) -> None:
        await self.controller.run()

    def enqueue_cluster_queue(self, name: str) -> None:
        """Look at every Workload that waits for this ClusterQueue or runs in it."""
        for queue in self._local_queues.by_index(CLUSTER_QUEUE_INDEX, name):
            self._enqueue_local_queue(queue.metadata.key)
        for workload in self._workloads.by_index(CLUSTER_QUEUE_INDEX, name):
            self.controller.enqueue(workload.metadata.key)

    def _enqueue_local_queue(self, key: Key) -> None:
        for workload in self._workloads.by_index(QUEUE_INDEX, str(key)):
            self.controller.enqueue(workload.metadata.key)

    def _workload_changed(self, event: Event[Workload]) -> None:
        if event.new is not None:
            self.controller.enqueue(event.key)

    def _local_queue_changed(self, event: Event[LocalQueue]) -> None:
        if _differs(event):
            self._enqueue_local_queue(event.key)

    def _cluster_queue_changed(self, event: Event[ClusterQueue]) -> None:
        if _differs(event):
            self.enqueue_cluster_queue(event.key.name)

    def _namespace_changed(self, event: Event[Namespace]) -> None:
        if event.old is None or event.new is None or event.old.metadata.labels != event.new.metadata.labels:
            for workload in self._workloads.by_index(NAMESPACE_INDEX, event.key.name):
                self.controller.enqueue(workload.metadata.key)

    def _devices_changed(self, event: Event[Any]) -> None:
        """What is said of claims that cannot be served may have changed. Drivers publish often: it can wait."""
        for workload in self._workloads.by_index(CLAIMS_INDEX, ""):
            if event.key.namespace in ("", workload.metadata.namespace):
                self.controller.enqueue(workload.metadata.key, DEVICE_BATCH_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        log_context.about(key)
        workload = self._known.document(WORKLOADS, key)
        if workload is None:
            return None
        facts = QueueFacts()
        if not reservation.has_quota(workload) and not workload_status.is_true(workload, "Finished"):
            question = partial(queue_facts.of, key=key, cluster_queue=self._view(workload, facts).cluster_queue_name)
            facts = await self._engine.ask(question)
            workload = self._known.document(WORKLOADS, key)
            if workload is None:
                return None
        now = self._clock.now()
        intents = workload_lifecycle.settle(self._view(workload, facts), self._rules, now)
        return await self._applier.apply(list(workload_first_look.left_unsaid(workload, intents, now)))

    def _view(self, workload: Document, facts: QueueFacts) -> WorkloadView:
        key = workload_status.key_of(workload)
        queue = self._local_queues.get(Key(key.namespace, (workload.get("spec") or {}).get("queueName", "")))
        view = WorkloadView(workload=workload, local_queue=queue)
        cluster_queue = self._cluster_queues.get(Key("", view.cluster_queue_name))
        return WorkloadView(
            workload=workload,
            local_queue=queue,
            cluster_queue=cluster_queue,
            cluster_queue_known=cluster_queue is not None,
            cluster_queue_active=facts.active,
            obstacle=facts.obstacle,
            remembered_reason=facts.remembered,
            refusal=facts.refusal,
            jitter=self._clock.random(),
        )


def _differs(event: Event[LocalQueue] | Event[ClusterQueue]) -> bool:
    """Whether more than the status changed."""
    if event.old is None or event.new is None:
        return True
    deleting = event.old.metadata.deletion_timestamp != event.new.metadata.deletion_timestamp
    return deleting or event.old.spec != event.new.spec
