"""Prometheus metrics of the agent, under Kueue's names (spec/operations 4). The one file to touch for a new metric.

Counters and histograms are fed by controllers; gauges are computed at the scrape from the engine's published view
(``worker_agent.app.view_metrics``). Nothing is registered globally: several agents can live in one process.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from worker_agent.api.meta import Key, ObjectMeta
from worker_agent.metric_labels import CustomLabels, Source
from worker_agent.metric_series import DEFAULT, E14, E16, LATENCY, Series, SeriesMaker

LEADER, FOLLOWER, STANDALONE = "leader", "follower", "standalone"
"""Roles of a replica, as label ``replica_role``."""

_CLASS: Final = "priority_class"
_LOCAL: Final = ("name", "namespace")

M = TypeVar("M", Counter, Histogram)


@dataclass(frozen=True, slots=True)
class Queues:
    """Where a Workload stands, as labels: its ClusterQueue, its LocalQueue, its priority class (empty: none)."""

    cluster_queue: str
    namespace: str
    local_queue: str
    priority_class: str
    workload: ObjectMeta | None = None
    """For custom labels."""

    @property
    def local_queue_key(self) -> Key:
        return Key(self.namespace, self.local_queue)


class TunnelMetrics:
    """What comes through the connection to the hub; ``hub`` is an address of it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._linked = Gauge(
            "fedhub_agent_hub_linked",
            "Replicas of the hub to which a link stands that was dialled at that address.",
            ("hub",),
            registry=registry,
        )
        self._leads = Gauge(
            "fedhub_agent_hub_leader_linked",
            "Whether a link stands to the replica of the hub that leads, as far as the agent was told.",
            registry=registry,
        )
        self._dials = Counter(
            "fedhub_agent_hub_dials_total",
            "Dials: they made a connection (linked), came out where none was missing (known), or failed.",
            ("hub", "outcome"),
            registry=registry,
        )
        self._requests = Counter(
            "fedhub_agent_hub_requests_total",
            "Requests of the hub: allowed, or refused by the allow-list and for which reason.",
            ("outcome",),
            registry=registry,
        )
        self._bytes = Counter(
            "fedhub_agent_hub_bytes_total", "Bytes exchanged with the hub.", ("hub", "direction"), registry=registry
        )

    def linked(self, address: str, replicas: int) -> None:
        self._linked.labels(address).set(replicas)

    def leads(self, up: bool) -> None:
        self._leads.set(1 if up else 0)

    def dialled(self, address: str, outcome: str) -> None:
        self._dials.labels(address, outcome).inc()

    def answered(self, outcome: str) -> None:
        self._requests.labels(outcome if outcome == "allowed" else f"refused: {outcome}").inc()

    def traffic(self, address: str, sent: int, received: int) -> None:
        self._bytes.labels(address, "sent").inc(sent)
        self._bytes.labels(address, "received").inc(received)


