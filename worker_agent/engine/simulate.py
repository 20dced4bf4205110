"""What would become of a workload here? Answered with the cycle's own functions on the live state.

The hub asks this of every candidate cluster, what-if and explain of their own; the state stays as it is. A workload
does not only need room: those that rank before it in the active queue take theirs first, so they are played out.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Final

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import (
    activity,
    admissibility,
    admission,
    cohort_rivals,
    conditions,
    nomination,
    quota,
    resources,
    workload_info,
)
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.conditions import Phase
from worker_agent.engine.flavor_request import FlavorRequest
from worker_agent.engine.modes import Mode
from worker_agent.engine.nomination import Found, Search
from worker_agent.engine.pending import PendingQueue
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption import victims
from worker_agent.engine.preemption.search import PreemptionSearch
from worker_agent.engine.resources import Requests
from worker_agent.engine.scan import ScanState
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas.placement import Placement
from worker_agent.engine.tas.topology_placement import TopologyPlacement, usage
from worker_agent.engine.workload_info import UNKNOWN_HASH, WorkloadRow

PLAYED_OUT: Final = 64
"""Attempts on behalf of workloads ahead; behind more than that a workload waits."""

_SECOND: Final = 10**6
_HOPELESS: Final = (names.NO_MATCHING_FLAVOR, names.EXCEEDS_MAX_QUOTA, "")


class Outlook(IntEnum):
    """Smaller is better."""

    FITS = 0
    FITS_AFTER_PREEMPTION = 1
    WAITS = 2
    IMPOSSIBLE = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` is a constant of names, ``message`` says it to people."""

    kind: Outlook
    reason: str = ""
    message: str = ""
    cluster_queue: str = ""
    assignment: Document | None = None
    """``status.admission`` as it would be written; for FITS and FITS_AFTER_PREEMPTION."""
    position: int | None = None
    """Workloads that rank before it; for WAITS."""
    demand_ahead: Requests = field(default_factory=dict)
    """What those ask for in all."""
    victims: tuple[Key, ...] = ()
    lost_pod_seconds: int = 0
    """Work that preempting the victims throws away."""

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(part for part in self.message.split("; ") if part)


def would_admit(
    state: ClusterState,
    workload: Workload,
    policy: Policy,
    now: datetime,
    search: PreemptionSearch | None = None,
    placement: Placement | None = None,
) -> Verdict:
    """The verdict on a workload if it were (or is) pending in its LocalQueue now. ``state`` is left as it was."""
    row = workload_info.build(workload, state.shapes)
    means = Search(search or victims.search_of(policy), placement or TopologyPlacement(state))
    return verdict_on(row, state, now, means)


def verdict_on(row: WorkloadRow, state: ClusterState, now: datetime, search: Search) -> Verdict:
    """``would_admit`` of a workload whose row is made already, by shapes equal to this state's; it is only read."""
    known = state.rows.get(row.key)
    if known is not None and known.phase in (Phase.RESERVED, Phase.ADMITTED):
        return Verdict(Outlook.FITS, names.QUOTA_RESERVED, f"Quota reserved in ClusterQueue {known.reserved_in}")
    local_queue = state.local_queues.get(row.queue)
    if local_queue is None:
        return _impossible(names.MISCONFIGURED, f"LocalQueue {row.queue.name} doesn't exist")
    queue = state.cluster_queues.get(local_queue.cluster_queue)
    if queue is None:
        return _impossible(names.MISCONFIGURED, f"ClusterQueue {local_queue.cluster_queue} doesn't exist")
    judged = activity.local_queue_activity(local_queue, state.activity(queue.name))
    if not judged.active or not state.schedulable(queue):
        return _impossible(names.SUSPENDED, _inactive(local_queue.stopped, row, queue))
    refused = admissibility.refusal(row, queue, state)
    if refused is not None:
        return _impossible(names.MISCONFIGURED, refused.message)
    return _Question(state, queue, row, search, timestamps.micros(now)).answer()


def _impossible(reason: str, message: str) -> Verdict:
    return Verdict(Outlook.IMPOSSIBLE, reason, message)


def _inactive(stopped: bool, row: WorkloadRow, queue: ClusterQueueRow) -> str:
    return f"LocalQueue {row.queue.name} is inactive" if stopped else f"ClusterQueue {queue.name} is inactive"


def _was_refused(row: WorkloadRow) -> bool:
    """Its own object says that no flavor of its queue will do: it is parked, and room that comes free is not for it."""
    reserved = row.workload.condition(names.QUOTA_RESERVED)
    return reserved is not None and reserved.is_false and reserved.reason in _HOPELESS


def _may_come(found: Found) -> bool:
    """Whether waiting may help: not all of the flavors looked at are out of the question."""
    return found.assignment.mode is not Mode.NO_FIT or found.assignment.no_fit_reason not in _HOPELESS


