"""PhysicalRoom: the free vectors of a cluster's nodes, and whether pods find their place in them.

Built by the agent from nodes for its report, and by the hub from the report; both ask the same questions. Vectors are
grouped by what is free, so a thousand equal nodes cost what one does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from worker_agent.api import quantity
from worker_agent.api.cluster_capacity import ClusterCapacity
from worker_agent.engine import resources
from worker_agent.engine.resources import PODS

_NO_BOUND: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Demand:
    """``count`` equal pods that run on nodes of one flavor; an empty flavor means any nodes of the cluster."""

    requests: Mapping[str, int]
    count: int
    flavor: str = ""


@dataclass(frozen=True, slots=True)
class FreeNodes:
    """``count`` nodes with the same ``free`` resources."""

    free: Mapping[str, int]
    count: int


class PhysicalRoom:
    """Free vectors by flavor. A flavor that was not reported is unknown and refuses nothing. Immutable to its users."""

    __slots__ = ("_flavors",)

    def __init__(self, capacity: ClusterCapacity | None = None) -> None:
        """From a ClusterCapacity; None knows nothing. Raises quantity.QuantityError."""
        self._flavors: dict[str, list[FreeNodes]] = {}
        for flavor in (capacity.status.flavors if capacity else None) or ():
            vectors = [FreeNodes(resources.parse(vector.free), vector.count) for vector in flavor.free_nodes or ()]
            self._flavors[flavor.flavor] = vectors

    @classmethod
    def of(cls, flavors: Mapping[str, Iterable[FreeNodes]]) -> "PhysicalRoom":
        room = cls()
        room._flavors = {name: list(vectors) for name, vectors in flavors.items()}
        return room

    def vectors(self, flavor: str) -> list[FreeNodes]:
        return list(self._flavors.get(flavor, ()))

    def fits(self, requests: Mapping[str, int], count: int, flavor: str = "") -> bool:
        """Whether ``count`` pods of this request find nodes at once."""
        return self.fits_all([Demand(requests, count, flavor)])

    def fits_all(self, demands: Iterable[Demand]) -> bool:
        """Whether all pods of a workload find nodes together; the largest pods choose first."""
        return self.after(demands) is not None

    def after(self, demands: Iterable[Demand]) -> "PhysicalRoom | None":
        """The room that is left when these pods have been placed; None when they do not all find a node."""
        left = {name: list(vectors) for name, vectors in self._flavors.items()}
        for demand in sorted(demands, key=_size, reverse=True):
            if not self._place(left, demand):
                return None
        return PhysicalRoom.of(left)

    def with_freed(self, demands: Iterable[Demand]) -> "PhysicalRoom":
        """The room with that of pods that have ended added. On which nodes they ran is not known: each leaves a place
        of its own size, which is less than what a larger pod might find there."""
        room = {name: list(vectors) for name, vectors in self._flavors.items()}
        for demand in demands:
            if demand.flavor in room and demand.count > 0:
                room[demand.flavor].append(FreeNodes({PODS: 1, **demand.requests}, demand.count))
        return PhysicalRoom.of(room)

    def largest_gang(self, requests: Mapping[str, int], flavor: str) -> int:
        """The most pods of this request that fit onto the flavor's nodes at once."""
        return sum(vector.count * pods_on(vector.free, requests) for vector in self._flavors.get(flavor, ()))

    def _place(self, left: dict[str, list[FreeNodes]], demand: Demand) -> bool:
        if not left or (demand.flavor and demand.flavor not in left) or demand.count <= 0:
            return True
        candidates = [demand.flavor] if demand.flavor else list(left)
        for flavor in candidates:
            rest = _placed(left[flavor], demand.requests, demand.count)
            if rest is not None:
                left[flavor] = rest
                return True
        return False


def _size(demand: Demand) -> tuple[int, ...]:
    return tuple(demand.requests.get(name, 0) for name in ("nvidia.com/gpu", quantity.CPU, "memory"))


def pods_on(free: Mapping[str, int], requests: Mapping[str, int]) -> int:
    """Pods that fit on one node; the node must have every resource that is asked for."""
    asked = [free.get(name, 0) // amount for name, amount in requests.items() if amount > 0]
    if PODS not in requests and PODS in free:
        asked.append(free[PODS])
    return max(0, min(asked, default=_NO_BOUND))


def _placed(vectors: list[FreeNodes], requests: Mapping[str, int], count: int) -> list[FreeNodes] | None:
    """The vectors after ``count`` pods took the tightest nodes first; None when they do not all fit."""
    order = sorted(vectors, key=lambda vector: pods_on(vector.free, requests))
    rest: list[FreeNodes] = []
    for index, vector in enumerate(order):
        each = pods_on(vector.free, requests)
        if not each or not count:
            rest.append(vector)
            continue
        full = min(vector.count, count // each)
        count -= full * each
        last = count if full < vector.count else 0
        count -= last
        _append(rest, vector.free, requests, each, full)
        _append(rest, vector.free, requests, last, 1 if last else 0)
        _append(rest, vector.free, requests, 0, vector.count - full - (1 if last else 0))
        if not count:
            return rest + order[index + 1 :]
    return None if count else rest


def _append(rest: list[FreeNodes], free: Mapping[str, int], requests: Mapping[str, int], pods: int, nodes: int) -> None:
    if nodes:
        taken = {**{name: amount * pods for name, amount in requests.items()}, PODS: pods}
        rest.append(FreeNodes({name: amount - taken.get(name, 0) for name, amount in free.items()}, nodes))
