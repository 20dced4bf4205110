"""Gauges of LocalQueues (spec/operations 4)."""

from collections import Counter
from collections.abc import Iterable

from worker_agent.api.meta import Key
from worker_agent.app.gauge_page import GaugePage, units
from worker_agent.controllers.workload_tallies import WorkloadTallies
from worker_agent.engine.view import EngineView, LocalQueuePicture
from worker_agent.metric_labels import Source

QUEUE = Source.LOCAL_QUEUE
LABELS = ("name", "namespace")


def fill(
    page: GaugePage, view: EngineView, queues: Iterable[LocalQueuePicture], tallies: WorkloadTallies | None
) -> None:
    queues = list(queues)
    _waiting(page, view, queues)
    _holding(page, queues, tallies)
    _resources(page, queues)
    status = page.gauge("local_queue_status", "Whether the queue is active.", (*LABELS, "active"), QUEUE)
    usage = page.gauge(
        "local_queue_admission_fair_sharing_usage",
        "Usage of late, by which its workloads rank.",
        (*LABELS, "cluster_queue"),
        QUEUE,
    )
    for queue in queues:
        for name in ("True", "False", "Unknown"):
            status(*_row(queue), name, amount=float(name == str(queue.activity.active)), key=queue.key)
        if queue.usage is not None and queue.usage.value is not None:
            usage(*_row(queue), view.cluster_queue_of(queue.key), amount=queue.usage.value, key=queue.key)


def _row(queue: LocalQueuePicture) -> tuple[str, str]:
    return queue.key.name, queue.key.namespace


def _waiting(page: GaugePage, view: EngineView, queues: Iterable[LocalQueuePicture]) -> None:
    """Of a queue whose ClusterQueue does not admit, all are inadmissible."""
    pending = page.gauge("local_queue_pending_workloads", "Workloads that wait.", (*LABELS, "status"), QUEUE)
    competing: Counter[Key] = Counter()
    for cluster_queue in view.cluster_queues.values():
        if cluster_queue.activity.active:
            competing.update(row.queue for competes, row in cluster_queue.waiting.by_place() if competes)
    for queue in queues:
        active = competing[queue.key] if queue.activity.active else 0
        pending(*_row(queue), "active", amount=active, key=queue.key)
        pending(*_row(queue), "inadmissible", amount=queue.pending - active, key=queue.key)


def _holding(page: GaugePage, queues: Iterable[LocalQueuePicture], tallies: WorkloadTallies | None) -> None:
    reserving = page.gauge(
        "local_queue_reserving_active_workloads", "Workloads that hold quota.", LABELS, QUEUE, by_workload=True
    )
    admitted = page.gauge("local_queue_admitted_active_workloads", "Admitted.", LABELS, QUEUE, by_workload=True)
    if tallies is None or not page.custom.names(Source.WORKLOAD):
        for queue in queues:
            reserving(*_row(queue), amount=queue.holdings.reserving, key=queue.key)
            admitted(*_row(queue), amount=queue.holdings.admitted, key=queue.key)
        return
    known = {queue.key for queue in queues}
    counts: Counter[tuple[Key, bool, tuple[str, ...]]] = Counter()
    for sort, count in tallies.holding().items():
        counts[sort.local_queue, False, sort.values] += count
        counts[sort.local_queue, True, sort.values] += count if sort.admitted else 0
    for (key, is_admitted, values), count in counts.items():
        if key in known:
            add = admitted if is_admitted else reserving
            add(key.name, key.namespace, amount=count, key=key, workload=values)


def _resources(page: GaugePage, queues: Iterable[LocalQueuePicture]) -> None:
    labels = (*LABELS, "flavor", "resource")
    reserved = page.gauge("local_queue_resource_reservation", "Reserved.", labels, QUEUE)
    used = page.gauge("local_queue_resource_usage", "Used by admitted workloads.", labels, QUEUE)
    for queue in queues:
        for group in queue.groups:
            for flavor in group.flavors:
                for resource in group.sorted_resources:
                    fr = (flavor, resource)
                    row = (*_row(queue), flavor, resource)
                    reserved(*row, amount=units(resource, queue.holdings.usage.get(fr, 0)), key=queue.key)
                    used(*row, amount=units(resource, queue.holdings.admitted_usage.get(fr, 0)), key=queue.key)
