"""Gauges of Workloads that no queue counts: the finished ones, and why the others are not admitted."""

from collections import Counter
from collections.abc import Callable

from worker_agent.api.meta import Key
from worker_agent.app.gauge_page import GaugePage
from worker_agent.controllers.workload_tallies import WorkloadTallies
from worker_agent.engine.view import EngineView
from worker_agent.metric_labels import Source

CAUSES = ("reason", "underlying_cause")


def finished(page: GaugePage, view: EngineView, tallies: WorkloadTallies) -> None:
    gauge = page.gauge("finished_workloads", "Workloads that have ended.", ("cluster_queue",), Source.CLUSTER_QUEUE)
    counts: Counter[str] = Counter(dict.fromkeys(view.cluster_queues, 0))
    for sort, count in tallies.finished().items():
        counts[sort.cluster_queue or view.cluster_queue_of(sort.local_queue)] += count
    for name in view.cluster_queues:
        gauge(name, amount=counts[name], key=Key("", name))


def finished_of_local_queues(
    page: GaugePage, view: EngineView, tallies: WorkloadTallies, shown: Callable[[Key], bool]
) -> None:
    labels, counts = ("name", "namespace"), Counter[Key]()
    gauge = page.gauge("local_queue_finished_workloads", "Workloads that have ended.", labels, Source.LOCAL_QUEUE)
    for sort, count in tallies.finished().items():
        counts[sort.local_queue] += count
    for key in filter(shown, view.local_queues()):
        gauge(key.name, key.namespace, amount=counts[key], key=key)


def unadmitted(page: GaugePage, view: EngineView, tallies: WorkloadTallies) -> None:
    labels = ("cluster_queue", *CAUSES)
    gauge = page.gauge("unadmitted_workloads", "Workloads not admitted, by reason.", labels, Source.CLUSTER_QUEUE)
    counts: Counter[tuple[str, str, str]] = Counter()
    for sort, count in tallies.unadmitted().items():
        counts[view.cluster_queue_of(sort.local_queue), sort.reason, sort.underlying_cause] += count
    for (name, reason, cause), count in counts.items():
        gauge(name, reason, cause, amount=count, key=Key("", name))


def unadmitted_of_local_queues(
    page: GaugePage, view: EngineView, tallies: WorkloadTallies, shown: Callable[[Key], bool]
) -> None:
    labels = ("name", "namespace", "cluster_queue", *CAUSES)
    gauge = page.gauge("local_queue_unadmitted_workloads", "Not admitted, by reason.", labels, Source.LOCAL_QUEUE)
    for sort, count in tallies.unadmitted().items():
        if shown(sort.local_queue):
            key = sort.local_queue
            row = (key.name, key.namespace, view.cluster_queue_of(key), sort.reason, sort.underlying_cause)
            gauge(*row, amount=count, key=key)
