"""The order of pending workloads in one queue (spec/engine 5.2 and 5.5)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from worker_agent.api.meta import Key
from worker_agent.engine.workload_info import WorkloadRow


class Order(NamedTuple):
    """Position in a queue: the least comes first."""

    usage: float
    """Of its LocalQueue, under admission fair sharing; precedes all else."""
    not_sticky: bool
    descending_priority: int
    time: int
    uid: str
    key: Key


class Sticky(NamedTuple):
    """The workload that waits for its victims. ``pins``: it stays on top (BestEffortFIFO only)."""

    key: Key
    generation: int
    pins: bool


def rank(row: WorkloadRow, sticky: Sticky | None, usage: float = 0.0) -> Order:
    pinned = sticky is not None and sticky.pins and sticky.key == row.key
    return Order(usage, not pinned, -row.priority, row.order_time, row.uid, row.key)


class Waiting:
    """The pending workloads of one queue at one instant: those that compete, the parked ones and the one in flight.

    Cheap to take, immutable, and sorted only by those who want it.
    """

    __slots__ = ("_active", "_aside", "_sticky", "_usage")

    def __init__(
        self,
        active: tuple[WorkloadRow, ...],
        aside: tuple[WorkloadRow, ...],
        sticky: Sticky | None,
        usage: Mapping[Key, float],
    ) -> None:
        self._active = active
        self._aside = aside
        self._sticky = sticky
        self._usage = usage

    def __len__(self) -> int:
        return len(self._active) + len(self._aside)

    @property
    def competing(self) -> int:
        """How many are in the active queue."""
        return len(self._active)

    def by_place(self) -> Iterator[tuple[bool, WorkloadRow]]:
        """Each row, and whether it competes."""
        yield from ((True, row) for row in self._active)
        yield from ((False, row) for row in self._aside)

    def orders(self) -> Iterator[Order]:
        return (rank(row, self._sticky, self._usage.get(row.queue, 0.0)) for row in self.rows())

    def rows(self) -> Iterator[WorkloadRow]:
        yield from self._active
        yield from self._aside
