"""The pending workloads of one ClusterQueue: active heap, parking lot, the one in flight (spec/engine 5).

Each workload is in exactly one of the three. A parked one costs nothing per cycle; a bulk requeue moves all parked ones
back, and while a scheduling hash is remembered, workloads that carry it are parked unseen.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from worker_agent.api.meta import Key
from worker_agent.engine import conditions
from worker_agent.engine.policy import Policy
from worker_agent.engine.requeue_reason import IMMEDIATE, PARKS_ALIKE, STICKY, RequeueReason
from worker_agent.engine.workload_info import UNKNOWN_HASH, WorkloadRow


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


UsageOf = Callable[[Key], float | None]


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
        active: tuple[tuple[Order, WorkloadRow], ...],
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

    def orders(self) -> Iterator[Order]:
        yield from (order for order, _ in self._active)
        yield from (rank(row, self._sticky, self._usage.get(row.queue, 0.0)) for row in self._aside)

    def rows(self) -> Iterator[WorkloadRow]:
        yield from (row for _, row in self._active)
        yield from self._aside


class PendingQueue:
    """Not thread-safe; instants are int microseconds. ``pops`` and ``flushed_at`` count calls of ``heads``."""

    __slots__ = (
        "_active",
        "_by_hash",
        "_heap",
        "_policy",
        "failed_hashes",
        "flushed_at",
        "in_flight",
        "name",
        "parked",
        "sticky",
        "strict",
        "usage_of",
        "usage_version",
    )

    def __init__(self, name: str, strict: bool, policy: Policy) -> None:
        self.name = name
        self.strict = strict
        self._policy = policy
        self._heap: list[Order] = []
        self._active: dict[Key, tuple[Order, WorkloadRow]] = {}
        self._by_hash: dict[str, dict[Key, None]] = {}
        self.parked: dict[Key, WorkloadRow] = {}
        self.in_flight: WorkloadRow | None = None
        self.sticky: Sticky | None = None
        self.failed_hashes: dict[str, str] = {}
        """Scheduling hash -> reason with which a workload that carries it failed since the last bulk requeue."""
        self.flushed_at = -1
        self.usage_of: UsageOf | None = None
        """Usage of a LocalQueue; None while the queue does not admit by usage."""
        self.usage_version = 0

    def __len__(self) -> int:
        return len(self._active) + len(self.parked) + (self.in_flight is not None)

    @property
    def has_active(self) -> bool:
        return bool(self._active)

    def order(self, row: WorkloadRow) -> Order:
        return rank(row, self.sticky, self._usage(row.queue))

    def _usage(self, queue: Key) -> float:
        return 0.0 if self.usage_of is None else self.usage_of(queue) or 0.0

    def reorder(self, usage_of: UsageOf | None, version: int) -> None:
        """Rank the active workloads by the usage of now. Equal versions have equal usage."""
        if (usage_of is None) == (self.usage_of is None) and version == self.usage_version:
            return
        self.usage_of, self.usage_version = usage_of, version
        self._active = {key: (self.order(row), row) for key, (_, row) in self._active.items()}
        self._heap = [order for order, _ in self._active.values()]
        heapq.heapify(self._heap)

    def active(self) -> list[Key]:
        """In queue order."""
        return [order.key for order in sorted(order for order, _ in self._active.values())]

    def waiting(self) -> "Waiting":
        """All pending workloads at this instant."""
        flying = () if self.in_flight is None else (self.in_flight,)
        aside = (*self.parked.values(), *flying)
        usage = {} if self.usage_of is None else {queue: self._usage(queue) for queue in {r.queue for r in aside}}
        return Waiting(tuple(self._active.values()), aside, self.sticky, usage)

    def competing(self) -> list[tuple[Order, WorkloadRow]]:
        """The active workloads in queue order."""
        return sorted(self._active.values(), key=lambda item: item[0])

    def is_preemptor(self, row: WorkloadRow) -> bool:
        """Whether it waits for victims that it chose in the form it still has."""
        found = self.sticky
        return found is not None and found[:2] == (row.key, row.workload.metadata.generation)

    # -- arrivals and departures -----------------------------------------------------------------------------------

    def push(self, row: WorkloadRow, now: int) -> None:
        """Enter a workload, or take over its new version where it is."""
        row.queued_in = self.name
        if self.in_flight is not None and self.in_flight.key == row.key:
            return
        parked = self.parked.get(row.key)
        if parked is not None:
            if not self._changed(parked, row):
                self.parked[row.key] = row
                return
            del self.parked[row.key]
        if row.key not in self._active and (
            not conditions.backoff_over(row.workload, now) or row.hash in self.failed_hashes
        ):
            self.parked[row.key] = row
            return
        self._activate(row)

    def pop(self) -> WorkloadRow | None:
        """Take the head out; it is in flight until it is requeued or deleted."""
        while self._heap:
            order = heapq.heappop(self._heap)
            found = self._active.get(order.key)
            if found is not None and found[0] is order:
                row = found[1]
                self._deactivate(row.key)
                self.in_flight = row
                return row
        return None

    def delete(self, key: Key) -> None:
        """Forget a workload: admitted, gone or moved to another queue."""
        self.parked.pop(key, None)
        self._deactivate(key)
        if self.in_flight is not None and self.in_flight.key == key:
            self.in_flight = None
        if self.sticky is not None and self.sticky.key == key:
            self.sticky = None

    def requeue(self, row: WorkloadRow, reason: RequeueReason, now: int, pops: int) -> bool:
        """Give a head back after its cycle. ``pops`` is the count of ``heads`` calls so far.

        Returns whether it was entered; one that is there stays where it is, unless it may leave the parking lot.
        """
        if self.in_flight is not None and self.in_flight.key == row.key:
            self.in_flight = None
        row.queued_in = self.name
        if reason in STICKY:
            self._pin(Sticky(row.key, row.workload.metadata.generation, not self.strict))
        if row.key in self._active:
            return False
        if conditions.backoff_over(row.workload, now) and self._returns_at_once(row, reason, pops):
            self.parked.pop(row.key, None)
            self._activate(row)
        elif row.key in self.parked:
            return False
        else:
            self.parked[row.key] = row
        return True

    def park_alike(self, row: WorkloadRow, reason: RequeueReason, status_reason: str) -> None:
        """After a parked head: park every active workload with its hash, and those that come until a bulk requeue."""
        if self.strict or row.hash == UNKNOWN_HASH or reason not in PARKS_ALIKE or row.key not in self.parked:
            return
        self.failed_hashes[row.hash] = status_reason
        for key in list(self._by_hash.get(row.hash, ())):
            self.parked[key] = self._active[key][1]
            self._deactivate(key)

    def flush(self, now: int, pops: int, admissible: Callable[[WorkloadRow], bool]) -> bool:
        """Bulk requeue: everything parked that may compete becomes active. Returns whether anything moved."""
        self.flushed_at = pops
        self.failed_hashes.clear()
        moving = [r for r in self.parked.values() if admissible(r) and conditions.backoff_over(r.workload, now)]
        for row in moving:
            del self.parked[row.key]
            self._activate(row)
        return bool(moving)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _returns_at_once(self, row: WorkloadRow, reason: RequeueReason, pops: int) -> bool:
        immediate = reason != RequeueReason.NAMESPACE_MISMATCH if self.strict else reason in IMMEDIATE
        return immediate or self.flushed_at >= pops or (row.scan is not None and row.scan.pending_flavors)

    def _pin(self, sticky: Sticky) -> None:
        before = self.sticky
        self.sticky = sticky
        if before is not None and before.key != sticky.key and before.key in self._active:
            self._activate(self._active[before.key][1])

    def _activate(self, row: WorkloadRow) -> None:
        order = self.order(row)
        known = self._active.get(row.key)
        if known is not None and known[1].hash != row.hash:
            self._forget_hash(known[1])
        if known is not None and known[0] == order:
            order = known[0]
        else:
            heapq.heappush(self._heap, order)
        self._active[row.key] = (order, row)
        if row.hash != UNKNOWN_HASH:
            self._by_hash.setdefault(row.hash, {})[row.key] = None

    def _deactivate(self, key: Key) -> None:
        found = self._active.pop(key, None)
        if found is None:
            return
        self._forget_hash(found[1])
        # Entries of workloads that left stay in the heap until they surface; clear them out before they outnumber it.
        if len(self._heap) > 2 * len(self._active) + 64:
            self._heap = [order for order, _ in self._active.values()]
            heapq.heapify(self._heap)

    def _forget_hash(self, row: WorkloadRow) -> None:
        alike = self._by_hash.get(row.hash)
        if alike is not None:
            alike.pop(row.key, None)
            if not alike:
                del self._by_hash[row.hash]

    def _changed(self, old: WorkloadRow, new: WorkloadRow) -> bool:
        """Whether a parked workload changed in something that may make it admissible (spec/engine 5.8)."""
        before, after = old.workload, new.workload
        evaluated = self.sticky.generation if self.sticky is not None and self.sticky.key == new.key else None
        return (
            evaluated not in (None, after.metadata.generation)
            or before.spec != after.spec
            or old.priority != new.priority
            or before.status.reclaimable_pods != after.status.reclaimable_pods
            or before.condition("Evicted") != after.condition("Evicted")
            or before.condition("Requeued") != after.condition("Requeued")
            or conditions.closed_preemption_gate(before) != conditions.closed_preemption_gate(after)
        )
