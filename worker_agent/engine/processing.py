"""The second half of a cycle: entries take their room one by one (spec/engine 7.5)."""

from collections.abc import Iterable

from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.engine import (
    admission,
    conditions,
    known_flavors,
    nomination,
    quota,
    resources,
    slice_replacement,
    variants,
)
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.claims import Claims
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_request import FlavorRequest
from worker_agent.engine.modes import Mode
from worker_agent.engine.nomination import Entry, Found, Outcome, Search
from worker_agent.engine.plan import Admit, Evict, Plan, Requeue, SecondPassFailed, Step
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption import issue
from worker_agent.engine.preemption.search import Preemptor, Target
from worker_agent.engine.quota import NO_QUOTA
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.resources import Amounts
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas import workload_facts
from worker_agent.engine.tas.topology_placement import net_usage, usage
from worker_agent.engine.workload_info import WorkloadRow

OVERLAP_DEFERRED = (
    "Workload has overlapping preemption targets with another workload, but will fit after these preemptions complete"
)
OVERLAP = "Workload has overlapping preemption targets with another workload"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
GATED = "Workload requires preemption, but it's gated"
WAITING_FOR_OTHERS = "waiting for all admitted workloads to be in PodsReady condition"


class Processing:
    """Call ``process`` inside the cycle's trial, ``finish`` after it."""

    def __init__(self, state: ClusterState, policy: Policy, search: Search, now: int) -> None:
        self._state = state
        self._policy = policy
        self._search = search
        self._now = now
        self._claims = Claims()
        self._attempts: list[Key] = []
        self._steps: list[Step] = []
        self._skips: dict[str, int] = {}
        self._recomputations: dict[str, dict[str, int]] = {}
        self._unready = bool(state.unready)
        self._blocked = False

    def process(self, entry: Entry) -> None:
        """Settle one nominated entry; the order of these questions decides its reason."""
        queue, assignment = entry.queue, entry.assignment
        if queue is None or assignment is None:
            return
        self._attempts.append(entry.row.key)
        if self._policy.concurrent_admission and variants.more_favorable_admitted(entry.row, queue):
            self._pass_over(entry, variants.MORE_FAVORABLE_ADMITTED, names.PENDING_EVALUATION)
            return
        self._settle(entry, queue, self._current(entry, queue, assignment))

    def _current(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> Assignment:
        """The assignment as it is after what earlier entries took."""
        if self._policy.recompute_overlapping_targets and self._claims.overlap(entry.targets):
            return self._recompute_without_claimed(entry, queue, assignment)
        if self._lost_its_nodes(entry, queue, assignment):
            return self._recompute(entry, queue, assignment)
        return assignment

    def _settle(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> None:
        if self._fails_fast(entry, assignment):
            self._evict_from_failed_node(entry, queue)
        elif assignment.mode is Mode.NO_FIT:
            entry.refuse(entry.message, assignment.no_fit_reason, RequeueReason.NO_FIT)
        elif assignment.mode is Mode.PREEMPT and not entry.targets:
            self._wait_without_targets(entry, queue, assignment)
        elif assignment.mode is Mode.PREEMPT and self._gated(entry.row):
            entry.outcome, entry.scan = Outcome.GATED, None
            entry.refuse(GATED, names.ADMISSION_GATED, RequeueReason.PREEMPTION_GATED)
        elif assignment.mode is Mode.DEFERRED_FIT:
            entry.scan = None
            entry.refuse(OVERLAP_DEFERRED, names.WAITING_FOR_PREEMPTED_WORKLOADS, RequeueReason.PENDING_PREEMPTION)
            self._use(entry, queue, assignment, assignment.usage)
        elif self._claims.overlap(entry.targets):
            self._skip(entry, OVERLAP, preemptor=True)
        elif not self._fits(entry, queue, assignment):
            self._skip(entry, NO_LONGER_FITS, preemptor=assignment.mode is Mode.PREEMPT)
        else:
            self._take_room(entry, queue, assignment)

    def _fails_fast(self, entry: Entry, assignment: Assignment) -> bool:
        if not (entry.second_pass and self._policy.topology.fail_fast) or assignment.mode is Mode.FIT:
            return False
        return bool(workload_facts.unhealthy_node(entry.row.workload))

    def _evict_from_failed_node(self, entry: Entry, queue: ClusterQueueRow) -> None:
        """No other place for the pods of a failed node: the workload starts anew elsewhere."""
        nodes = ",".join(node.name for node in entry.row.workload.status.unhealthy_nodes or ())
        message = f"Workload was evicted as there was no replacement for unhealthy node(s): {nodes}"
        entry.outcome = Outcome.EVICTED
        self._steps.append(Evict(entry.row.key, names.EVICTED_NODE_FAILURES, message, queue.name, entry.row.uid))

    # -- questions -------------------------------------------------------------------------------------------------

    def _gated(self, row: WorkloadRow) -> bool:
        return self._policy.preemption_gates and conditions.closed_preemption_gate(row.workload)

    def _preemptor(self, entry: Entry, queue: ClusterQueueRow) -> Preemptor:
        return Preemptor(entry.row, queue, self._state, self._now)

    def _fits(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> bool:
        """On the state as it would be without this entry's and all earlier victims."""
        gone = self._claims.beside(queue, entry.targets, everywhere=_takes_places(assignment))
        if not gone:
            return self._fits_now(entry, queue, assignment)
        with self._state.trial():
            self._remove(gone)
            return self._fits_now(entry, queue, assignment)

    def _fits_now(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> bool:
        return quota.fits(queue.node, assignment.usage) and self._search.placement.fits(
            self._preemptor(entry, queue), assignment
        )

    def _lost_its_nodes(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> bool:
        """Quota would do, but another entry took the nodes."""
        if not self._policy.recompute_topology or not _takes_places(assignment):
            return False
        gone = self._claims.beside(queue, entry.targets, everywhere=True)
        if not gone:
            return self._lacks_nodes_only(entry, queue, assignment)
        with self._state.trial():
            self._remove(gone)
            return self._lacks_nodes_only(entry, queue, assignment)

    def _lacks_nodes_only(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> bool:
        return quota.fits(queue.node, assignment.usage) and not self._search.placement.fits(
            self._preemptor(entry, queue), assignment
        )

    def _may_be_placed(self, queue: ClusterQueueRow) -> bool:
        flavors = self._state.catalog.flavors
        return any(name in flavors and flavors[name].topology for name in queue.flavors)

    def _remove(self, rows: Iterable[WorkloadRow]) -> None:
        for row in rows:
            self._state.remove_reservation(row)

    # -- recomputation ---------------------------------------------------------------------------------------------

    def _recompute_without_claimed(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> Assignment:
        """Another entry claimed some of the victims: what would do once those are gone?"""
        with self._state.trial():
            self._remove(self._claims.beside(queue, [], everywhere=self._may_be_placed(queue)))
            found = self._recompute(entry, queue, assignment)
        if found.mode is Mode.FIT:
            found.mode = Mode.DEFERRED_FIT
        self._count_recomputation(queue.name, found, entry.targets)
        return found

    def _count_recomputation(self, queue: str, found: Assignment, targets: list[Target]) -> None:
        result = "new_targets" if targets and not self._claims.overlap(targets) else "skipped"
        if found.mode is Mode.DEFERRED_FIT:
            result = "deferred_fit"
        counts = self._recomputations.setdefault(queue, {})
        counts[result] = counts.get(result, 0) + 1

    def _recompute(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> Assignment:
        """Nominate again from the first flavor, but only with the flavors that were nominated before."""
        request = FlavorRequest(
            entry.row, queue, self._state, self._now, self._search.preemption, self._search.placement, self._state.cycle
        )
        again = None if entry.targets else known_flavors.placed_again(request, assignment)
        found = Found(again, []) if again is not None else nomination.get_assignments(request.restricted_to(assignment))
        nomination.settle(entry, found)
        return found.assignment

    def _use(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment, usage: Amounts) -> None:
        """Take quota and places from the entries that follow."""
        self._state.add_usage(queue, usage)
        self._state.topology.try_use(net_usage(entry.row, assignment), 1)

    # -- outcomes --------------------------------------------------------------------------------------------------

    def _wait_without_targets(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> None:
        entry.refuse(entry.message, names.WAITING_FOR_QUOTA, RequeueReason.PREEMPTION_NO_CANDIDATES)
        pushes_ahead = self._policy.prioritize_preemptors and entry.is_preemptor
        if queue.reclaim_within_cohort != "Any" or pushes_ahead:
            self._use(entry, queue, assignment, capacity_to_reserve(queue, assignment))

    def _skip(self, entry: Entry, message: str, preemptor: bool) -> None:
        self._pass_over(entry, message, names.WAITING_FOR_QUOTA)
        if preemptor:
            self._skips[entry.queue_name] = self._skips.get(entry.queue_name, 0) + 1

    def _pass_over(self, entry: Entry, message: str, reason: str) -> None:
        """Not this time; it tries again in the next cycle."""
        entry.outcome = Outcome.SKIPPED
        entry.refuse(message, reason, RequeueReason.FAILED_AFTER_NOMINATION)
        if not self._policy.preserve_scan_progress:
            entry.scan = None

    def _take_room(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> None:
        if entry.targets:
            self._claims.add(queue, entry.targets)
        self._use(entry, queue, assignment, assignment.usage)
        if assignment.mode is Mode.PREEMPT:
            self._preempt(entry, queue)
        elif self._policy.block_admission and self._unready and not entry.second_pass:
            self._blocked = True
            entry.refuse(WAITING_FOR_OTHERS, names.WAITING_FOR_PODS_READY, RequeueReason.FAILED_AFTER_NOMINATION)
        elif not self._waits_for_sibling(entry, queue):
            entry.outcome = Outcome.ASSUMED
            self._unready = True

    def _waits_for_sibling(self, entry: Entry, queue: ClusterQueueRow) -> bool:
        """A variant whose sibling runs on a worse flavor: the sibling has to go first, if that move is wanted."""
        if not self._policy.concurrent_admission:
            return False
        sibling = variants.less_favorable_admitted(entry.row, queue)
        if sibling is None:
            return False
        if not variants.may_migrate_to(entry.row, queue):
            self._pass_over(entry, variants.BELOW_ACCEPTABLE, names.PENDING_EVALUATION)
            return True
        entry.scan = None
        text = f"{entry.message}. Pending the migration of 1 workload(s)"
        entry.refuse(text, names.WAITING_FOR_PREEMPTED_WORKLOADS, RequeueReason.PENDING_MIGRATION)
        if self._state.evicting.get(sibling.key) != sibling.uid:
            message = variants.migration_message(entry.row)
            self._steps.append(Evict(sibling.key, names.EVICTED_FLAVOR_MIGRATION, message, queue.name, sibling.uid))
        return True

    def _preempt(self, entry: Entry, queue: ClusterQueueRow) -> None:
        entry.scan = None
        text = f"{entry.message}. Pending the preemption of {len(entry.victims)} workload(s)"
        entry.refuse(text, names.WAITING_FOR_PREEMPTED_WORKLOADS, RequeueReason.PENDING_PREEMPTION)
        self._steps.extend(issue.steps(entry.row, queue, entry.victims, self._state))

    # -- after the trial -------------------------------------------------------------------------------------------

    def finish(self, entries: list[Entry]) -> Plan:
        """Assume what was admitted, give the other heads back, and put it all in words."""
        for step in self._steps:
            self._state.expect_eviction(step.key)
        for entry in entries:
            if entry.outcome is Outcome.ASSUMED and entry.queue is not None and entry.assignment is not None:
                self._steps.append(self._admit(entry, entry.queue, entry.assignment))
        for entry in entries:
            if entry.second_pass and entry.outcome not in (Outcome.ASSUMED, Outcome.EVICTED):
                self._state.second_pass.failed(entry.row.key, self._now)
                self._steps.append(SecondPassFailed(entry.row.key, entry.queue_name, entry.message))
            elif entry.outcome not in (Outcome.ASSUMED, Outcome.EVICTED):
                self._steps.append(self._give_back(entry))
        return Plan(
            self._state.cycle,
            tuple(self._steps),
            tuple(self._attempts),
            preemption_skips=self._skips,
            recomputations=self._recomputations,
            blocked=self._blocked,
            entries=tuple(entries),
        )

    def _admit(self, entry: Entry, queue: ClusterQueueRow, assignment: Assignment) -> Admit:
        admitted = admission.checks_satisfied(entry.row.workload, queue, assignment)
        replaced = entry.replaced
        step = Admit(
            entry.row.key,
            queue.name,
            admission.document(queue.name, assignment, self._policy.topology.encode_by_prefix),
            admitted,
            names.QUOTA_RESERVED,
            f"Quota reserved in ClusterQueue {queue.name}",
            admission.flavors_considered(assignment),
            None if replaced is None else replaced.key,
            "" if replaced is None else slice_replacement.finished_message(entry.row),
            entry.second_pass,
            generation=entry.row.workload.metadata.generation,
            uid=entry.row.uid,
        )
        entry.row.scan = entry.scan
        pod_sets = tuple(admission.pod_set_rows(entry.row, assignment))
        self._state.assume(entry.row, queue.name, (pod_sets, tuple(usage(entry.row, assignment))), admitted)
        return step

    def _give_back(self, entry: Entry) -> Requeue:
        row = entry.row
        row.scan = entry.scan
        requests = admission.resource_requests(row)
        reason = entry.reason if self._policy.observability else _legacy_reason(entry)
        self._state.requeue(row, entry.requeue, reason)
        return Requeue(row.key, entry.queue_name, entry.outcome, entry.requeue, reason, entry.message, requests)


def _takes_places(assignment: Assignment) -> bool:
    """Whether a topology places any of its pods."""
    pod_sets = assignment.pod_sets
    if len(pod_sets) == 1:
        return pod_sets[0].topology is not None
    return any(pod_set.topology is not None for pod_set in pod_sets)


def _legacy_reason(entry: Entry) -> str:
    return names.WAITING if entry.reason == names.WAITING_FOR_PODS_READY else names.PENDING


def capacity_to_reserve(queue: ClusterQueueRow, assignment: Assignment) -> Amounts:
    """What a preemptor without victims keeps from later entries of its cycle (spec/engine 7.6)."""
    reserved: Amounts = {}
    for fr, amount in assignment.usage.items():
        entry = queue.node.quotas.get(fr, NO_QUOTA)
        ceiling = entry.nominal
        if assignment.borrowing > 0:
            if entry.borrowing_limit is None:
                reserved[fr] = amount
                continue
            ceiling = resources.plus(ceiling, entry.borrowing_limit)
        free = min(amount, resources.minus(ceiling, queue.node.usage.get(fr, 0)))
        reserved[fr] = free if assignment.borrowing > 0 else max(0, free)
    return reserved
