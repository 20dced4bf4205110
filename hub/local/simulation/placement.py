"""Where a pod fits: nodes with what is free on them, and the reasons of those that do not take it.

Filters run in the order of the real scheduler and each node names the first that refuses; among nodes that fit, the
one with the largest free share wins (LeastAllocated), so that pods spread.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from worker_agent.api import quantity
from worker_agent.api.document import Document
from worker_agent.api.pod import Node, PodSpec, Taint
from worker_agent.api.selectors import SelectorError
from worker_agent.engine import pod_requests, selection
from worker_agent.engine.pod_requests import PodRequests

PODS = "pods"

Amounts = dict[str, int]
"""Milli-cpu, and whole units of everything else."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one pod asks of a node. Equal ``signature`` = no node can tell them apart."""

    spec: PodSpec
    requests: Mapping[str, int]
    signature: str

    @classmethod
    def of(cls, spec: PodSpec) -> "Demand":
        """Raises quantity.QuantityError for a request that is no quantity."""
        pod = PodRequests(spec)
        pod.limits_become_requests()
        requests = pod_requests.rounded(pod.effective(), (), None) | {PODS: 1}
        told = (sorted(requests.items()), spec.node_selector, spec.affinity, spec.tolerations)
        return cls(spec, requests, repr(told))


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """No node takes the pod; ``message`` as the real scheduler words it."""

    message: str


@dataclass(slots=True)
class NodeRoom:
    """A node and what is free on it."""

    name: str
    labels: Mapping[str, str]
    taints: list[Taint]
    unschedulable: bool
    ready: bool
    allocatable: Amounts
    used: Amounts = field(default_factory=dict)

    def free(self, resource: str) -> int:
        return self.allocatable.get(resource, 0) - self.used.get(resource, 0)

    def refusal(self, demand: Demand) -> str:
        """The first reason against the pod; empty if it fits."""
        if self.unschedulable and not self._tolerates_unschedulable(demand):
            return "node(s) were unschedulable"
        if not self.ready:
            return "node(s) were not ready"
        if selection.untolerated(self.taints, demand.spec.tolerations or ()) is not None:
            return "node(s) had untolerated taint(s)"
        try:
            wanted = selection.matches_nodes(demand.spec, self.labels)
        except SelectorError:
            wanted = False
        if not wanted:
            return "node(s) didn't match Pod's node affinity/selector"
        for resource, amount in demand.requests.items():
            if amount > 0 and amount > self.free(resource):
                return "Too many pods" if resource == PODS else f"Insufficient {resource}"
        return ""

    def free_share(self, demand: Demand) -> float:
        """Mean share of cpu and memory that stays free with the pod on it."""
        shares = [
            (self.free(resource) - demand.requests.get(resource, 0)) / self.allocatable[resource]
            for resource in ("cpu", "memory")
            if self.allocatable.get(resource)
        ]
        return sum(shares) / len(shares) if shares else 0.0

    def _tolerates_unschedulable(self, demand: Demand) -> bool:
        taint = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
        return selection.untolerated([taint], demand.spec.tolerations or ()) is None


class Room:
    """All nodes, and where pods are. Pods may come before their node."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeRoom] = {}
        self._pods: dict[str, tuple[str, Mapping[str, int]]] = {}

    def put_node(self, node: Node) -> None:
        allocatable = {
            resource: quantity.value(resource, amount) for resource, amount in (node.status.allocatable or {}).items()
        }
        name = node.metadata.name
        known = self._nodes.get(name)
        if known is None:
            used = _sum(requests for place, requests in self._pods.values() if place == name)
        else:
            used = known.used
        labels = node.metadata.labels or {}
        self._nodes[name] = NodeRoom(
            name, labels, node.spec.taints or [], node.spec.unschedulable, is_ready(node), allocatable, used
        )

    def remove_node(self, name: str) -> None:
        self._nodes.pop(name, None)

    def place(self, uid: str, node: str, requests: Mapping[str, int]) -> None:
        """The pod is, or is about to be, on ``node``."""
        self.lift(uid)
        self._pods[uid] = (node, requests)
        if node in self._nodes:
            _add(self._nodes[node].used, requests, 1)

    def lift(self, uid: str) -> bool:
        """The pod is on no node any more; whether it was."""
        place = self._pods.pop(uid, None)
        if place is not None and place[0] in self._nodes:
            _add(self._nodes[place[0]].used, place[1], -1)
        return place is not None

    def node(self, name: str) -> NodeRoom:
        """Raises KeyError where there is no such node."""
        return self._nodes[name]

    def place_of(self, uid: str) -> str:
        """The node that a pod is on, empty for none."""
        place = self._pods.get(uid)
        return "" if place is None else place[0]

    def choose(self, demand: Demand) -> str | Unschedulable:
        """The node for a pod, or why there is none."""
        if not self._nodes:
            return Unschedulable("no nodes available to schedule pods")
        reasons: Counter[str] = Counter()
        fitting: list[NodeRoom] = []
        for node in self._nodes.values():
            reason = node.refusal(demand)
            if reason:
                reasons[reason] += 1
            else:
                fitting.append(node)
        if fitting:
            return max(fitting, key=lambda node: (node.free_share(demand), node.name)).name
        told = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        return Unschedulable(f"0/{len(self._nodes)} nodes are available: {told}.")


def is_ready(node: Node) -> bool:
    """Whether the node's kubelet answers; a node that says nothing about it does."""
    return all(condition.status == "True" for condition in node.status.conditions or () if condition.type == "Ready")


def is_schedulable(pod: Document) -> bool:
    """Whether the pod waits for the default scheduler: not bound, not gated, not ending."""
    spec = pod.get("spec") or {}
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName", "default-scheduler") == "default-scheduler"
        and not pod["metadata"].get("deletionTimestamp")
        and (pod.get("status") or {}).get("phase", "Pending") == "Pending"
    )


def _add(used: Amounts, requests: Mapping[str, int], sign: int) -> None:
    for resource, amount in requests.items():
        used[resource] = used.get(resource, 0) + sign * amount


def _sum(vectors: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for requests in vectors:
        _add(total, requests, 1)
    return total
