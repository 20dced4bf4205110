"""KnownCounts: counts that are brought up to date instead of made anew, for equal requests of one cycle.

Fifty heads that ask for the same racks differ by the few hosts that each took from the one before it. A change of the
room, and a roll-back of one, leaves the changed leaves in the room's log; only those are counted again, and their
domains with them.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from worker_agent.engine.tas import counting
from worker_agent.engine.tas.ask import Placing, PodSetAsk
from worker_agent.engine.tas.cells import Cells
from worker_agent.engine.tas.counting import Counts
from worker_agent.engine.tas.tree import Ints, TopologyTree


class _Known(NamedTuple):
    counts: Counts
    cells: Cells
    until: int
    """How much of the log the counts reflect."""


class KnownCounts:
    """Treat what it returns as frozen, and done with at the next call."""

    __slots__ = ("_known", "_placings")

    def __init__(self) -> None:
        self._known: dict[Hashable, _Known] = {}
        self._placings: dict[tuple[int, int, str], tuple[PodSetAsk, Placing]] = {}

    def placing(self, ask: PodSetAsk, leaders: int, room: str, resolved: Callable[[], Placing]) -> Placing:
        """What ``resolved`` says of the ask and the flavor's levels, worked out once."""
        key = (id(ask), leaders, room)
        found = self._placings.get(key)
        if found is None:
            found = self._placings[key] = (ask, resolved())
        return found[1]

    def current(
        self,
        key: Hashable,
        place: tuple[TopologyTree, Cells],
        placing: Placing,
        count: Callable[[Ints], Ints],
        afresh: Callable[[], Counts],
    ) -> Counts:
        """Counts of requests that ``key`` names; ``count(leaves)``: pods that fit there now."""
        tree, cells = place
        known = self._known.get(key)
        changed = None if known is None or known.cells is not cells else cells.changed_since(known.until)
        if known is None or changed is None:
            counts = afresh()
        else:
            counts = known.counts
            if len(changed):
                counting.recount(tree, counts, placing, changed, count(changed))
        self._known[key] = _Known(counts, cells, cells.written)
        return counts
