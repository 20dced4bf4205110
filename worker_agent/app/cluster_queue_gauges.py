"""Gauges of ClusterQueues (spec/operations 4)."""

from collections import Counter
from collections.abc import Iterable

from worker_agent.api.meta import Key
from worker_agent.app.gauge_page import GaugePage, units
from worker_agent.controllers.workload_tallies import WorkloadTallies
from worker_agent.engine.fair_sharing import INFINITE_SHARE
from worker_agent.engine.view import EngineView, QueuePicture
from worker_agent.engine.workload_info import UNKNOWN_HASH
from worker_agent.metric_labels import Source

QUEUE = Source.CLUSTER_QUEUE
STATUSES = ("pending", "active", "terminating")


def fill(page: GaugePage, queues: Iterable[QueuePicture], tallies: WorkloadTallies | None) -> None:
    """Counts of workloads, status and share."""
    queues = list(queues)
    _waiting(page, queues)
    _holding(page, queues, tallies)
    status = page.gauge("cluster_queue_status", "Which status the queue has.", ("cluster_queue", "status"), QUEUE)
    share = page.gauge("cluster_queue_weighted_share", "Dominant share.", ("cluster_queue", "cohort"), QUEUE)
    for queue in queues:
        key = Key("", queue.name)
        for name in STATUSES:
            status(queue.name, name, amount=float(name == _status(queue)), key=key)
        if queue.weighted_share is not None:
            amount = float("nan") if queue.weighted_share == INFINITE_SHARE else queue.weighted_share
            share(queue.name, queue.cohort, amount=amount, key=key)


def place(page: GaugePage, view: EngineView) -> None:
    """Where each queue stands in the tree of cohorts."""
    info = page.gauge(
        "cluster_queue_info", "The queue's place.", ("cluster_queue", "parent_cohort", "root_cohort"), QUEUE
    )
    for queue in view.cluster_queues.values():
        above = view.cohorts_above(queue.name)
        info(queue.name, queue.cohort, above[-1] if above else "", amount=1, key=Key("", queue.name))


def sorts(page: GaugePage, queues: Iterable[QueuePicture]) -> None:
    """Workloads that no decision can tell apart are of one sort."""
    labels = ("cluster_queue", "status")
    hashes = page.gauge("pending_scheduling_hashes", "Sorts of workloads that wait.", labels, QUEUE)
    for queue in queues:
        found: dict[bool, set[str]] = {True: set(), False: set()}
        for competes, row in queue.waiting.by_place():
            if row.hash != UNKNOWN_HASH:
                found[competes and queue.activity.active].add(row.hash)
        for status, competes in (("active", True), ("inadmissible", False)):
            hashes(queue.name, status, amount=len(found[competes]), key=Key("", queue.name))


def resources(page: GaugePage, queues: Iterable[QueuePicture]) -> None:
    """Quota and usage by flavor and resource, and what waits for each resource."""
    labels = ("cohort", "cluster_queue", "flavor", "resource")
    reserved = page.gauge("cluster_queue_resource_reservation", "Reserved.", labels, QUEUE)
    used = page.gauge("cluster_queue_resource_usage", "Used by admitted workloads.", labels, QUEUE)
    nominal = page.gauge("cluster_queue_nominal_quota", "Nominal quota.", labels, QUEUE)
    borrowing = page.gauge("cluster_queue_borrowing_limit", "What the queue may borrow.", labels, QUEUE)
    lending = page.gauge("cluster_queue_lending_limit", "What the queue lends.", labels, QUEUE)
    pending = page.gauge(
        "cluster_queue_resource_pending", "Asked for by those that wait.", ("cluster_queue", "resource"), QUEUE
    )
    for queue in queues:
        key = Key("", queue.name)
        for fr, quota in queue.nominal.items():
            flavor, resource = fr
            row = (queue.cohort, queue.name, flavor, resource)
            limits = (queue.borrowing_limits.get(fr), queue.lending_limits.get(fr))
            reserved(*row, amount=units(resource, queue.holdings.usage.get(fr, 0)), key=key)
            used(*row, amount=units(resource, queue.holdings.admitted_usage.get(fr, 0)), key=key)
            nominal(*row, amount=units(resource, quota), key=key)
            for gauge, limit in zip((borrowing, lending), limits, strict=True):
                gauge(*row, amount=float("inf") if limit is None else units(resource, limit), key=key)
        for resource, amount in _demand(queue).items():
            pending(queue.name, resource, amount=units(resource, amount), key=key)


def _waiting(page: GaugePage, queues: Iterable[QueuePicture]) -> None:
    labels = ("cluster_queue", "status")
    pending = page.gauge("pending_workloads", "Workloads that wait.", labels, QUEUE, by_workload=True)
    by_workload = bool(page.custom.names(Source.WORKLOAD))
    for queue in queues:
        key, active = Key("", queue.name), queue.activity.active
        counts: Counter[tuple[bool, tuple[str, ...]]] = Counter()
        for competes, row in queue.waiting.by_place():
            values = page.custom.of(Source.WORKLOAD, row.workload.metadata) if by_workload else ()
            counts[competes and active, values] += 1
        for status, competes in (("active", True), ("inadmissible", False)):
            if not by_workload:
                counts.setdefault((competes, ()), 0)
            for (where, values), count in counts.items():
                if where is competes:
                    pending(queue.name, status, amount=count, key=key, workload=values)


def _holding(page: GaugePage, queues: Iterable[QueuePicture], tallies: WorkloadTallies | None) -> None:
    labels = ("cluster_queue",)
    reserving = page.gauge("reserving_active_workloads", "Workloads that hold quota.", labels, QUEUE, by_workload=True)
    admitted = page.gauge("admitted_active_workloads", "Workloads admitted.", labels, QUEUE, by_workload=True)
    if tallies is None or not page.custom.names(Source.WORKLOAD):
        for queue in queues:
            reserving(queue.name, amount=queue.holdings.reserving, key=Key("", queue.name))
            admitted(queue.name, amount=queue.holdings.admitted, key=Key("", queue.name))
        return
    known = {queue.name for queue in queues}
    counts: Counter[tuple[str, bool, tuple[str, ...]]] = Counter()
    for sort, count in tallies.holding().items():
        counts[sort.cluster_queue, False, sort.values] += count
        counts[sort.cluster_queue, True, sort.values] += count if sort.admitted else 0
    for (name, is_admitted, values), count in counts.items():
        if name in known:
            (admitted if is_admitted else reserving)(name, amount=count, key=Key("", name), workload=values)


def _demand(queue: QueuePicture) -> dict[str, int]:
    """Of the resources that the queue has quota for."""
    total = dict.fromkeys((resource for group in queue.groups for resource in group.sorted_resources), 0)
    for row in queue.waiting.rows():
        for pod_set in row.pod_sets:
            for resource, amount in pod_set.requests.items():
                if resource in total:
                    total[resource] += amount
    return total


def _status(queue: QueuePicture) -> str:
    if queue.activity.active:
        return "active"
    return "terminating" if queue.activity.reason == "Terminating" else "pending"
