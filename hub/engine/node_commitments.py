"""Pods that a worker's last report of its nodes cannot know of yet: those of workloads sent there since, and those that
have ended since."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from worker_agent.api.cluster_capacity import ClusterCapacity
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.engine.physical_room import Demand, PhysicalRoom
from worker_agent.engine.workload_info import WorkloadRow

REPORT_LAG: Final = timedelta(seconds=1)
"""A report may be older than it says: it is put together from what the agent's own watches had brought by then."""


@dataclass(frozen=True, slots=True)
class _Commitment:
    demands: tuple[Demand, ...]
    since: datetime
    shown: bool = False
    """The worker's object holds the quota: from the next report on the report counts it."""
    reports: int = 0
    """Reports that came since it was shown."""

    def is_counted(self, reported_before: datetime) -> bool:
        """Whether the newest report counts it. The second report after it does, whatever the clocks say."""
        return self.since <= reported_before or self.reports > 1


class NodeCommitments:
    """Room on one worker's nodes: its last report less what was sent there after it."""

    def __init__(self) -> None:
        self._reported: PhysicalRoom | None = None
        self._left: PhysicalRoom | None = None
        self._open: dict[Key, _Commitment] = {}
        self._freed: dict[Key, _Commitment] = {}
        self.changes = 0
        """How often what is left of the nodes was worked out anew."""

    def report(self, capacity: ClusterCapacity | None) -> None:
        """Take over a report; workloads that it can have counted are counted by it alone. Raises QuantityError."""
        self._reported = PhysicalRoom(capacity) if capacity is not None else None
        at = capacity.status.reported_at if capacity is not None else None
        if at is not None:
            self._open = _uncounted(self._open, at - REPORT_LAG)
            self._freed = _uncounted(self._freed, at - REPORT_LAG)
        self._settle()

    def commit(self, key: Key, demands: tuple[Demand, ...], now: datetime) -> None:
        self._open[key] = _Commitment(demands, now)
        self._settle()

    def shown(self, key: Key, now: datetime) -> None:
        """The worker's own object holds the quota now."""
        found = self._open.get(key)
        if found is not None and not found.shown:
            self._open[key] = _Commitment(found.demands, now, shown=True)

    def release(self, key: Key) -> None:
        if self._open.pop(key, None) is not None:
            self._settle()

    def ended(self, key: Key, demands: tuple[Demand, ...], now: datetime) -> None:
        """The pods of a workload there run no more: their room is free before a report says so."""
        if self._open.pop(key, None) is None:
            self._freed[key] = _Commitment(demands, now, shown=True)
        self._settle()

    def fits(self, demands: Iterable[Demand]) -> bool:
        """Whether the pods find nodes at once; where nothing is known of nodes they do."""
        return self._left is None or self._left.fits_all(demands)

    def _settle(self) -> None:
        self.changes += 1
        left = self._reported
        for freed in self._freed.values():
            left = left.with_freed(freed.demands) if left is not None else None
        for commitment in self._open.values():
            # Where they do not all fit, the report is older than what came after it; the rest stays as it is.
            left = left.after(commitment.demands) or left if left is not None else None
        self._left = left


def _uncounted(known: dict[Key, _Commitment], reported_before: datetime) -> dict[Key, _Commitment]:
    """Those that the report just taken over does not count."""
    counted = {key: replace(c, reports=c.reports + 1) if c.shown else c for key, c in known.items()}
    return {key: c for key, c in counted.items() if not c.shown or not c.is_counted(reported_before)}


def demands_of(row: WorkloadRow, admission: Document) -> tuple[Demand, ...]:
    """The pods of a workload on the flavors that an admission grants it."""
    granted = {str(found.get("name")): found for found in value_at(admission, "podSetAssignments", [])}
    demands = []
    for pod_set in row.pod_sets:
        assignment = granted.get(pod_set.name, {})
        flavors = sorted(set((assignment.get("flavors") or {}).values()))
        count = int(assignment.get("count") or pod_set.count)
        demands.append(Demand(dict(pod_set.shape.requests), count, flavors[0] if flavors else ""))
    return tuple(demands)