class AgentMetrics:
    """``role`` is the replica's: leader, follower or standalone; it may change while the program runs.

    ``local_queues`` says for which LocalQueues there are series of their own. ``custom`` labels are appended by the
    kind of object that a series is about.
    """

    def __init__(
        self,
        registry: CollectorRegistry | None = None,
        role: str = "standalone",
        *,
        local_queues: Callable[[Key], bool] = lambda key: True,
        custom: CustomLabels | None = None,
    ) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self.role = role
        self.tunnel = TunnelMetrics(self.registry)
        self.custom = custom or CustomLabels()
        self._local = local_queues
        make = self._make = SeriesMaker(self.registry, lambda: self.role, self.custom)
        queue, local = Source.CLUSTER_QUEUE, Source.LOCAL_QUEUE
        self._attempts = make.counter("admission_attempts_total", "Cycles that tried to admit.", ("result",))
        self._attempt_seconds = make.histogram(
            "admission_attempt_duration_seconds", "Time of one scheduling cycle.", ("result",), DEFAULT
        )
        self._skips = make.gauge(
            "admission_cycle_preemption_skips", "Preemptors passed over in the last cycle.", ("cluster_queue",), queue
        )
        self._recomputed = make.counter(
            "preemption_target_recomputations_total",
            "Preemptors nominated again because others had taken their victims, and what came of it.",
            ("cluster_queue", "result"),
            queue,
        )
        self._reserved = self._pair("quota_reserved_workloads_total", "Workloads that reserved quota.")
        self._reserved_wait = self._waits("quota_reserved_wait_time_seconds", "From queueing to reservation.", E14, E14)
        self._admitted = self._pair("admitted_workloads_total", "Workloads admitted.", by_workload=True)
        self._admission_wait = self._waits(
            "admission_wait_time_seconds", "From queueing to admission.", E16, E14, by_workload=True
        )
        self._checks_wait = self._waits(
            "admission_checks_wait_time_seconds", "From reservation to admission.", E14, E14
        )
        self._ready_wait = self._waits("ready_wait_time_seconds", "From creation to pods ready.", E14, E14)
        self._until_ready = self._waits(
            "admitted_until_ready_wait_time_seconds", "From admission to pods ready.", E14, E14
        )
        self._finished = self._pair("finished_workloads_total", "Workloads finished.")
        self._execution = self._waits("execution_time_seconds", "From first admission to the end.", E16, E16)
        causes = ("reason", "underlying_cause")
        self._evicted = make.counter("evicted_workloads_total", "Evictions.", ("cluster_queue", *causes, _CLASS), queue)
        self._evicted_once = make.counter(
            "evicted_workloads_once_total",
            "Workloads evicted for the first time.",
            ("cluster_queue", *causes, _CLASS),
            queue,
        )
        self._local_evicted = make.counter(
            "local_queue_evicted_workloads_total", "Evictions.", (*_LOCAL, *causes, _CLASS), local
        )
        self._eviction_latency = make.histogram(
            "workload_eviction_latency_seconds", "From eviction to release.", ("cluster_queue", "reason"), E14, queue
        )
        self._ready_to_evicted = make.histogram(
            "pods_ready_to_evicted_time_seconds", "From pods ready to eviction.", ("cluster_queue", *causes), E14, queue
        )
        self._preempted = make.counter(
            "preempted_workloads_total", "Workloads preempted.", ("preempting_cluster_queue", "reason"), queue
        )
        self._slices = make.counter(
            "replaced_workload_slices_total", "Slices of elastic jobs replaced by others.", ("cluster_queue",), queue
        )
        self._creation_latency = make.histogram(
            "workload_creation_latency_seconds",
            "From the creation of a job to that of its Workload.",
            ("job_kind",),
            LATENCY,
        )
        self._gate_removal = make.histogram(
            "pod_scheduling_gate_removal_seconds",
            "From admission to the removal of a pod's scheduling gate.",
            ("name", "cluster_queue", "is_group"),
            DEFAULT,
            queue,
        )
        self._cohort_admitted = make.counter(
            "cohort_subtree_admitted_workloads_total",
            "Workloads admitted anywhere below a cohort.",
            ("cohort", _CLASS),
            Source.COHORT,
        )
        self._writes = Counter(
            "fedhub_api_writes_total",
            "Write requests sent to the API server.",
            ("verb", "resource", "subresource"),
            registry=self.registry,
        )
        self._skipping: set[str] = set()

    def built(self, labels: Mapping[str, str]) -> None:
        """What this program is: version, commit, date, interpreter and platform."""
        gauge = Gauge("kueue_build_info", "What is running.", tuple(labels), registry=self.registry)
        gauge.labels(**labels).set(1)

    # -- cycles ----------------------------------------------------------------------------------------------------

    def cycle(self, admitted: bool, seconds: float) -> None:
        result = "success" if admitted else "inadmissible"
        self._attempts.at(result).inc()
        self._attempt_seconds.at(result).observe(seconds)

    def preemption_skips(self, counts: Mapping[str, int]) -> None:
        """Of the last cycle; a ClusterQueue that is not named had none."""
        for name in self._skipping - counts.keys():
            self._skips.at(name, key=Key("", name)).set(0)
        for name, count in counts.items():
            self._skips.at(name, key=Key("", name)).set(count)
        self._skipping |= counts.keys()

    def recomputed(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        for name, results in counts.items():
            for result, count in results.items():
                self._recomputed.at(name, result, key=Key("", name)).inc(count)

    def preempted(self, preempting_cluster_queue: str, reason: str) -> None:
        self._preempted.at(preempting_cluster_queue, reason, key=Key("", preempting_cluster_queue)).inc()

    # -- Workloads -------------------------------------------------------------------------------------------------

    def quota_reserved(self, queues: Queues, waited: float) -> None:
        self._count(self._reserved, queues)
        self._observe(self._reserved_wait, queues, waited)

    def admitted(self, queues: Queues, waited: float, waited_for_checks: float, cohorts: tuple[str, ...] = ()) -> None:
        """``cohorts``: all above the ClusterQueue."""
        self._count(self._admitted, queues)
        self._observe(self._admission_wait, queues, waited)
        self._observe(self._checks_wait, queues, waited_for_checks)
        for name in cohorts:
            self._cohort_admitted.at(name, queues.priority_class, key=Key("", name)).inc()

    def pods_ready(self, queues: Queues, waited: float, since_admission: float) -> None:
        self._observe(self._ready_wait, queues, waited)
        self._observe(self._until_ready, queues, since_admission)

    def finished(self, queues: Queues, executed: float | None) -> None:
        """``executed``: seconds since the first admission, None for Workloads that never ran."""
        self._count(self._finished, queues)
        if executed is not None:
            self._observe(self._execution, queues, executed)

    def evicted(self, queues: Queues, reason: str, cause: str, *, first: bool) -> None:
        row, key = (reason, cause, queues.priority_class), Key("", queues.cluster_queue)
        self._evicted.at(queues.cluster_queue, *row, key=key).inc()
        if first:
            self._evicted_once.at(queues.cluster_queue, *row, key=key).inc()
        if self._local(queues.local_queue_key):
            local = self._local_evicted.at(queues.local_queue, queues.namespace, *row, key=queues.local_queue_key)
            local.inc()

    def ready_before_eviction(self, queues: Queues, reason: str, cause: str, seconds: float) -> None:
        series = self._ready_to_evicted.at(queues.cluster_queue, reason, cause, key=Key("", queues.cluster_queue))
        series.observe(max(0.0, seconds))

    def released(self, queues: Queues, reason: str, seconds: float) -> None:
        series = self._eviction_latency.at(queues.cluster_queue, reason, key=Key("", queues.cluster_queue))
        series.observe(max(0.0, seconds))

    def slice_replaced(self, queues: Queues) -> None:
        self._slices.at(queues.cluster_queue, key=Key("", queues.cluster_queue)).inc()

    def workload_created(self, job_kind: str, seconds: float) -> None:
        self._creation_latency.at(job_kind).observe(max(0.0, seconds))

    def gate_removed(self, gate: str, cluster_queue: str, seconds: float, *, group: bool) -> None:
        """``group``: the pod belongs to a group of plain pods."""
        series = self._gate_removal.at(gate, cluster_queue, str(group).lower(), key=Key("", cluster_queue))
        series.observe(max(0.0, seconds))

    # -- the rest --------------------------------------------------------------------------------------------------

    def written(self, verb: str, resource: str, subresource: str, count: int) -> None:
        self._writes.labels(verb, resource, subresource).inc(count)

    def forget_cluster_queue(self, name: str) -> None:
        """It is gone, and its series go with it."""
        self._make.remove(cluster_queue=name)
        self._make.remove(preempting_cluster_queue=name)
        self._skipping.discard(name)

    def forget_local_queue(self, key: Key) -> None:
        self._make.remove(name=key.name, namespace=key.namespace)

    def forget_cohort(self, name: str) -> None:
        self._make.remove(cohort=name)

    def _pair(self, name: str, text: str, *, by_workload: bool = False) -> tuple[Series[Counter], Series[Counter]]:
        """The series by ClusterQueue and the one by LocalQueue; ``by_workload``: the latter has Workloads' labels."""
        return (
            self._make.counter(name, text, ("cluster_queue", _CLASS), Source.CLUSTER_QUEUE),
            self._make.counter(
                f"local_queue_{name}", text, (*_LOCAL, _CLASS), Source.LOCAL_QUEUE, by_workload=by_workload
            ),
        )

    def _waits(
        self,
        name: str,
        text: str,
        buckets: tuple[float, ...],
        local_buckets: tuple[float, ...],
        *,
        by_workload: bool = False,
    ) -> tuple[Series[Histogram], Series[Histogram]]:
        make, labels = self._make.histogram, ("cluster_queue", _CLASS)
        local_labels = (*_LOCAL, _CLASS)
        return (
            make(name, text, labels, buckets, Source.CLUSTER_QUEUE),
            make(f"local_queue_{name}", text, local_labels, local_buckets, Source.LOCAL_QUEUE, by_workload=by_workload),
        )

    def _count(self, pair: tuple[Series[Counter], Series[Counter]], queues: Queues) -> None:
        pair[0].at(queues.cluster_queue, queues.priority_class, key=Key("", queues.cluster_queue)).inc()
        if self._local(queues.local_queue_key):
            self._at_local_queue(pair[1], queues).inc()

    def _observe(self, pair: tuple[Series[Histogram], Series[Histogram]], queues: Queues, seconds: float) -> None:
        seconds = max(0.0, seconds)
        pair[0].at(queues.cluster_queue, queues.priority_class, key=Key("", queues.cluster_queue)).observe(seconds)
        if self._local(queues.local_queue_key):
            self._at_local_queue(pair[1], queues).observe(seconds)

    @staticmethod
    def _at_local_queue(series: Series[M], queues: Queues) -> M:
        row = (queues.local_queue, queues.namespace, queues.priority_class)
        return series.at(*row, key=queues.local_queue_key, workload=queues.workload)
