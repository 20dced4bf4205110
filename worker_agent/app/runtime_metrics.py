"""How the program itself works, under the names of controller-runtime and client-go, which dashboards of operators and
their alerts look for: reconciles, queues of keys, requests to API servers, requests to webhooks, leadership.

Counted by those who do the work, in plain numbers; read at the moment of a scrape.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from worker_agent.kube.controller import Controller, Result
from worker_agent.kube.distribution import Distribution
from worker_agent.kube.request_statistics import NO_ANSWER, RequestStatistics
from worker_agent.webhooks.request_tally import RequestTally

BY_CONTROLLER = ("controller",)
BY_QUEUE = ("name", "controller")
BY_WEBHOOK = ("webhook",)


@dataclass(slots=True)
class Sources:
    """What is read. ``webhooks`` is None where the program serves none, ``leads`` where there is no election."""

    controllers: list[Controller[Any]] = field(default_factory=list)
    requests: RequestStatistics = field(default_factory=RequestStatistics)
    webhooks: RequestTally | None = None
    lease: str = ""
    leads: Callable[[], bool] | None = None


class RuntimeCollector(Collector):
    """Several controllers of one name are told as one."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        found: dict[str, list[Controller[Any]]] = {}
        for controller in self._sources.controllers:
            found.setdefault(controller.name, []).append(controller)
        yield from _reconciles(found)
        yield from _queues(found)
        yield from _requests(self._sources.requests)
        yield from _webhooks(self._sources.webhooks or RequestTally())
        yield from _leadership(self._sources)


Found = dict[str, list[Controller[Any]]]


def _reconciles(found: Found) -> Iterator[Metric]:
    total = CounterMetricFamily(
        "controller_runtime_reconcile", "Reconciles, by how they ended.", labels=(*BY_CONTROLLER, "result")
    )
    errors = CounterMetricFamily("controller_runtime_reconcile_errors", "Failed reconciles.", labels=BY_CONTROLLER)
    panics = CounterMetricFamily(
        "controller_runtime_reconcile_panics", "Reconciles that met a fault of the program.", labels=BY_CONTROLLER
    )
    seconds = HistogramMetricFamily(
        "controller_runtime_reconcile_time_seconds", "Time of one reconcile.", labels=BY_CONTROLLER
    )
    most = GaugeMetricFamily(
        "controller_runtime_max_concurrent_reconciles", "How many may be under way at a time.", labels=BY_CONTROLLER
    )
    active = GaugeMetricFamily(
        "controller_runtime_active_workers", "Reconciles under way at the moment.", labels=BY_CONTROLLER
    )
    for name, controllers in found.items():
        for result in Result:
            total.add_metric((name, result), sum(one.results[result] for one in controllers))
        errors.add_metric((name,), sum(one.results[Result.ERROR] for one in controllers))
        panics.add_metric((name,), sum(one.panics for one in controllers))
        _spread(seconds, (name,), [one.seconds for one in controllers])
        most.add_metric((name,), sum(one.workers for one in controllers))
        active.add_metric((name,), sum(one.active for one in controllers))
    yield from (total, errors, panics, seconds, most, active)


def _queues(found: Found) -> Iterator[Metric]:
    depth = GaugeMetricFamily("workqueue_depth", "Keys that are due and not yet taken.", labels=BY_QUEUE)
    adds = CounterMetricFamily("workqueue_adds", "Keys that became due.", labels=BY_QUEUE)
    retries = CounterMetricFamily("workqueue_retries", "Keys put back after a failure.", labels=BY_QUEUE)
    waited = HistogramMetricFamily(
        "workqueue_queue_duration_seconds", "How long keys were due before they were taken.", labels=BY_QUEUE
    )
    worked = HistogramMetricFamily("workqueue_work_duration_seconds", "How long keys were in work.", labels=BY_QUEUE)
    unfinished = GaugeMetricFamily(
        "workqueue_unfinished_work_seconds", "Time spent so far on the keys in work, summed.", labels=BY_QUEUE
    )
    longest = GaugeMetricFamily(
        "workqueue_longest_running_processor_seconds", "Time spent so far on the oldest key in work.", labels=BY_QUEUE
    )
    for name, controllers in found.items():
        queues, row = [one.queue for one in controllers], (name, name)
        depth.add_metric(row, sum(len(queue) for queue in queues))
        adds.add_metric(row, sum(queue.adds for queue in queues))
        retries.add_metric(row, sum(queue.retries for queue in queues))
        _spread(waited, row, [queue.waited for queue in queues])
        _spread(worked, row, [queue.worked for queue in queues])
        under_way = [seconds for queue in queues for seconds in queue.unfinished_seconds()]
        unfinished.add_metric(row, sum(under_way))
        longest.add_metric(row, max(under_way, default=0.0))
    yield from (depth, adds, retries, waited, worked, unfinished, longest)


def _requests(statistics: RequestStatistics) -> Iterator[Metric]:
    total = CounterMetricFamily(
        "rest_client_requests",
        "Requests to API servers, workers included, by status; `<error>` where no answer came.",
        labels=("code", "method", "host"),
    )
    seconds = HistogramMetricFamily(
        "rest_client_request_duration_seconds", "Time until an answer; watches left out.", labels=("verb", "host")
    )
    for host, counted in statistics.hosts.items():
        for (method, status), count in counted.requests.items():
            total.add_metric((str(status or NO_ANSWER), method, host), count)
        for method, spread in counted.seconds.items():
            _spread(seconds, (method, host), [spread])
    yield from (total, seconds)


def _webhooks(tally: RequestTally) -> Iterator[Metric]:
    total = CounterMetricFamily(
        "controller_runtime_webhook_requests", "Reviews answered, by HTTP status.", labels=(*BY_WEBHOOK, "code")
    )
    seconds = HistogramMetricFamily(
        "controller_runtime_webhook_latency_seconds", "Time to answer a review.", labels=BY_WEBHOOK
    )
    in_flight = GaugeMetricFamily(
        "controller_runtime_webhook_requests_in_flight", "Reviews being answered.", labels=BY_WEBHOOK
    )
    for (path, status), count in tally.requests.items():
        total.add_metric((path, str(status)), count)
    for path, spread in tally.seconds.items():
        _spread(seconds, (path,), [spread])
    for path, count in tally.in_flight.items():
        in_flight.add_metric((path,), count)
    yield from (total, seconds, in_flight)


def _leadership(sources: Sources) -> Iterator[Metric]:
    status = GaugeMetricFamily(
        "leader_election_master_status", "Whether this replica holds the lease of that name.", labels=("name",)
    )
    if sources.leads is not None:
        status.add_metric((sources.lease,), sources.leads())
    yield status


def _spread(family: HistogramMetricFamily, row: tuple[str, ...], parts: Iterable[Distribution]) -> None:
    first, *others = parts
    whole = Distribution(first.bounds)
    for part in (first, *others):
        whole.add(part)
    family.add_metric(row, list(whole.cumulative()), whole.total)
