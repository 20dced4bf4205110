"""NodeSizes: which pods the nodes of a flavor could hold if they were empty.

Free room comes and goes; a pod that is larger than the largest node never runs. Built by the agent from nodes for its
report, and by the hub from the report.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from worker_agent.api.cluster_capacity import ClusterCapacity
from worker_agent.engine import resources
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.node_room import NodeRow
from worker_agent.engine.physical_room import FreeNodes, pods_on

MOST: Final = 8
"""Sizes told of one flavor; nodes come in few sizes of which none is smaller than another in everything."""


class NodeSizes:
    """By flavor. One that was not reported, or has no nodes now, is unknown and refuses nothing. Immutable."""

    __slots__ = ("_flavors",)

    def __init__(self, capacity: ClusterCapacity | None = None) -> None:
        """From a ClusterCapacity; None knows nothing. Raises quantity.QuantityError."""
        self._flavors: dict[str, list[dict[str, int]]] = {
            flavor.flavor: [resources.parse(vector.free) for vector in flavor.largest_nodes]
            for flavor in (capacity.status.flavors if capacity else None) or ()
            if flavor.largest_nodes
        }

    def holds(self, requests: Mapping[str, int], flavor: str) -> bool:
        """Whether some node of the flavor could hold one pod of this request, were it empty."""
        sizes = self._flavors.get(flavor)
        return sizes is None or any(pods_on(size, requests) > 0 for size in sizes)


def largest(flavor: FlavorRow, nodes: Iterable[NodeRow], most: int = MOST) -> list[FreeNodes]:
    """Allocatable of the nodes with the flavor's labels, without those that another one exceeds.

    Busy, cordoned, broken and tainted ones count too: that passes, and pods may tolerate taints of which the flavor
    knows nothing. Beyond ``most`` sizes the rest is merged upwards: what is ruled out by them is ruled out.
    """
    sizes = {
        tuple(sorted(node.allocatable.items()))
        for node in nodes
        if all(node.labels.get(key) == value for key, value in flavor.labels.items())
    }
    maximal = [dict(size) for size in sizes if not any(_exceeds(other, size) for other in sizes)]
    maximal.sort(key=lambda size: sorted(size.items()), reverse=True)
    return merged([FreeNodes(size, 1) for size in maximal], most)


def merged(sizes: Sequence[FreeNodes], most: int) -> list[FreeNodes]:
    """At most so many sizes; the last stands for all that are left out."""
    if len(sizes) <= most:
        return list(sizes)
    return [*sizes[: most - 1], FreeNodes(_upper_bound([size.free for size in sizes[most - 1 :]]), 1)]


def _exceeds(one: tuple[tuple[str, int], ...], other: tuple[tuple[str, int], ...]) -> bool:
    if one == other:
        return False
    amounts = dict(one)
    return all(amounts.get(name, 0) >= amount for name, amount in other)


def _upper_bound(sizes: Sequence[Mapping[str, int]]) -> dict[str, int]:
    bound: dict[str, int] = {}
    for size in sizes:
        for name, amount in size.items():
            bound[name] = max(bound.get(name, 0), amount)
    return bound
