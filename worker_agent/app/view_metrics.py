"""Gauges read from the engine's view at the moment of a scrape: nothing to keep up to date, nothing left behind."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from worker_agent.api.meta import Key
from worker_agent.app import cluster_queue_gauges, cohort_gauges, local_queue_gauges, workload_gauges
from worker_agent.app.gauge_page import GaugePage
from worker_agent.controllers.workload_tallies import WorkloadTallies
from worker_agent.engine.view import EngineView
from worker_agent.metric_labels import CustomLabels


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Which series there are."""

    local_queues: Callable[[Key], bool] = lambda key: True
    cohorts: bool = True
    """Also where each ClusterQueue stands in their tree."""
    resources: bool = False
    """Series per flavor and resource of ClusterQueues (metrics.enableClusterQueueResources)."""
    unadmitted: bool = True
    hashes: bool = True
    """How many sorts of workloads wait, as far as equivalence is looked at."""
    custom: CustomLabels = field(default_factory=CustomLabels)


class ViewCollector(Collector):
    """``role`` is the replica's at the moment; ``tallies`` None leaves out what only they know."""

    def __init__(
        self,
        view: Callable[[], EngineView],
        role: Callable[[], str],
        shown: Shown | None = None,
        tallies: WorkloadTallies | None = None,
    ) -> None:
        self._view = view
        self._role = role
        self._shown = shown or Shown()
        self._tallies = tallies

    def collect(self) -> Iterator[GaugeMetricFamily]:
        view, shown = self._view(), self._shown
        page = GaugePage(self._role(), shown.custom)
        cluster_queue_gauges.fill(page, view.cluster_queues.values(), self._tallies)
        if shown.hashes:
            cluster_queue_gauges.sorts(page, view.cluster_queues.values())
        if shown.resources:
            cluster_queue_gauges.resources(page, view.cluster_queues.values())
        if shown.cohorts:
            cluster_queue_gauges.place(page, view)
            cohort_gauges.fill(page, view)
        pictures = (view.local_queue(key) for key in filter(shown.local_queues, view.local_queues()))
        queues = [picture for picture in pictures if picture is not None]
        local_queue_gauges.fill(page, view, queues, self._tallies)
        if self._tallies is not None:
            self._workloads(page, view, self._tallies)
        return iter(page)

    def _workloads(self, page: GaugePage, view: EngineView, tallies: WorkloadTallies) -> None:
        shown = self._shown
        workload_gauges.finished(page, view, tallies)
        workload_gauges.finished_of_local_queues(page, view, tallies, shown.local_queues)
        if shown.unadmitted:
            workload_gauges.unadmitted(page, view, tallies)
            workload_gauges.unadmitted_of_local_queues(page, view, tallies, shown.local_queues)
