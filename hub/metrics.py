"""The hub's own metrics. The two ``multikueue_`` ones carry Kueue's names and labels; the rest is ours.

``registry`` is whatever the program serves; nothing is registered globally: several hubs can live in one process.
"""

import contextlib
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class HubMetrics:
    """``role`` is the replica's at the moment: leader, follower or standalone."""

    def __init__(
        self, registry: CollectorRegistry | None = None, role: Callable[[], str] = lambda: "standalone"
    ) -> None:
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

        self._tunnel_connected = Gauge(
            "fedhub_tunnel_connected",
            "Whether the worker's agent holds a connection to this replica.",
            ("agent",),
            registry=registry,
        )
        self._tunnel_requests = Counter(
            "fedhub_tunnel_requests_total",
            "Requests sent to a worker through its agent, by the answer's status, or failed.",
            ("agent", "code"),
            registry=registry,
        )
        self._tunnel_bytes = Counter(
            "fedhub_tunnel_bytes_total",
            "Bytes exchanged with agents that dial in.",
            ("agent", "direction"),
            registry=registry,
        )

    def tunnel(self, agent: str, connected: bool) -> None:
        self._tunnel_connected.labels(agent).set(1 if connected else 0)

    def forget_tunnel(self, agent: str) -> None:
        with contextlib.suppress(KeyError):
            self._tunnel_connected.remove(agent)

    def tunnel_request(self, agent: str, outcome: str) -> None:
        self._tunnel_requests.labels(agent, outcome).inc()

    def tunnel_traffic(self, agent: str, sent: int, received: int) -> None:
        self._tunnel_bytes.labels(agent, "sent").inc(sent)
        self._tunnel_bytes.labels(agent, "received").inc(received)

    def dispatched(self, cluster_queue: str, cluster: str) -> None:
        self._dispatched.labels(cluster_queue, cluster, self.role()).inc()

    def admitted(self, cluster_queue: str, cluster: str) -> None:
        self._admitted.labels(cluster_queue, cluster, self.role()).inc()

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
