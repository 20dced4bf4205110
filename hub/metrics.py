"""The hub's own metrics. The two ``multikueue_`` ones carry Kueue's names and labels; the rest is ours.

``registry`` is whatever the program serves; nothing is registered globally: several hubs can live in one process.
"""

import contextlib

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class HubMetrics:
    """``role`` is the replica's: leader, follower or standalone."""

    def __init__(self, registry: CollectorRegistry | None = None, role: str = "standalone") -> None:
        registry = registry if registry is not None else CollectorRegistry()
        self.registry = registry
        self.role = role
        labels = ("cluster_queue", "cluster", "replica_role")
        self._dispatched = Counter(
            "multikueue_workloads_dispatched_total",
            "Copies of workloads created on workers.",
            labels,
            registry=registry,
        )
        self._admitted = Counter(
            "multikueue_workloads_admitted_total", "Workloads admitted on workers.", labels, registry=registry
        )
        self._connected = Gauge(
            "fedhub_worker_connected", "Whether the hub is in contact with the worker.", ("cluster",), registry=registry
        )
        self._decisions = Counter(
            "fedhub_dispatch_decisions_total", "Decisions about where a workload goes.", ("reason",), registry=registry
        )
        self._evaluation = Histogram(
            "fedhub_evaluation_seconds", "Time to evaluate a batch of workloads.", ("evaluator",), registry=registry
        )
        self._collected = Counter(
            "fedhub_orphans_deleted_total",
            "Remote objects deleted without an owner here.",
            ("cluster",),
            registry=registry,
        )

    def dispatched(self, cluster_queue: str, cluster: str) -> None:
        self._dispatched.labels(cluster_queue, cluster, self.role).inc()

    def admitted(self, cluster_queue: str, cluster: str) -> None:
        self._admitted.labels(cluster_queue, cluster, self.role).inc()

    def contact(self, cluster: str, connected: bool) -> None:
        self._connected.labels(cluster).set(1 if connected else 0)

    def forget_worker(self, cluster: str) -> None:
        with contextlib.suppress(KeyError):
            self._connected.remove(cluster)

    def decided(self, reason: str) -> None:
        self._decisions.labels(reason).inc()

    def evaluated(self, evaluator: str, seconds: float) -> None:
        self._evaluation.labels(evaluator).observe(seconds)

    def collected(self, cluster: str, objects: int) -> None:
        if objects:
            self._collected.labels(cluster).inc(objects)
