"""Counts what happens to Workloads, from the changes the watch shows: whoever wrote them, each is counted once, by the
replica that leads."""

from collections.abc import Callable, Iterable
from datetime import datetime

from worker_agent.api import names, timestamps
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.workload import EvictionCount, Workload
from worker_agent.kube.informer import Event, Informer
from worker_agent.metrics import FOLLOWER, AgentMetrics, Queues


class WorkloadMetrics:
    """Watches one informer of Workloads."""

    def __init__(
        self,
        workloads: Informer[Workload],
        local_queues: Informer[LocalQueue],
        metrics: AgentMetrics,
        cohorts_above: Callable[[str], tuple[str, ...]] = lambda cluster_queue: (),
    ) -> None:
        self._cohorts_above = cohorts_above
        self._workloads = workloads
        self._local_queues = local_queues
        self._metrics = metrics
        workloads.add_handler(self._changed)

    def _changed(self, event: Event[Workload]) -> None:
        old, new = event.old, event.new
        if old is None or new is None or old.status == new.status or self._metrics.role == FOLLOWER:
            return
        queues = self._queues(new if new.status.admission is not None else old)
        if _turned(old, new, names.QUOTA_RESERVED):
            waited = _seconds(_since(new, names.QUOTA_RESERVED), _queued_since(old))
            self._metrics.quota_reserved(queues, waited)
        if _turned(old, new, names.ADMITTED):
            admitted = _since(new, names.ADMITTED)
            checks = _seconds(admitted, _since(new, names.QUOTA_RESERVED))
            above = self._cohorts_above(queues.cluster_queue)
            self._metrics.admitted(queues, _seconds(admitted, _queued_since(old)), checks, above)
        self._readiness(old, new, queues)
        self._evictions(old, new, queues)
        if _turned(old, new, names.FINISHED) and not _is_variant(new):
            self._metrics.finished(queues, _executed(new))
            finished = new.condition(names.FINISHED)
            if finished is not None and finished.reason == names.WORKLOAD_SLICE_REPLACED:
                self._metrics.slice_replaced(queues)

    def ready_unsaid(self, key: Key, since: datetime) -> None:
        """The pods of this Workload were ready, which it never says: a copy whose job ended soon."""
        workload = self._workloads.get(key)
        if workload is not None:
            self._ready(workload, since, self._queues(workload))

    def _ready(self, workload: Workload, at: datetime, queues: Queues) -> None:
        since_admission = _seconds(at, _since(workload, names.ADMITTED))
        self._metrics.pods_ready(queues, _seconds(at, workload.metadata.creation_timestamp), since_admission)

    def _readiness(self, old: Workload, new: Workload, queues: Queues) -> None:
        ready = new.condition(names.PODS_READY)
        if _turned(old, new, names.PODS_READY) and ready is not None and ready.reason == names.STARTED:
            self._ready(new, ready.last_transition_time or timestamps.ZERO, queues)

    def _evictions(self, old: Workload, new: Workload, queues: Queues) -> None:
        before = {(entry.reason, entry.underlying_cause): entry.count for entry in _counted(old)}
        for entry in _counted(new):
            known = before.get((entry.reason, entry.underlying_cause), 0)
            if entry.count > known and old.status.admission is not None:
                self._metrics.evicted(queues, entry.reason, entry.underlying_cause, first=known == 0)
                self._ready_until_now(old, new, queues, entry)
        evicted = new.condition(names.EVICTED)
        released = old.is_true(names.QUOTA_RESERVED) and not new.is_true(names.QUOTA_RESERVED)
        if released and evicted is not None and evicted.is_true:
            seconds = _seconds(_since(new, names.QUOTA_RESERVED), evicted.last_transition_time)
            self._metrics.released(queues, evicted.reason, seconds)

    def _ready_until_now(self, old: Workload, new: Workload, queues: Queues, eviction: EvictionCount) -> None:
        ready = old.condition(names.PODS_READY)
        if ready is not None and ready.is_true:
            seconds = _seconds(_since(new, names.EVICTED), ready.last_transition_time)
            self._metrics.ready_before_eviction(queues, eviction.reason, eviction.underlying_cause, seconds)

    def _queues(self, workload: Workload) -> Queues:
        admission = workload.status.admission
        namespace, name = workload.metadata.namespace, workload.spec.queue_name
        found = self._local_queues.get(Key(namespace, name))
        cluster_queue = found.spec.cluster_queue if found is not None else ""
        reference = workload.spec.priority_class_ref
        return Queues(
            admission.cluster_queue if admission is not None else cluster_queue,
            namespace,
            name,
            reference.name if reference is not None else "",
            workload.metadata,
        )


def _is_variant(workload: Workload) -> bool:
    """It ends with its parent, which is counted."""
    owner = workload.metadata.controller
    return owner is not None and owner.kind == "Workload"


def _counted(workload: Workload) -> Iterable[EvictionCount]:
    stats = workload.status.scheduling_stats
    return (stats.evictions if stats else None) or ()


def _turned(old: Workload, new: Workload, type_: str) -> bool:
    return new.is_true(type_) and not old.is_true(type_)


def _since(workload: Workload, type_: str) -> datetime | None:
    condition = workload.condition(type_)
    return None if condition is None else condition.last_transition_time


def _queued_since(workload: Workload) -> datetime | None:
    return _since(workload, names.REQUEUED) or workload.metadata.creation_timestamp


def _executed(workload: Workload) -> float | None:
    admitted = workload.condition(names.ADMITTED)
    if admitted is None or not admitted.is_true:
        return None
    past = workload.status.accumulated_past_execution_time_seconds or 0
    return past + _seconds(_since(workload, names.FINISHED), admitted.last_transition_time)


def _seconds(end: datetime | None, start: datetime | None) -> float:
    return (end - start).total_seconds() if end is not None and start is not None else 0.0
