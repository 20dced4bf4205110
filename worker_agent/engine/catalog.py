"""Catalog: the objects that ClusterQueues and workloads refer to. It answers who is concerned when one changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Key, Namespace
from worker_agent.api.pod import LimitRange, PriorityClass, RuntimeClass
from worker_agent.api.topology import Topology
from worker_agent.engine.activity import References
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.limit_ranges import LimitSummary
from worker_agent.engine.node_room import NodeRoom
from worker_agent.engine.pod_shape import ShapeSource


@dataclass(slots=True)
class Catalog:
    """Everything by name or key; ``users`` maps a flavor or check to the ClusterQueues that name it."""

    flavors: dict[str, FlavorRow] = field(default_factory=dict)
    checks: dict[str, AdmissionCheck] = field(default_factory=dict)
    topologies: dict[str, Topology] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    limit_ranges: dict[Key, LimitRange] = field(default_factory=dict)
    runtime_classes: dict[str, RuntimeClass] = field(default_factory=dict)
    priority_classes: dict[str, PriorityClass] = field(default_factory=dict)
    nodes: NodeRoom = field(default_factory=NodeRoom)
    _users: dict[str, dict[str, None]] = field(default_factory=dict)

    @property
    def references(self) -> References:
        return References(self.flavors, self.checks, self.topologies)

    def users(self, name: str) -> list[str]:
        """ClusterQueues that refer to a flavor or a check of this name."""
        return list(self._users.get(name, ()))

    def users_of_topology(self, name: str) -> list[str]:
        flavors = [flavor.name for flavor in self.flavors.values() if flavor.topology == name]
        return list(dict.fromkeys(queue for flavor in flavors for queue in self.users(flavor)))

    def enlist(self, queue: ClusterQueueRow) -> None:
        for name in _references(queue):
            self._users.setdefault(name, {})[queue.name] = None

    def delist(self, queue: ClusterQueueRow) -> None:
        for name in _references(queue):
            users = self._users.get(name, {})
            users.pop(queue.name, None)
            if not users:
                self._users.pop(name, None)

    def resum_limits(self, source: ShapeSource, namespace: str) -> None:
        """LimitRanges of a namespace changed: rows built from now on see the new summary."""
        ranges = [limits for key, limits in sorted(self.limit_ranges.items()) if key.namespace == namespace]
        source.version += 1
        if ranges:
            source.limits[namespace] = LimitSummary(ranges)
        else:
            source.limits.pop(namespace, None)


def _references(queue: ClusterQueueRow) -> Iterable[str]:
    return (*queue.flavors, *queue.checks)
