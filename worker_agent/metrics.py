"""Prometheus metrics of the agent, under Kueue's names (spec/operations 4). The one file to touch for a new metric.

Counters and histograms are fed by controllers; gauges are computed at the scrape from the engine's published view
(``worker_agent.app.view_metrics``). Nothing is registered globally: several agents can live in one process.
"""

from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

E14: Final = (1.0, *(2.5 * 2**i for i in range(13)))
E16: Final = (1.0, *(2.5 * 2**i for i in range(15)))
"""Kueue's buckets: 1, then 2.5 doubling, 14 or 16 bounds in total."""

_CLASS: Final = "priority_class"


@dataclass(frozen=True, slots=True)
class Queues:
    """Where a Workload stands, as labels: its ClusterQueue, its LocalQueue, its priority class (empty: none)."""

    cluster_queue: str
    namespace: str
    local_queue: str
    priority_class: str


class TunnelMetrics:
    """What comes through the connection to the hub; ``hub`` is an address of it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._linked = Gauge(
            "fedhub_agent_hub_linked", "Whether a link to that address of the hub stands.", ("hub",), registry=registry
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

    def linked(self, address: str, up: bool) -> None:
        self._linked.labels(address).set(1 if up else 0)

    def answered(self, outcome: str) -> None:
        self._requests.labels(outcome if outcome == "allowed" else f"refused: {outcome}").inc()

    def traffic(self, address: str, sent: int, received: int) -> None:
        self._bytes.labels(address, "sent").inc(sent)
        self._bytes.labels(address, "received").inc(received)


class AgentMetrics:
    """``role`` is the replica's: leader, follower or standalone. ``local_queues``: series per LocalQueue as well."""

    def __init__(
        self, registry: CollectorRegistry | None = None, role: str = "standalone", *, local_queues: bool = True
    ) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self.role = role
        self.tunnel = TunnelMetrics(self.registry)
        self._local = local_queues
        self._attempts = self._counter("admission_attempts_total", "Cycles that tried to admit.", ("result",))
        self._attempt_seconds = self._histogram(
            "admission_attempt_duration_seconds",
            "Time of one scheduling cycle.",
            ("result",),
            Histogram.DEFAULT_BUCKETS,
        )
        self._skips = Gauge(
            "kueue_admission_cycle_preemption_skips",
            "Preemptors passed over in the last cycle.",
            ("cluster_queue", "replica_role"),
            registry=self.registry,
        )
        self._reserved = self._pair("quota_reserved_workloads_total", "Workloads that reserved quota.")
        self._reserved_wait = self._waits("quota_reserved_wait_time_seconds", "From queueing to reservation.", E14, E14)
        self._admitted = self._pair("admitted_workloads_total", "Workloads admitted.")
        self._admission_wait = self._waits("admission_wait_time_seconds", "From queueing to admission.", E16, E14)
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
        self._evicted = self._counter("evicted_workloads_total", "Evictions.", ("cluster_queue", *causes, _CLASS))
        self._evicted_once = self._counter(
            "evicted_workloads_once_total", "Workloads evicted for the first time.", ("cluster_queue", *causes, _CLASS)
        )
        self._local_evicted = self._counter(
            "local_queue_evicted_workloads_total", "Evictions.", ("name", "namespace", *causes, _CLASS)
        )
        self._eviction_latency = self._histogram(
            "workload_eviction_latency_seconds", "From eviction to release.", ("cluster_queue", "reason"), E14
        )
        self._preempted = self._counter(
            "preempted_workloads_total", "Workloads preempted.", ("preempting_cluster_queue", "reason")
        )
        self._gate_removal = self._histogram(
            "pod_scheduling_gate_removal_seconds",
            "From admission to the removal of a pod's scheduling gate.",
            ("name", "cluster_queue", "is_group"),
            Histogram.DEFAULT_BUCKETS,
        )
        self._writes = Counter(
            "fedhub_api_writes_total",
            "Write requests sent to the API server.",
            ("verb", "resource", "subresource"),
            registry=self.registry,
        )

    def cycle(self, admitted: bool, seconds: float) -> None:
        result = "success" if admitted else "inadmissible"
        self._attempts.labels(result, self.role).inc()
        self._attempt_seconds.labels(result, self.role).observe(seconds)

    def preemption_skips(self, cluster_queue: str, count: int) -> None:
        self._skips.labels(cluster_queue, self.role).set(count)

    def quota_reserved(self, queues: Queues, waited: float) -> None:
        self._count(self._reserved, queues)
        self._observe(self._reserved_wait, queues, waited)

    def admitted(self, queues: Queues, waited: float, waited_for_checks: float) -> None:
        self._count(self._admitted, queues)
        self._observe(self._admission_wait, queues, waited)
        self._observe(self._checks_wait, queues, waited_for_checks)

    def pods_ready(self, queues: Queues, waited: float, since_admission: float) -> None:
        self._observe(self._ready_wait, queues, waited)
        self._observe(self._until_ready, queues, since_admission)

    def finished(self, queues: Queues, executed: float | None) -> None:
        """``executed``: seconds since the first admission, None for Workloads that never ran."""
        self._count(self._finished, queues)
        if executed is not None:
            self._observe(self._execution, queues, executed)

    def evicted(self, queues: Queues, reason: str, cause: str, *, first: bool) -> None:
        row = (reason, cause, queues.priority_class, self.role)
        self._evicted.labels(queues.cluster_queue, *row).inc()
        if first:
            self._evicted_once.labels(queues.cluster_queue, *row).inc()
        if self._local:
            self._local_evicted.labels(queues.local_queue, queues.namespace, *row).inc()

    def released(self, queues: Queues, reason: str, seconds: float) -> None:
        self._eviction_latency.labels(queues.cluster_queue, reason, self.role).observe(seconds)

    def preempted(self, preempting_cluster_queue: str, reason: str) -> None:
        self._preempted.labels(preempting_cluster_queue, reason, self.role).inc()

    def gate_removed(self, gate: str, cluster_queue: str, seconds: float, *, group: bool) -> None:
        """``group``: the pod belongs to a group of plain pods."""
        labels = (gate, cluster_queue, str(group).lower(), self.role)
        self._gate_removal.labels(*labels).observe(max(0.0, seconds))

    def written(self, verb: str, resource: str, subresource: str, count: int) -> None:
        self._writes.labels(verb, resource, subresource).inc(count)

    def _counter(self, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        return Counter(f"kueue_{name}", text, (*labels, "replica_role"), registry=self.registry)

    def _histogram(self, name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"kueue_{name}", text, (*labels, "replica_role"), buckets=buckets, registry=self.registry)

    def _pair(self, name: str, text: str) -> tuple[Counter, Counter]:
        """The series by ClusterQueue and the one by LocalQueue."""
        return (
            self._counter(name, text, ("cluster_queue", _CLASS)),
            self._counter(f"local_queue_{name}", text, ("name", "namespace", _CLASS)),
        )

    def _waits(
        self, name: str, text: str, buckets: tuple[float, ...], local_buckets: tuple[float, ...]
    ) -> tuple[Histogram, Histogram]:
        return (
            self._histogram(name, text, ("cluster_queue", _CLASS), buckets),
            self._histogram(f"local_queue_{name}", text, ("name", "namespace", _CLASS), local_buckets),
        )

    def _count(self, pair: tuple[Counter, Counter], queues: Queues) -> None:
        pair[0].labels(queues.cluster_queue, queues.priority_class, self.role).inc()
        if self._local:
            pair[1].labels(queues.local_queue, queues.namespace, queues.priority_class, self.role).inc()

    def _observe(self, pair: tuple[Histogram, Histogram], queues: Queues, seconds: float) -> None:
        pair[0].labels(queues.cluster_queue, queues.priority_class, self.role).observe(max(0.0, seconds))
        if self._local:
            pair[1].labels(queues.local_queue, queues.namespace, queues.priority_class, self.role).observe(
                max(0.0, seconds)
            )
