"""Who holds quota in a ClusterQueue, in the order in which they would be preempted (spec/engine 10.1 and 10.3).

The lists are kept, not made: one per FlavorResource that somebody asked for, each workload entered where it belongs
when it takes quota. A search cuts the part that a policy allows out of them and sorts nothing.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key
from typing import Final, NamedTuple

from worker_agent.api.meta import Key
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.workload_info import WorkloadRow

NEVER: Final = "Never"
LOWER_PRIORITY: Final = "LowerPriority"
LOWER_OR_NEWER: Final = "LowerOrNewerEqualPriority"


class Ranked(NamedTuple):
    """Where a workload stands among the candidates of its ClusterQueue: the least is preempted first.

    Known by its identity, and compared with shorter tuples to find where a part of a list begins.
    """

    running: bool
    """Evicted ones come first."""
    priority: int
    newest_first: int
    """Minus the time of reservation."""
    uid: str
    key: Key
    row: WorkloadRow


_HIGHEST: Final = 1 << 62


def ranked(row: WorkloadRow) -> Ranked:
    """Where the row stands among the candidates of one ClusterQueue."""
    return Ranked(not row.evicted, row.priority, -row.reserved_at, row.uid, row.key, row)


UsageOf = Callable[[Key], float | None]
"""The usage of a LocalQueue under admission fair sharing; None where it is not known (spec/engine 12.3)."""


def in_order(rows: Iterable[WorkloadRow], own_queue: str, usage: UsageOf | None = None) -> list[WorkloadRow]:
    """Candidates of several ClusterQueues as the reference sorts them, seen from ``own_queue``.

    With usage of LocalQueues the relation is no total order (it compares within one ClusterQueue only), hence a
    comparison and no key.
    """
    if usage is None:
        return sorted(rows, key=lambda row: _key(row, own_queue))
    known = usage

    def compare(a: WorkloadRow, b: WorkloadRow) -> int:
        if a.evicted == b.evicted and a.reserved_in == b.reserved_in and a.queue.name != b.queue.name:
            mine, theirs = known(a.queue), known(b.queue)
            if mine is not None and theirs is not None and mine != theirs:
                return -1 if mine > theirs else 1
        left, right = _key(a, own_queue), _key(b, own_queue)
        return (left > right) - (left < right)

    return sorted(rows, key=cmp_to_key(compare))


def _key(row: WorkloadRow, own_queue: str) -> tuple[bool, bool, int, int, str, Key]:
    return (not row.evicted, row.reserved_in == own_queue, row.priority, -row.reserved_at, row.uid, row.key)


class Eligible(NamedTuple):
    """Candidates that a policy allows, each part in order; evicted ones still hold their quota."""

    evicted: list[Ranked]
    running: list[Ranked]

    def __bool__(self) -> bool:
        return bool(self.evicted or self.running)


NOBODY: Final = Eligible([], [])


class CandidateLists:
    """All workloads that hold quota in one ClusterQueue, in order, per FlavorResource that was ever asked for."""

    __slots__ = ("_lists", "_ranks")

    def __init__(self) -> None:
        self._ranks: dict[Key, Ranked] = {}
        self._lists: dict[FlavorResource, list[Ranked]] = {}

    def add(self, row: WorkloadRow) -> None:
        rank = self._ranks[row.key] = ranked(row)
        for fr in row.usage:
            if fr in self._lists:
                insort(self._lists[fr], rank)

    def discard(self, row: WorkloadRow) -> None:
        rank = self._ranks.pop(row.key, None)
        if rank is None:
            return
        for fr in rank.row.usage:
            found = self._lists.get(fr)
            if found is not None:
                place = bisect_left(found, rank)
                if place < len(found) and found[place] is rank:
                    del found[place]

    def using(self, fr: FlavorResource) -> list[Ranked]:
        """Everyone with an assignment of this flavor to this resource. Not to be changed by the caller."""
        found = self._lists.get(fr)
        if found is None:
            found = self._lists[fr] = sorted(rank for rank in self._ranks.values() if fr in rank.row.usage)
        return found

    def any_eligible(
        self, frs: Iterable[FlavorResource], policy: str, preemptor: WorkloadRow, present: Mapping[Key, WorkloadRow]
    ) -> bool:
        """Whether ``eligible`` finds anybody; no list is cut where the least ones tell."""
        if policy == NEVER:
            return False
        if policy != LOWER_OR_NEWER and len(present) == len(self._ranks):
            return any(_least_allowed(self.using(fr), policy, preemptor) for fr in frs)
        return bool(self.eligible(frs, policy, preemptor, present))

    def eligible(
        self, frs: Iterable[FlavorResource], policy: str, preemptor: WorkloadRow, present: Mapping[Key, WorkloadRow]
    ) -> Eligible:
        """Those that use one of the FlavorResources and may be preempted for ``preemptor`` under ``policy``.

        ``present``: those that a trial has not taken out (victims of other entries of the cycle are no candidates).
        """
        if policy == NEVER:
            return NOBODY
        parts = [_allowed(self.using(fr), policy, preemptor) for fr in frs]
        found = parts[0]
        if len(parts) > 1:
            found = Eligible(_union(part.evicted for part in parts), _union(part.running for part in parts))
        if len(present) == len(self._ranks):
            return found
        return Eligible(*([rank for rank in part if rank.row.key in present] for part in found))


def _least_allowed(everyone: list[Ranked], policy: str, preemptor: WorkloadRow) -> bool:
    """Whether the first of the evicted, or of the running ones, may be preempted; all others rank behind them."""
    if not everyone:
        return False
    if policy != LOWER_PRIORITY or everyone[0].priority < preemptor.priority:
        return True
    if everyone[0].running:
        return False
    split = bisect_left(everyone, (True,))
    return split < len(everyone) and everyone[split].priority < preemptor.priority


def _allowed(everyone: list[Ranked], policy: str, preemptor: WorkloadRow) -> Eligible:
    split = bisect_left(everyone, (True,))
    return Eligible(
        _part(everyone, 0, split, policy, preemptor), _part(everyone, split, len(everyone), policy, preemptor)
    )


def _part(everyone: list[Ranked], start: int, end: int, policy: str, preemptor: WorkloadRow) -> list[Ranked]:
    """The allowed ones of a slice whose members are all evicted, or all not."""
    if start == end or policy not in (LOWER_PRIORITY, LOWER_OR_NEWER):
        return everyone[start:end]
    running = everyone[start].running
    lower = bisect_left(everyone, (running, preemptor.priority), start, end)
    if policy == LOWER_PRIORITY:
        return everyone[start:lower]
    equal = bisect_left(everyone, (running, preemptor.priority, _HIGHEST), lower, end)
    newer = [rank for rank in everyone[lower:equal] if preemptor.order_time < rank.row.order_time]
    return everyone[start:lower] + newer


def _union(parts: Iterable[list[Ranked]]) -> list[Ranked]:
    """Sorted lists in one, each workload once."""
    merged = sorted(rank for part in parts for rank in part)
    return [rank for place, rank in enumerate(merged) if place == 0 or rank is not merged[place - 1]]
