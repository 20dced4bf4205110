"""ClusterState: the live world of one cluster, kept incrementally, owned by one thread.

Objects come in by ``put_*`` and ``delete_*``; queues, reservations and the quota tree follow at once, so a cycle finds
everything ready and rebuilds nothing. The cycle works on this state: what it only tries lies inside
``with state.trial()``, what it decides is entered by ``assume`` and ``requeue``. Instants are timezone-aware datetimes
at this border and int microseconds inside.
"""

from datetime import datetime

import msgspec

from worker_agent.api import timestamps
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.workload import Admission, Workload
from worker_agent.engine import cluster_queue, conditions, confirmation, quota, view, workload_info
from worker_agent.engine.cluster_queue import ClusterQueueRow, LocalQueueRow
from worker_agent.engine.conditions import Phase
from worker_agent.engine.pending import PendingQueue
from worker_agent.engine.policy import Policy
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.waiting_state import HOLDING, WaitingState
from worker_agent.engine.workload_info import PodSetRow, WorkloadRow

Assumption = tuple[tuple[PodSetRow, ...], tuple[PlacedPods, ...]]
"""Pod sets with their flavors and places, and what they take there."""


class ClusterState(WaitingState):
    """All of it. Methods that take ``now`` expect it not to go backwards."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.unready: dict[Key, None] = {}
        """Workloads that hold quota without PodsReady."""
        self.cycle = 0
        self._homeless: dict[str, dict[Key, None]] = {}
        """Reservations in ClusterQueues that are not known (yet)."""
        self._view = view.EMPTY

    # -- ClusterQueues and LocalQueues -----------------------------------------------------------------------------

    def put_cluster_queue(self, view: ClusterQueue) -> bool:
        """Returns False when its cohorts form a cycle; it is stored nevertheless. Raises quantity.QuantityError."""
        name = view.metadata.name
        quotas = cluster_queue.quotas(view.spec.resource_groups)
        old = self.cluster_queues.get(name)
        changed = old is None or old.differs(view)
        sound = self.hierarchy.put_queue(name, view.spec.cohort_name, quotas)
        if old is None:
            row = self.cluster_queues[name] = ClusterQueueRow(view, self.hierarchy.queues[name])
            self.pending[name] = PendingQueue(name, row.strict, self.policy)
        else:
            row = old
            self.catalog.delist(row)
            row.adopt(view)
            self.pending[name].strict = row.strict
        self.catalog.enlist(row)
        if old is None:
            self._settle(row)
        self._refresh([name])
        if changed:
            self.wakeups.note(name)
            self._shares_changed()
        return sound

    def delete_cluster_queue(self, name: str) -> None:
        row = self.cluster_queues.pop(name, None)
        if row is None:
            return
        for reservation in list(row.reservations.values()):
            quota.remove_all(row.node, reservation.usage, self.journal)
            self.topology.release(reservation.key, reservation.placed)
            self._homeless.setdefault(name, {})[reservation.key] = None
        for waiting in self.pending.pop(name).waiting().rows():
            waiting.queued_in = ""
        self.catalog.delist(row)
        self.hierarchy.delete_queue(name)
        self._activities.pop(name, None)

    def put_local_queue(self, view: LocalQueue) -> None:
        row = LocalQueueRow(view)
        old = self.local_queues.get(row.key)
        self.local_queues[row.key] = row
        if self.usage_book is not None:
            self.usage_book.queue_appeared(row)
        if old is None or (old.stopped, old.cluster_queue) != (row.stopped, row.cluster_queue):
            self._offer_all(row.key)

    def delete_local_queue(self, key: Key) -> None:
        if self.local_queues.pop(key, None) is not None:
            if self.usage_book is not None:
                self.usage_book.forget(key)
            self._offer_all(key)

    def _settle(self, row: ClusterQueueRow) -> None:
        """A ClusterQueue appeared: its reservations count from now on, its LocalQueues' workloads queue up."""
        for key in self._homeless.pop(row.name, ()):
            reservation = self.rows[key]
            row.hold(reservation, reservation.phase == Phase.ADMITTED)
            quota.add_all(row.node, reservation.usage, self.journal)
            self.topology.hold(reservation.key, reservation.placed)
        for queue in self.local_queues.values():
            if queue.cluster_queue == row.name:
                self._offer_all(queue.key)

    # -- Workloads -------------------------------------------------------------------------------------------------

    def put_workload(self, workload: Workload, now: datetime) -> None:
        """Take over a Workload as it stands: it queues, holds quota or leaves (spec/engine 5.10)."""
        self._clock = timestamps.micros(now)
        old = self.rows.get(workload.metadata.key)
        if old is not None and old.uid != workload.metadata.uid and old.observed:
            self.delete_workload(old.key, now)
            old = None
        row = WorkloadRow(workload, self.policy)
        phase = conditions.engine_phase(workload, self.policy, row.phase)
        if phase not in HOLDING or row.evicted:
            self._eviction_shows(row.key, old)
        if old is not None and old.assumed and not conditions.shows_reservation(workload, phase):
            # Our write is on its way; until it shows, or fails, the reservation stands.
            old.workload = workload
            old.observed = True
            return
        if phase == Phase.GONE:
            if old is not None:
                self._remove(old)
            return
        workload_info.filled(row, self.shapes)
        if phase == Phase.PENDING:
            self._to_queue(row, old)
        elif old is not None and confirmation.taken_over(row, old, self.cluster_queues):
            self._changed.add(old.reserved_in)
            self._holds(old)
        else:
            self._to_quota(row, old)

    def delete_workload(self, key: Key, now: datetime) -> None:
        self._clock = timestamps.micros(now)
        row = self.rows.get(key)
        if row is not None:
            self._remove(row)

    def _to_queue(self, row: WorkloadRow, old: WorkloadRow | None) -> None:
        if old is not None and old.phase in HOLDING:
            self.second_pass.drop(row.key)
            self._release(old)
            self._unlist(old)
            self._know(row)
            self._note_queue_of(row)
            due = conditions.requeue_time(row.workload)
            if due is None or due <= self._clock:
                self._offer(row)
            return
        if old is not None:
            if self.policy.preserve_scan_progress and old.hash == row.hash:
                row.scan = old.scan
            row.queued_in = old.queued_in
            if old.queue != row.queue:
                self._drop_penalty(old)
                self._withdraw(row)
                self._unlist(old)
        self._know(row)
        self._offer(row)

    def _to_quota(self, row: WorkloadRow, old: WorkloadRow | None) -> None:
        if old is not None:
            self._withdraw(old)
            self._unlist(old)
            if old.phase in HOLDING:
                self._release(old)
                if workload_info.frees_quota(old, row):
                    self._note_queue_of(row)
        self._know(row)
        self._hold(row)
        self._holds(row)

    def _holds(self, row: WorkloadRow) -> None:
        self.second_pass.observe(row, self._clock)
        if self.usage_book is not None and row.phase == Phase.ADMITTED:
            self.usage_book.settle(row, self._clock)

    def expect_eviction(self, key: Key) -> None:
        """The victim of a plan: no other plan evicts it again until its object shows what became of it."""
        self.evicting[key] = self.rows[key].uid

    def _remove(self, row: WorkloadRow) -> None:
        self.second_pass.drop(row.key)
        self.evicting.pop(row.key, None)
        self._drop_penalty(row)
        self._withdraw(row)
        if row.phase in HOLDING:
            self._release(row)
        self._unlist(row)
        self.claimants.pop(row.key, None)
        del self.rows[row.key]
        self._note_queue_of(row)

    def reckon_anew(self, key: Key) -> None:
        old = self.rows.get(key)
        if old is not None and old.phase == Phase.PENDING:
            self._to_queue(workload_info.build(old.workload, self.shapes), old)

    # -- quota -----------------------------------------------------------------------------------------------------

    def assume(self, row: WorkloadRow, queue: str, found: Assumption, admitted: bool) -> None:
        """Reserve quota for a head ahead of the write that says so; ``forget`` undoes it.

        One that holds quota already keeps the time since when, and its share of usage.
        """
        again = row.phase in HOLDING
        if again:
            self._release(row)
        self._withdraw(row)
        row.phase = Phase.ADMITTED if admitted else Phase.RESERVED
        row.assumed = True
        row.reserved_at = row.reserved_at if again else self._second()
        row.reserved_in = queue
        row.pod_sets, row.placed = found
        row.usage = workload_info.usage_of(row.pod_sets)
        self._know(row)
        self._hold(row)
        if self.usage_book is not None and not again:
            self.usage_book.charge(row, queue)

    def assume_admission(self, workload: Workload, admission: Document, now: datetime) -> None:
        """Count room as taken by a workload that does not show it yet, or does not exist here yet."""
        self._clock = timestamps.micros(now)
        old = self.rows.get(workload.metadata.key)
        if old is not None and old.phase in HOLDING:
            return
        row = workload_info.build(workload, self.shapes)
        row.observed = old is not None
        if old is not None:
            self._withdraw(old)
            self._unlist(old)
        # By way of JSON: parts of an assignment are kept as they stand there.
        workload_info.reserve(row, msgspec.json.decode(msgspec.json.encode(admission), type=Admission), {})
        row.phase, row.assumed, row.reserved_at = Phase.RESERVED, True, self._second()
        self._know(row)
        self._hold(row)

    def forget(self, key: Key, now: datetime) -> None:
        """The write of an assumed admission failed: give the quota back and let the workload try again."""
        self._clock = timestamps.micros(now)
        row = self.rows.get(key)
        if row is None or not row.assumed:
            return
        self.evicting.pop(key, None)
        self._drop_penalty(row)
        self._release(row)
        if not row.observed:
            self._unlist(row)
            del self.rows[key]
            return
        fresh = workload_info.build(row.workload, self.shapes)
        fresh.scan = row.scan
        self._know(fresh)
        if fresh.phase in HOLDING:
            self._hold(fresh)
            self.second_pass.observe(fresh, self._clock)
        elif fresh.phase == Phase.GONE:
            self._remove(fresh)
        else:
            self.requeue(fresh, RequeueReason.FAILED_AFTER_NOMINATION)

    def _hold(self, row: WorkloadRow) -> None:
        if not conditions.pods_ready(row.workload):
            self.unready[row.key] = None
        queue = self.cluster_queues.get(row.reserved_in)
        if queue is None:
            self._homeless.setdefault(row.reserved_in, {})[row.key] = None
            return
        self._changed.add(queue.name)
        queue.hold(row, row.phase == Phase.ADMITTED)
        quota.add_all(queue.node, row.usage, self.journal)
        self.topology.hold(row.key, row.placed)

    def _release(self, row: WorkloadRow) -> None:
        self.unready.pop(row.key, None)
        queue = self.cluster_queues.get(row.reserved_in)
        if queue is None:
            self._homeless.get(row.reserved_in, {}).pop(row.key, None)
            return
        self._changed.add(queue.name)
        queue.release(row, row.phase == Phase.ADMITTED)
        quota.remove_all(queue.node, row.usage, self.journal)
        self.topology.release(row.key, row.placed)
        queue.node.generation += 1  # What is given back may be what a stopped flavor scan waited for.

    def publish(self, now: datetime) -> "view.EngineView":
        """An immutable picture of queues, usage and positions for whoever reads beside the engine thread."""
        self._view = view.publish(self, now, self._view)
        return self._view
