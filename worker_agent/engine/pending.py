"""The pending workloads of one ClusterQueue: active ones, parking lot, the one in flight (spec/engine 5).

Each workload is in exactly one of the three. A parked one costs nothing per cycle; a bulk requeue moves all parked ones
back, and while a scheduling hash is remembered, workloads that carry it are parked unseen. Workloads that fare alike
are parked and woken as one ``Crowd``: the cost of both follows the kinds of workloads, not their number.
"""

import heapq
from collections.abc import Callable, Iterator

from worker_agent.api.meta import Key
from worker_agent.engine import conditions
from worker_agent.engine.crowd import Crowd
from worker_agent.engine.policy import Policy
from worker_agent.engine.queue_order import Order, Sticky, Waiting, rank
from worker_agent.engine.requeue_reason import IMMEDIATE, PARKS_ALIKE, STICKY, RequeueReason
from worker_agent.engine.workload_info import UNKNOWN_HASH, WorkloadRow

UsageOf = Callable[[Key], float | None]

_NEVER = -(1 << 62)
"""Before all instants: a backoff that is over then is none."""


class PendingQueue:
    """Not thread-safe; instants are int microseconds. ``pops`` and ``flushed_at`` count calls of ``heads``."""

    __slots__ = (
        "_aside",
        "_by_hash",
        "_crowds",
        "_heap",
        "_home",
        "_numbers",
        "_parked_crowds",
        "_policy",
        "active_count",
        "failed_hashes",
        "flushed_at",
        "in_flight",
        "name",
        "sticky",
        "strict",
        "usage_of",
        "usage_version",
    )

    def __init__(self, name: str, strict: bool, policy: Policy) -> None:
        self.name = name
        self.strict = strict
        self._policy = policy
        self._crowds: dict[object, Crowd] = {}
        self._by_hash: dict[str, dict[Crowd, None]] = {}
        self._home: dict[Key, Crowd] = {}
        """The crowd of each active workload, and of each that was parked with its crowd."""
        self._parked_crowds: dict[Crowd, None] = {}
        self._aside: dict[Key, WorkloadRow] = {}
        """Workloads parked for a reason of their own."""
        self._heap: list[tuple[Order, int, Crowd]] = []
        """The first of each active crowd; void where the number is not the crowd's."""
        self._numbers = 0
        self.active_count = 0
        self.in_flight: WorkloadRow | None = None
        self.sticky: Sticky | None = None
        self.failed_hashes: dict[str, str] = {}
        """Scheduling hash -> reason with which a workload that carries it failed since the last bulk requeue."""
        self.flushed_at = -1
        self.usage_of: UsageOf | None = None
        """Usage of a LocalQueue; None while the queue does not admit by usage."""
        self.usage_version = 0

    def __len__(self) -> int:
        return len(self._home) + len(self._aside) + (self.in_flight is not None)

    @property
    def has_active(self) -> bool:
        return self.active_count > 0

    @property
    def parked(self) -> dict[Key, WorkloadRow]:
        """All parked workloads."""
        crowds = (row for crowd in self._parked_crowds for _, row in crowd.rows.values())
        return {**self._aside, **{row.key: row for row in crowds}}

    def order(self, row: WorkloadRow) -> Order:
        return rank(row, self.sticky, self._usage(row.queue))

    def _usage(self, queue: Key) -> float:
        return 0.0 if self.usage_of is None else self.usage_of(queue) or 0.0

    def reorder(self, usage_of: UsageOf | None, version: int) -> None:
        """Rank the active workloads by the usage of now. Equal versions have equal usage."""
        if (usage_of is None) == (self.usage_of is None) and version == self.usage_version:
            return
        self.usage_of, self.usage_version = usage_of, version
        self._heap = []
        for crowd in list(self._crowds.values()):
            if not crowd.parked:
                self._compete(crowd)

    def _active_rows(self) -> Iterator[WorkloadRow]:
        return (row for crowd in self._crowds.values() if not crowd.parked for _, row in crowd.rows.values())

    def active(self) -> list[Key]:
        """In queue order."""
        return [order.key for order, _ in self.competing()]

    def waiting(self) -> Waiting:
        """All pending workloads at this instant."""
        flying = () if self.in_flight is None else (self.in_flight,)
        active, aside = tuple(self._active_rows()), (*self.parked.values(), *flying)
        queues = set() if self.usage_of is None else {row.queue for row in (*active, *aside)}
        return Waiting(active, aside, self.sticky, {queue: self._usage(queue) for queue in queues})

    def competing(self) -> list[tuple[Order, WorkloadRow]]:
        """The active workloads in queue order."""
        return sorted(((self.order(row), row) for row in self._active_rows()), key=lambda item: item[0])

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
        parked = self._parked_version(row.key)
        if parked is not None:
            if not self._changed(parked, row):
                self._replace_parked(row)
                return
            self._take_out(row.key)
        if row.key not in self._home and not conditions.backoff_over(row.workload, now):
            self._aside[row.key] = row
        elif row.key not in self._home and row.hash in self.failed_hashes:
            self._park(row)
        else:
            self._activate(row)

    def pop(self) -> WorkloadRow | None:
        """Take the head out; it is in flight until it is requeued or deleted."""
        while self._heap:
            order, number, crowd = self._heap[0]
            if crowd.number == number:
                self.in_flight = crowd.rows[order.key][1]
                self._take_out(order.key)
                return self.in_flight
            heapq.heappop(self._heap)
        return None

    def delete(self, key: Key) -> None:
        """Forget a workload: admitted, gone or moved to another queue."""
        self._take_out(key)
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
        home = self._home.get(row.key)
        if home is not None and not home.parked:
            return False
        if conditions.backoff_over(row.workload, now) and self._returns_at_once(row, reason, pops):
            self._take_out(row.key)
            self._activate(row)
        elif home is not None or row.key in self._aside:
            return False
        else:
            self._aside[row.key] = row
        return True

    def park_alike(self, row: WorkloadRow, reason: RequeueReason, status_reason: str) -> None:
        """After a parked head: park every active workload with its hash, and those that come until a bulk requeue."""
        if self.strict or row.hash == UNKNOWN_HASH or reason not in PARKS_ALIKE:
            return
        if self._parked_version(row.key) is None:
            return
        self.failed_hashes[row.hash] = status_reason
        for crowd in self._by_hash.get(row.hash, ()):
            if not crowd.parked:
                self._park_crowd(crowd)
        if row.key in self._aside and conditions.backoff_over(row.workload, _NEVER):
            del self._aside[row.key]
            self._park(row)

    def flush(self, now: int, pops: int, admissible: Callable[[WorkloadRow], bool]) -> bool:
        """Bulk requeue: everything parked that may compete becomes active. Returns whether anything moved."""
        self.flushed_at = pops
        self.failed_hashes.clear()
        crowds = [crowd for crowd in self._parked_crowds if admissible(crowd.any_row())]
        for crowd in crowds:
            self._wake(crowd)
        moving = [r for r in self._aside.values() if admissible(r) and conditions.backoff_over(r.workload, now)]
        for row in moving:
            del self._aside[row.key]
            self._activate(row)
        return bool(moving or crowds)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _returns_at_once(self, row: WorkloadRow, reason: RequeueReason, pops: int) -> bool:
        immediate = reason != RequeueReason.NAMESPACE_MISMATCH if self.strict else reason in IMMEDIATE
        return immediate or self.flushed_at >= pops or (row.scan is not None and row.scan.pending_flavors)

    def _pin(self, sticky: Sticky) -> None:
        before = self.sticky
        self.sticky = sticky
        home = self._home.get(before.key) if before is not None and before.key != sticky.key else None
        if before is not None and home is not None:
            self._enter(home, home.rows[before.key][1])

    def _activate(self, row: WorkloadRow) -> None:
        """Let it compete, with its crowd; alone where the crowd is parked."""
        place = _place(row)
        crowd = self._crowds.get(place)
        if crowd is not None and crowd.parked:
            place = row.key
        home = self._home.get(row.key)
        if home is not None and home.place != place:
            self._take_out(row.key)
        self._enter(self._crowd_at(place, row), row)

    def _park(self, row: WorkloadRow) -> None:
        """Into the parking lot with all that fare alike."""
        crowd = self._crowd_at(_place(row), row)
        if not crowd.parked:
            self._park_crowd(crowd)
        self._enter(crowd, row)

    def _crowd_at(self, place: object, row: WorkloadRow) -> Crowd:
        crowd = self._crowds.get(place)
        if crowd is None:
            crowd = self._crowds[place] = Crowd(place, row)
            self._by_hash.setdefault(row.hash, {})[crowd] = None
        return crowd

    def _enter(self, crowd: Crowd, row: WorkloadRow) -> None:
        before = crowd.best()
        if row.key not in crowd.rows and not crowd.parked:
            self.active_count += 1
        self._home[row.key] = crowd
        crowd.add(rank(row, self.sticky), row)
        if not crowd.parked and crowd.best() is not before:
            self._compete(crowd)

    def _take_out(self, key: Key) -> None:
        """Out of its crowd and out of the parking lot, wherever it is."""
        self._aside.pop(key, None)
        crowd = self._home.pop(key, None)
        if crowd is None:
            return
        before = crowd.best()
        crowd.remove(key)
        if not crowd.parked:
            self.active_count -= 1
            if crowd.best() is not before:
                self._compete(crowd)
        if not crowd.rows:
            self._parked_crowds.pop(crowd, None)
            del self._crowds[crowd.place]
            del self._by_hash[crowd.hash][crowd]
            if not self._by_hash[crowd.hash]:
                del self._by_hash[crowd.hash]

    def _compete(self, crowd: Crowd) -> None:
        """The crowd's first member stands for it from now on."""
        best = crowd.best()
        self._numbers += 1
        crowd.number = self._numbers if best is not None else 0
        if best is not None:
            usage = self._usage(crowd.queue)
            entry = best._replace(usage=usage) if usage else best
            heapq.heappush(self._heap, (entry, crowd.number, crowd))
        if len(self._heap) > 2 * len(self._crowds) + 64:
            self._heap = [entry for entry in self._heap if entry[2].number == entry[1]]
            heapq.heapify(self._heap)

    def _park_crowd(self, crowd: Crowd) -> None:
        crowd.parked, crowd.number = True, 0
        self._parked_crowds[crowd] = None
        self.active_count -= len(crowd.rows)

    def _wake(self, crowd: Crowd) -> None:
        crowd.parked = False
        del self._parked_crowds[crowd]
        self.active_count += len(crowd.rows)
        self._compete(crowd)

    def _parked_version(self, key: Key) -> WorkloadRow | None:
        """The workload as it was parked; None while it is not."""
        found = self._aside.get(key)
        home = self._home.get(key)
        if found is None and home is not None and home.parked:
            found = home.rows[key][1]
        return found

    def _replace_parked(self, row: WorkloadRow) -> None:
        if row.key in self._aside:
            self._aside[row.key] = row
        else:
            self._home[row.key].add(rank(row, self.sticky), row)

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


def _place(row: WorkloadRow) -> object:
    """Equal for workloads that fare alike in a queue; a workload without hash is alone."""
    return row.key if row.hash == UNKNOWN_HASH else (row.hash, row.key.namespace, row.queue)
