"""How many Workloads there are of which sort, kept up to date from the changes the watch shows.

Gauges over all Workloads would otherwise have to look at each of them at every scrape.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.kube.informer import Event, Informer
from worker_agent.metric_labels import CustomLabels, Source


class Finished(NamedTuple):
    """Ended Workloads of one LocalQueue, by the ClusterQueue that admitted them (empty: none did)."""

    local_queue: Key
    cluster_queue: str


class Unadmitted(NamedTuple):
    """Workloads that wait: why they are not admitted, and why they have no quota (empty: they have)."""

    local_queue: Key
    reason: str
    underlying_cause: str


class Holding(NamedTuple):
    """Workloads that hold quota, by the values of their custom labels."""

    local_queue: Key
    cluster_queue: str
    admitted: bool
    values: tuple[str, ...]


Sort = Finished | Unadmitted | Holding


class WorkloadTallies:
    """``custom``: without labels of Workloads in it nothing is told of those that hold quota."""

    def __init__(self, workloads: Informer[Workload], custom: CustomLabels) -> None:
        self._custom = custom
        self._by_workload_labels = bool(custom.names(Source.WORKLOAD))
        self._counts: Counter[Sort] = Counter()
        workloads.add_handler(self._changed)

    def finished(self) -> Mapping[Finished, int]:
        return {sort: count for sort, count in self._counts.items() if isinstance(sort, Finished)}

    def unadmitted(self) -> Mapping[Unadmitted, int]:
        return {sort: count for sort, count in self._counts.items() if isinstance(sort, Unadmitted)}

    def holding(self) -> Mapping[Holding, int]:
        return {sort: count for sort, count in self._counts.items() if isinstance(sort, Holding)}

    def _changed(self, event: Event[Workload]) -> None:
        for workload, step in ((event.old, -1), (event.new, 1)):
            for sort in self._sorts(workload) if workload is not None else ():
                self._counts[sort] += step
                if not self._counts[sort]:
                    del self._counts[sort]

    def _sorts(self, workload: Workload) -> Iterator[Sort]:
        queue = Key(workload.metadata.namespace, workload.spec.queue_name)
        admission = workload.status.admission
        cluster_queue = admission.cluster_queue if admission is not None else ""
        if workload.is_true(names.FINISHED):
            yield Finished(queue, cluster_queue)
            return
        reserved, admitted = workload.is_true(names.QUOTA_RESERVED), workload.is_true(names.ADMITTED)
        if not admitted:
            yield Unadmitted(queue, *_reasons(workload, reserved))
        if self._by_workload_labels and reserved:
            values = self._custom.of(Source.WORKLOAD, workload.metadata)
            yield Holding(queue, cluster_queue, admitted, values)


def _reasons(workload: Workload, reserved: bool) -> tuple[str, str]:
    admitted = workload.condition(names.ADMITTED)
    reason = admitted.reason if admitted is not None and admitted.is_false else names.NO_RESERVATION
    if reserved:
        return reason, ""
    quota = workload.condition(names.QUOTA_RESERVED)
    return reason, quota.reason if quota is not None else names.PENDING_EVALUATION
