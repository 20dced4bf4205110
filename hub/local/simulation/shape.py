"""The nodes of a simulated cluster, described by groups of equal ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from worker_agent.api import quantity
from worker_agent.api.document import Document
from worker_agent.api.meta import ObjectMeta
from worker_agent.api.timestamps import rfc3339

SIMULATED = "fedhub.dev/simulated"
"""Label on every node made here; nodes that carry it and are no longer wanted are removed."""

PODS_PER_NODE = "110"


AUTOSCALED = "fedhub.dev/node-group"
"""Label on nodes that an autoscaler added, with the name of their group."""


class ShapeError(ValueError):
    """The description of a cluster is wrong; the text names the field."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """``count`` equal nodes called ``<name>-0`` and so on; an autoscaler may bring them up to ``max_count``.

    ``capacity`` in Kubernetes quantities (110 pods unless said otherwise), ``taints`` as on a Node."""

    name: str
    count: int
    capacity: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Document, ...] = ()
    max_count: int = 0

    def added(self, number: int, now: datetime) -> Document:
        """The Node object with this number, made by an autoscaler."""
        node = _node(self, number, rfc3339(now))
        node["metadata"]["labels"][AUTOSCALED] = self.name
        return node


@dataclass(frozen=True, slots=True)
class AutoscalerRules:
    """How the simulated autoscaler answers ProvisioningRequests; all times in seconds."""

    accept_seconds: float = 2.0
    """From a request's creation until it is taken up or refused."""
    provision_seconds: float = 10.0
    """From then until its nodes are there."""
    booking_seconds: float = 600.0
    """How long the room is kept for the pods that were asked for."""
    idle_seconds: float = 60.0
    """How long a node that was added may stand empty, and not booked, before it goes."""
    give_up_seconds: float = 600.0
    """How long room is looked for among the nodes there are (class check-capacity) before the request fails."""
    refuse_attempts: int = 0
    """So many first attempts of every Workload are refused, to show what follows."""


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """All nodes of a cluster, and its autoscaler if it has one."""

    groups: tuple[NodeGroup, ...] = ()
    autoscaler: AutoscalerRules | None = None

    @classmethod
    def from_documents(
        cls, groups: Sequence[Mapping[str, Any]], autoscaler: Mapping[str, Any] | None = None
    ) -> "ClusterShape":
        """From ``{name, count, maxCount, capacity, labels, taints}`` mappings and ``{acceptSeconds, ...}``.

        Raises ShapeError."""
        rules = None if autoscaler is None else _rules(autoscaler)
        shape = cls(tuple(_group(group, f"nodeGroups[{number}]") for number, group in enumerate(groups)), rules)
        names = [group.name for group in shape.groups]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ShapeError(f"nodeGroups[{number}].name: {name!r} is used twice")
        return shape

    def nodes(self, now: datetime) -> list[Document]:
        """The Node objects, ready since ``now``."""
        return [_node(group, number, rfc3339(now)) for group in self.groups for number in range(group.count)]

    def has_made(self, metadata: ObjectMeta) -> bool:
        """Whether a node that this shape does not list was made by an earlier one: an autoscaler's own are its own."""
        return bool(metadata.label(SIMULATED)) and not (self.autoscaler and metadata.label(AUTOSCALED))


def _group(given: Mapping[str, Any], where: str) -> NodeGroup:
    fields = ("name", "count", "maxCount", "capacity", "labels", "taints")
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise ShapeError(f"{where}.{unknown[0]}: unknown field (allowed: {', '.join(fields)})")
    name, count = given.get("name"), given.get("count", 1)
    if not isinstance(name, str) or not name:
        raise ShapeError(f"{where}.name: is required")
    most = given.get("maxCount") or 0
    for field_name, number in (("count", count), ("maxCount", most)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise ShapeError(f"{where}.{field_name}: must be a whole number from 0, not {number!r}")
    capacity = {str(key): str(value) for key, value in (given.get("capacity") or {}).items()}
    for resource, amount in capacity.items():
        try:
            known = quantity.nanos(amount) >= 0
        except quantity.QuantityError:
            known = False
        if not known:
            raise ShapeError(f"{where}.capacity.{resource}: {amount!r} is not a quantity such as 4, 500m or 8Gi")
    return NodeGroup(name, count, capacity, dict(given.get("labels") or {}), tuple(given.get("taints") or ()), most)


_RULE_FIELDS = {
    "acceptSeconds": "accept_seconds",
    "provisionSeconds": "provision_seconds",
    "bookingSeconds": "booking_seconds",
    "idleSeconds": "idle_seconds",
    "giveUpSeconds": "give_up_seconds",
    "refuseAttempts": "refuse_attempts",
}


def _rules(given: Mapping[str, Any]) -> AutoscalerRules:
    for name, value in given.items():
        if name not in _RULE_FIELDS:
            raise ShapeError(f"autoscaler.{name}: unknown field (allowed: {', '.join(_RULE_FIELDS)})")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise ShapeError(f"autoscaler.{name}: must be a number from 0, not {value!r}")
    return AutoscalerRules(**{_RULE_FIELDS[name]: value for name, value in given.items()})


def _node(group: NodeGroup, number: int, since: str) -> Document:
    name = f"{group.name}-{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        SIMULATED: "true",
    }
    capacity = {"pods": PODS_PER_NODE} | dict(group.capacity)
    node: Document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | dict(group.labels)},
        "spec": {"taints": list(group.taints)} if group.taints else {},
        "status": {
            "capacity": capacity,
            "allocatable": dict(capacity),
            "conditions": [_condition(*row, since) for row in _CONDITIONS],
            "nodeInfo": {"kubeletVersion": "v1.36.3-simulated", "operatingSystem": "linux", "architecture": "amd64"},
        },
    }
    return node


_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def _condition(type: str, status: str, reason: str, message: str, since: str) -> Document:
    times = {"lastHeartbeatTime": since, "lastTransitionTime": since}
    return {"type": type, "status": status, "reason": reason, "message": message} | times
