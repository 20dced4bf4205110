"""The waiting half of the state: who queues where, whose turn it is, and who goes back to wait.

``state.ClusterState`` adds the objects that come and go, and the quota they hold. Workloads that wait stand in the
``pending`` queue of their ClusterQueue, in the active or the parked part; those that may not queue stand in none.
"""

from datetime import datetime
from typing import Final

from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.engine import workload_info
from worker_agent.engine.conditions import Phase
from worker_agent.engine.device_state import DeviceState
from worker_agent.engine.head import Head
from worker_agent.engine.policy import Policy
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.tas.second_pass import SecondPass
from worker_agent.engine.workload_info import WorkloadRow

HOLDING: Final = (Phase.RESERVED, Phase.ADMITTED)
"""The phases in which a workload holds quota."""


class WaitingState(DeviceState):
    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.rows: dict[Key, WorkloadRow] = {}
        """Every Workload that is neither finished nor deactivated."""
        self.second_pass = SecondPass()
        """Workloads with quota that still need a place for their pods."""
        self._by_queue: dict[Key, dict[Key, None]] = {}
        self._pops = 0

    # -- cycles ----------------------------------------------------------------------------------------------------

    def heads(self, now: datetime) -> list[Head]:
        """One workload per active ClusterQueue that has any; they are in flight until the cycle settles them.

        Workloads that hold quota and need a place come before them, however many those are.
        """
        self._clock = timestamps.micros(now)
        again = [Head(row, row.reserved_in, True) for row in self.second_pass.take(self._clock, self.rows.get)]
        ready = [queue for queue in self.pending.values() if queue.has_active and self._activities[queue.name].active]
        if not ready:
            return again
        if self.usage_book is not None:
            self.sample_usage(now)
            self.usage_book.rank(ready)
        self._pops += 1
        self._changed.update(queue.name for queue in ready)
        popped = [(queue.pop(), queue.name) for queue in ready]
        return again + [Head(self._as_of_now(row), name) for row, name in popped if row is not None]

    def requeue(self, row: WorkloadRow, reason: RequeueReason, status_reason: str = "") -> None:
        """Give a head back (spec/engine 5.4). The newest object decides; one that may not queue any more is dropped."""
        newest = self.rows.get(row.key)
        if newest is None or newest.phase in HOLDING:
            return
        if newest is not row and newest.hash == row.hash:
            newest.scan = row.scan
        newest = self._as_of_now(newest)
        queue = self.pending_queue_of(newest)
        if queue is None or not newest.may_queue:
            self._withdraw(newest)
            return
        if newest.queued_in not in ("", queue.name):
            self._withdraw(newest)
        self._changed.add(queue.name)
        queue.requeue(newest, reason, self._clock, self._pops)
        if self.policy.equivalence_hashing:
            queue.park_alike(newest, reason, status_reason)

    def _as_of_now(self, row: WorkloadRow) -> WorkloadRow:
        """Built anew where LimitRanges or runtime classes changed since the row was built."""
        if row.shape_version == self.shapes.version:
            return row
        fresh = workload_info.build(row.workload, self.shapes)
        fresh.scan, fresh.queued_in = row.scan, row.queued_in
        self._know(fresh)
        return fresh

    def flush_requeues(self, now: datetime) -> bool:
        """Move parked workloads whose wake-up was noted back to their active queues; returns whether any moved."""
        self._clock = timestamps.micros(now)
        moved = False
        for name in self.wakeups.take(self.hierarchy):
            self._changed.add(name)
            moved |= self.pending[name].flush(self._clock, self._pops, self._namespace_admits(name))
        return moved

    # -- places ----------------------------------------------------------------------------------------------------

    def count_queueable(self, queue: Key) -> int:
        """Workloads of a LocalQueue that may wait, wherever they do."""
        rows = (self.rows[key] for key in self._by_queue.get(queue, ()))
        return sum(row.may_queue for row in rows if row.phase == Phase.PENDING)

    def _offer(self, row: WorkloadRow) -> None:
        """Put a pending workload where it belongs, or take it out of its queue."""
        target = self.pending_queue_of(row) if row.may_queue else None
        if row.queued_in and (target is None or target.name != row.queued_in):
            self._withdraw(row)
        if target is not None:
            self._changed.add(target.name)
            target.push(row, self._clock)

    def _offer_all(self, queue: Key) -> None:
        for key in list(self._by_queue.get(queue, ())):
            row = self.rows[key]
            if row.phase == Phase.PENDING:
                self._offer(row)

    def _withdraw(self, row: WorkloadRow) -> None:
        if row.queued_in in self.pending:
            self._changed.add(row.queued_in)
            self.pending[row.queued_in].delete(row.key)
        row.queued_in = ""

    def _know(self, row: WorkloadRow) -> None:
        self.rows[row.key] = row
        if row.claims_devices:
            self.claimants[row.key] = None
        self._by_queue.setdefault(row.queue, {})[row.key] = None

    def _unlist(self, row: WorkloadRow) -> None:
        listed = self._by_queue.get(row.queue)
        if listed is not None:
            listed.pop(row.key, None)
            if not listed:
                del self._by_queue[row.queue]
