"""The nodes of a simulated cluster, described by groups of equal ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from worker_agent.api import quantity
from worker_agent.api.document import Document
from worker_agent.api.timestamps import rfc3339

SIMULATED = "fedhub.dev/simulated"
"""Label on every node made here; nodes that carry it and are no longer wanted are removed."""

PODS_PER_NODE = "110"


class ShapeError(ValueError):
    """The description of a cluster is wrong; the text names the field."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """``count`` equal nodes called ``<name>-0`` and so on. ``capacity`` in Kubernetes quantities (110 pods
    unless said otherwise), ``taints`` as on a Node."""

    name: str
    count: int
    capacity: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """All nodes of a cluster."""

    groups: tuple[NodeGroup, ...] = ()

    @classmethod
    def from_documents(cls, groups: Sequence[Mapping[str, Any]]) -> "ClusterShape":
        """From ``{name, count, capacity, labels, taints}`` mappings. Raises ShapeError."""
        shape = cls(tuple(_group(group, f"nodeGroups[{number}]") for number, group in enumerate(groups)))
        names = [group.name for group in shape.groups]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ShapeError(f"nodeGroups[{number}].name: {name!r} is used twice")
        return shape

    def nodes(self, now: datetime) -> list[Document]:
        """The Node objects, ready since ``now``."""
        return [_node(group, number, rfc3339(now)) for group in self.groups for number in range(group.count)]


def _group(given: Mapping[str, Any], where: str) -> NodeGroup:
    unknown = sorted(set(given) - {"name", "count", "capacity", "labels", "taints"})
    if unknown:
        raise ShapeError(f"{where}.{unknown[0]}: unknown field (allowed: name, count, capacity, labels, taints)")
    name, count = given.get("name"), given.get("count", 1)
    if not isinstance(name, str) or not name:
        raise ShapeError(f"{where}.name: is required")
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ShapeError(f"{where}.count: must be a whole number from 0, not {count!r}")
    capacity = {str(key): str(value) for key, value in (given.get("capacity") or {}).items()}
    for resource, amount in capacity.items():
        try:
            known = quantity.nanos(amount) >= 0
        except quantity.QuantityError:
            known = False
        if not known:
            raise ShapeError(f"{where}.capacity.{resource}: {amount!r} is not a quantity such as 4, 500m or 8Gi")
    return NodeGroup(name, count, capacity, dict(given.get("labels") or {}), tuple(given.get("taints") or ()))


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
