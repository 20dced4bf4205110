"""Nomination: what each head would get if it were alone (spec/engine 7.2 and 7.4)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from worker_agent.api import names
from worker_agent.engine import admissibility, conditions, flavors, partial_admission, slice_replacement
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_request import FlavorRequest
from worker_agent.engine.known_flavors import KnownFlavors
from worker_agent.engine.modes import Mode
from worker_agent.engine.partial_admission import Reduction
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption.search import PreemptionSearch, Target
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.scan import ScanState
from worker_agent.engine.tas.placement import Placement
from worker_agent.engine.workload_info import UNKNOWN_HASH, WorkloadRow


class Outcome(StrEnum):
    """What became of an entry in its cycle."""

    NOT_NOMINATED = ""
    NOMINATED = "nominated"
    SKIPPED = "skipped"
    GATED = "preemptionGated"
    EVICTED = "evicted"
    ASSUMED = "assumed"


class Entry:
    """One head on its way through the cycle."""

    __slots__ = (
        "assignment", "is_preemptor", "message", "outcome", "queue", "queue_name", "reason", "requeue", "row", "scan",
        "second_pass", "targets",
    )  # fmt: skip

    def __init__(self, row: WorkloadRow, queue_name: str) -> None:
        self.row = row
        self.queue_name = queue_name
        self.queue: ClusterQueueRow | None = None
        self.second_pass = False
        self.is_preemptor = False
        self.assignment: Assignment | None = None
        self.targets: list[Target] = []
        self.outcome = Outcome.NOT_NOMINATED
        self.message = ""
        self.reason = ""
        self.requeue = RequeueReason.GENERIC
        self.scan: ScanState | None = row.scan

    @property
    def borrowing(self) -> int:
        return self.assignment.borrowing if self.assignment else 0

    @property
    def replaced(self) -> WorkloadRow | None:
        """The slice among the targets whose place the workload takes."""
        return next((target.row for target in self.targets if not target.reason), None)

    @property
    def victims(self) -> list[Target]:
        """The targets that have to be evicted."""
        return [target for target in self.targets if target.reason]

    def refuse(self, message: str, reason: str, requeue: RequeueReason = RequeueReason.GENERIC) -> None:
        self.message, self.reason, self.requeue = message, reason, requeue


class Found(NamedTuple):
    """An assignment and the victims it needs; a slice that is replaced is the first of them."""

    assignment: Assignment
    targets: list[Target]


class Search(NamedTuple):
    """What a nomination consults beside the state."""

    preemption: PreemptionSearch
    placement: Placement


def nominate(entry: Entry, state: QueueState, search: Search, cycle: int, now: int, known: KnownFlavors) -> None:
    """Give the entry its assignment and targets, or the reason why it is not looked at. ``known``: of this cycle."""
    row, queue = entry.row, state.cluster_queues.get(entry.queue_name)
    if conditions.refused_by_check(row.workload):
        entry.refuse("The workload has failed admission checks", names.PENDING_EVALUATION)
        return
    if queue is not None and not state.schedulable(queue):
        entry.refuse(f"ClusterQueue {queue.name} is inactive", names.SUSPENDED)
        return
    if queue is None:
        entry.refuse(f"ClusterQueue {entry.queue_name} not found", names.MISCONFIGURED)
        return
    refused = admissibility.refusal(row, queue, state)
    if refused is not None:
        entry.refuse(refused.message, names.MISCONFIGURED, refused.requeue)
        return
    entry.queue = queue
    scan = current_scan(row, queue, cycle, state.policy)
    request = FlavorRequest(row, queue, state, now, search.preemption, search.placement, cycle, scan)
    alike = known.like(request)
    found = get_assignments(request) if alike is None else Found(alike, [])
    settle(entry, found)
    if alike is None and not found.targets:
        known.remember(request, found.assignment)
    entry.outcome = Outcome.NOMINATED


def settle(entry: Entry, found: Found) -> None:
    entry.assignment, entry.targets = found
    entry.message = found.assignment.message
    entry.scan = found.assignment.scan


def current_scan(row: WorkloadRow, queue: ClusterQueueRow, cycle: int, policy: Policy) -> ScanState | None:
    """The resume state of the last attempt unless it is outdated (spec/engine 8.6)."""
    scan = row.scan
    if scan is None:
        return None
    if policy.preserve_scan_progress:
        if scan.hash != row.hash and UNKNOWN_HASH not in (scan.hash, row.hash):
            return None
        if cycle - scan.cycle <= 1:
            return scan
    return None if queue.node.generation > scan.generation else scan


def get_assignments(request: FlavorRequest) -> Found:
    """All pods as they fit or with victims; else fewer pods; else the assignment that says why not."""
    replaced = slice_replacement.replaced_by(request.row, request.queue, request.policy)
    if replaced is not None:
        request = request._replace(replaced=replaced)
    full = _attempt(request, None)
    if _viable(full):
        return full
    row = request.row
    if row.reserved_in:
        return full
    if request.policy.partial_admission and partial_admission.applies(row.pod_sets):
        reduced = Reduction(row.pod_sets, lambda counts: _probe(request, counts)).search()
        if reduced is not None:
            return reduced
    return full


def _attempt(request: FlavorRequest, counts: Sequence[int] | None) -> Found:
    assignment = flavors.assign(request, counts)
    old = request.replaced.row if request.replaced is not None else None
    own = [] if old is None else [Target(old, "")]
    if assignment.mode is not Mode.PREEMPT:
        return Found(assignment, own if assignment.mode is Mode.FIT else [])
    preemptor = request.preemptor
    if not assignment.asks:
        found = request.search.targets(preemptor, assignment)
    else:
        found = request.search.targets(preemptor, assignment, lambda: request.placement.has_room(preemptor, assignment))
    targets = [target for target in found if target.row is not old]
    if targets:
        targets = own + targets
    request.placement.reserve(preemptor, assignment, targets)
    return Found(assignment, targets)


def _probe(request: FlavorRequest, counts: Sequence[int]) -> Found | None:
    found = _attempt(request, counts)
    return found if _viable(found) else None


def _viable(found: Found) -> bool:
    return found.assignment.mode is Mode.FIT or (found.assignment.mode is Mode.PREEMPT and bool(found.targets))