class _Question:
    """One workload in one queue."""

    def __init__(self, state: ClusterState, queue: ClusterQueueRow, row: WorkloadRow, search: Search, now: int) -> None:
        self._state = state
        self._queue = queue
        self._row = row
        self._search = search
        self._now = now
        self._pending: PendingQueue = state.pending[queue.name]

    def answer(self) -> Verdict:
        ahead = self._competitors()
        with self._state.trial():
            passed = self._play_out(ahead)
            found, starts = self._attempt(self._row)
            mode = found.assignment.mode
            starts = starts and passed
        if mode is Mode.NO_FIT and found.assignment.no_fit_reason in _HOPELESS:
            reason = found.assignment.no_fit_reason or names.NO_MATCHING_FLAVOR
            return Verdict(Outlook.IMPOSSIBLE, reason, found.assignment.message, self._queue.name)
        if mode is Mode.FIT and starts:
            return self._fits(found)
        if mode is Mode.PREEMPT and starts:
            return self._fits_after_preemption(found)
        return self._waits(found)

    def _gets_its_turn(self, row: WorkloadRow, found: Found) -> bool:
        rivals = cohort_rivals.heads(self._state, self._queue)
        situation = cohort_rivals.Situation(self._state, self._search, self._now)
        return not rivals or cohort_rivals.gets_its_turn(row, found, self._queue, rivals, situation)

    def _attempt(self, row: WorkloadRow) -> tuple[Found, bool]:
        """As in cycles one after the other: where a scan stopped at a flavor in vain, the next goes on from there.

        In vain is also what fits, but not beside the heads of the cohort's strict queues. Returns what to tell, and
        whether the workload starts or preempts by it.
        """
        tried: list[Found] = []
        scan: ScanState | None = None
        stops: list[tuple[dict[str, int], ...]] = []
        while not tried or (scan is not None and scan.pending_flavors and scan.tried not in stops):
            if scan is not None:
                # Pod sets may take turns in stopping: a workload that comes back to where it was waits.
                stops.append(scan.tried)
            state = self._state
            request = FlavorRequest(row, self._queue, state, self._now, *self._search, cycle=state.cycle, scan=scan)
            found = nomination.get_assignments(request)
            if (found.assignment.mode is Mode.FIT or found.targets) and self._gets_its_turn(row, found):
                return found, True
            tried.append(found)
            scan = found.assignment.scan
        return next((found for found in tried if _may_come(found)), tried[-1]), False

    def _competitors(self) -> list[WorkloadRow]:
        mine = self._pending.order(self._row)
        return [row for order, row in self._pending.competing() if order < mine and row.key != self._row.key]

    def _play_out(self, ahead: list[WorkloadRow]) -> bool:
        """Let those ahead take their room. Returns whether the workload gets its turn after them.

        As in the queue itself, what failed once is not tried again for workloads that are equal to it.
        """
        failed: set[str] = set()
        attempts = 0
        for row in ahead:
            if row.hash in failed or (not self._queue.strict and _was_refused(row)):
                continue
            if attempts == PLAYED_OUT:
                return False
            attempts += 1
            if not self._takes_room(row):
                if self._queue.strict:
                    return False
                if row.hash != UNKNOWN_HASH:
                    failed.add(row.hash)
        return True

    def _takes_room(self, row: WorkloadRow) -> bool:
        if admissibility.refusal(row, self._queue, self._state) is not None:
            return False
        found, starts = self._attempt(row)
        if not starts or found.assignment.mode is not Mode.FIT:
            return False
        self._state.add_usage(self._queue, found.assignment.usage)
        self._state.topology.try_use(usage(row, found.assignment), 1)
        return True

    # -- verdicts --------------------------------------------------------------------------------------------------

    def _fits(self, found: Found) -> Verdict:
        document = admission.document(self._queue.name, found.assignment)
        message = f"Quota reserved in ClusterQueue {self._queue.name}"
        return Verdict(Outlook.FITS, names.QUOTA_RESERVED, message, self._queue.name, document)

    def _fits_after_preemption(self, found: Found) -> Verdict:
        count = len(found.targets)
        return Verdict(
            Outlook.FITS_AFTER_PREEMPTION,
            names.WAITING_FOR_PREEMPTED_WORKLOADS,
            f"{found.assignment.message}. Pending the preemption of {count} workload(s)",
            self._queue.name,
            admission.document(self._queue.name, found.assignment),
            victims=tuple(target.row.key for target in found.targets),
            lost_pod_seconds=sum(self._lost(target.row) for target in found.targets),
        )

    def _lost(self, victim: WorkloadRow) -> int:
        pods = sum(pod_set.count for pod_set in victim.pod_sets)
        return pods * max(0, self._now - conditions.reservation_time(victim.workload, self._now)) // _SECOND

    def _waits(self, found: Found) -> Verdict:
        mine = self._pending.order(self._row)
        before = [r for r in self._pending.waiting().rows() if r.key != self._row.key and self._pending.order(r) < mine]
        demand = resources.total(pod_set.requests for row in before for pod_set in row.pod_sets)
        message = found.assignment.message or f"{len(before)} workload(s) ahead in ClusterQueue {self._queue.name}"
        return Verdict(
            Outlook.WAITS,
            found.assignment.no_fit_reason or names.WAITING_FOR_QUOTA,
            message,
            self._queue.name,
            position=len(before),
            demand_ahead=demand,
        )


def room_left(state: ClusterState, queue: ClusterQueueRow) -> Requests:
    """What the ClusterQueue could still take over all its flavors, by resource."""
    left: Requests = {}
    for fr in queue.node.quotas:
        left[fr[1]] = resources.plus(left.get(fr[1], 0), quota.exposed(queue.node, fr))
    return left
