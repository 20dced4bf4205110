"""NodeRoom: what is free on each node, kept up to date with every node and pod event.

A pod counts with its effective request from binding to termination. Pods that are promised but not bound yet (their
workload holds quota) are counted by ``capacity``.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from worker_agent.api import names, quantity
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node, Pod
from worker_agent.engine import pod_requests
from worker_agent.engine.pod_requests import PodRequests
from worker_agent.engine.resources import PODS, Requests

_ENDED = ("Succeeded", "Failed")
_PLACED_BY: Final = (
    names.REQUIRED_TOPOLOGY_ANNOTATION,
    names.PREFERRED_TOPOLOGY_ANNOTATION,
    names.UNCONSTRAINED_TOPOLOGY_ANNOTATION,
    names.SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
    names.SLICE_CONSTRAINTS_ANNOTATION,
)
"""A pod with any of these annotations was placed by its workload's topology assignment."""


class NodeRow:
    """One node. ``free`` may be negative where a node is overcommitted."""

    __slots__ = ("allocatable", "free", "ready", "view")

    def __init__(self, view: Node, used: Mapping[str, int]) -> None:
        self.view = view
        self.ready = not view.spec.unschedulable and not any(
            condition.type == "Ready" and condition.status != "True" for condition in view.status.conditions or ()
        )
        self.allocatable: Requests = _floored(view)
        self.free: Requests = {name: total - used.get(name, 0) for name, total in self.allocatable.items()}

    @property
    def labels(self) -> Mapping[str, str]:
        return self.view.metadata.labels or {}


def _floored(view: Node) -> Requests:
    """Allocatable in the engine's units, rounded down: part of a unit holds nothing."""
    result = {}
    for name, amount in (view.status.allocatable or {}).items():
        unit = 10**6 if name == quantity.CPU else 10**9
        result[name] = quantity.nanos(amount) // unit
    return result


class NodeRoom:
    """All nodes, and the bound pods by node."""

    __slots__ = ("_bound", "_used", "nodes", "owned", "touched", "unplaced")

    def __init__(self) -> None:
        self.nodes: dict[str, NodeRow] = {}
        self.owned: dict[str, int] = {}
        """Owner uid -> how many of its pods have been bound (ended ones included while they exist)."""
        self.unplaced: dict[str, Requests] = {}
        """Node -> what pods use there that no topology placed (of those that one placed, their workloads tell)."""
        self.touched: set[str] = set()
        """Nodes that may look different to topology placement since it last emptied this set."""
        self._bound: dict[Key, _Bound] = {}
        self._used: dict[str, Requests] = {}

    def put_node(self, view: Node) -> None:
        """Raises quantity.QuantityError."""
        name = view.metadata.name
        self.nodes[name] = NodeRow(view, self._used.get(name, {}))
        self.touched.add(name)

    def delete_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.touched.add(name)

    def put_pod(self, view: Pod) -> str:
        """The node on which a pod that no topology placed made room; empty for none. Raises quantity.QuantityError."""
        key = view.metadata.key
        node = view.spec.node_name
        requests: Requests = {}
        if node and view.status.phase not in _ENDED:
            requests = {**pod_requests.rounded(PodRequests(view.spec).effective()), PODS: 1}
        old = self._bound.get(key)
        freed = self.delete_pod(key)
        if node:
            controller = view.metadata.controller
            bound = _Bound(node, controller.uid if controller else "", requests, not _is_placed(view))
            self._bound[key] = bound
            self._count(bound, 1)
            if old is not None and old.node == node and _covers(requests, old.requests):
                return ""
        return freed

    def delete_pod(self, key: Key) -> str:
        """Returns what ``put_pod`` does."""
        bound = self._bound.pop(key, None)
        if bound is None:
            return ""
        self._count(bound, -1)
        return bound.node if bound.unplaced and bound.requests else ""

    def _count(self, bound: "_Bound", sign: int) -> None:
        if bound.owner:
            self.owned[bound.owner] = self.owned.get(bound.owner, 0) + sign
            if not self.owned[bound.owner]:
                del self.owned[bound.owner]
        row = self.nodes.get(bound.node)
        if row is not None:
            for name, amount in bound.requests.items():
                if name in row.free:
                    row.free[name] -= sign * amount
        _add(self._used, bound, sign)
        if bound.unplaced and bound.requests:
            _add(self.unplaced, bound, sign)
            self.touched.add(bound.node)


class _Bound(NamedTuple):
    """A pod on a node. ``unplaced``: not by a topology."""

    node: str
    owner: str
    requests: Requests
    unplaced: bool


def _covers(requests: Requests, before: Requests) -> bool:
    """Whether nothing became free."""
    return all(requests.get(name, 0) >= amount for name, amount in before.items())


def _is_placed(pod: Pod) -> bool:
    annotations = pod.metadata.annotations or {}
    return any(name in annotations for name in _PLACED_BY)


def _add(usage: dict[str, Requests], bound: _Bound, sign: int) -> None:
    used = usage.setdefault(bound.node, {})
    for name, amount in bound.requests.items():
        used[name] = used.get(name, 0) + sign * amount
        if not used[name]:
            del used[name]
    if not used:
        del usage[bound.node]
