"""Gauges read from the engine's view at the moment of a scrape: nothing to keep up to date, nothing left behind."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from worker_agent.engine.view import EngineView, LocalQueuePicture, QueuePicture

UNLIMITED = float("inf")


class ViewCollector(Collector):
    """``resources`` adds the series per flavor and resource (metrics.enableClusterQueueResources)."""

    def __init__(
        self, view: Callable[[], EngineView], role: str, *, local_queues: bool = True, resources: bool = False
    ) -> None:
        self._view = view
        self._role = role
        self._local_queues = local_queues
        self._resources = resources

    def collect(self) -> Iterator[GaugeMetricFamily]:
        view = self._view()
        yield from self._queues(list(view.cluster_queues.values()))
        if self._resources:
            yield from self._usage(list(view.cluster_queues.values()))
        if self._local_queues:
            pictures = (view.local_queue(key) for key in view.local_queues())
            yield from self._locals([picture for picture in pictures if picture is not None])
        shares = self._gauge("cohort_weighted_share", "Dominant share of a cohort.", ("cohort",))
        for name, share in view.cohort_shares.items():
            shares.add_metric([name, self._role], share)
        yield shares

    def _queues(self, queues: list[QueuePicture]) -> Iterator[GaugeMetricFamily]:
        pending = self._gauge("pending_workloads", "Workloads that wait.", ("cluster_queue", "status"))
        reserving = self._gauge("reserving_active_workloads", "Workloads that hold quota.", ("cluster_queue",))
        admitted = self._gauge("admitted_active_workloads", "Workloads admitted and unfinished.", ("cluster_queue",))
        status = self._gauge("cluster_queue_status", "Which status the queue has.", ("cluster_queue", "status"))
        share = self._gauge("cluster_queue_weighted_share", "Dominant share.", ("cluster_queue", "cohort"))
        info = self._gauge("cluster_queue_info", "The queue's place.", ("cluster_queue", "parent_cohort"))
        for queue in queues:
            competing = queue.waiting.competing if queue.activity.active else 0
            pending.add_metric([queue.name, "active", self._role], competing)
            pending.add_metric([queue.name, "inadmissible", self._role], queue.pending - competing)
            reserving.add_metric([queue.name, self._role], queue.holdings.reserving)
            admitted.add_metric([queue.name, self._role], queue.holdings.admitted)
            for name in ("pending", "active", "terminating"):
                status.add_metric([queue.name, name, self._role], float(name == _status(queue)))
            info.add_metric([queue.name, queue.cohort, self._role], 1)
            if queue.weighted_share is not None:
                share.add_metric([queue.name, queue.cohort, self._role], queue.weighted_share)
        yield from (pending, reserving, admitted, status, share, info)

    def _usage(self, queues: Iterable[QueuePicture]) -> Iterator[GaugeMetricFamily]:
        labels = ("cohort", "cluster_queue", "flavor", "resource")
        reserved = self._gauge("cluster_queue_resource_reservation", "Reserved.", labels)
        used = self._gauge("cluster_queue_resource_usage", "Used by admitted workloads.", labels)
        nominal = self._gauge("cluster_queue_nominal_quota", "Nominal quota.", labels)
        for queue in queues:
            for fr, quota in queue.nominal.items():
                flavor, resource = fr
                row = [queue.cohort, queue.name, flavor, resource, self._role]
                reserved.add_metric(row, _units(resource, queue.holdings.usage.get(fr, 0)))
                used.add_metric(row, _units(resource, queue.holdings.admitted_usage.get(fr, 0)))
                nominal.add_metric(row, _units(resource, quota))
        yield from (reserved, used, nominal)

    def _locals(self, queues: Iterable[LocalQueuePicture]) -> Iterator[GaugeMetricFamily]:
        labels = ("name", "namespace")
        pending = self._gauge("local_queue_pending_workloads", "Workloads that wait.", (*labels, "status"))
        reserving = self._gauge("local_queue_reserving_active_workloads", "Workloads that hold quota.", labels)
        admitted = self._gauge("local_queue_admitted_active_workloads", "Workloads admitted.", labels)
        status = self._gauge("local_queue_status", "Whether the queue is active.", (*labels, "active"))
        for queue in queues:
            row = [queue.key.name, queue.key.namespace]
            pending.add_metric([*row, "active" if queue.activity.active else "inadmissible", self._role], queue.pending)
            reserving.add_metric([*row, self._role], queue.holdings.reserving)
            admitted.add_metric([*row, self._role], queue.holdings.admitted)
            for name in ("True", "False", "Unknown"):
                status.add_metric([*row, name, self._role], float(name == str(queue.activity.active)))
        yield from (pending, reserving, admitted, status)

    def _gauge(self, name: str, text: str, labels: tuple[str, ...]) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"kueue_{name}", text, labels=[*labels, "replica_role"])


def _status(queue: QueuePicture) -> str:
    if queue.activity.active:
        return "active"
    return "terminating" if queue.activity.reason == "Terminating" else "pending"


def _units(resource: str, amount: int) -> float:
    """Cores for cpu, units for the rest."""
    return amount / 1000 if resource == "cpu" else float(amount)
