"""Why one workload has no room in a cluster as it stands, and what would change that.

Made of the cycle's own functions on a state that belongs to the asker. It is the answer to the question as of now:
others may come first in the meantime, and heads of other ClusterQueues of the cohort compete for the same room.
"""

from collections.abc import Iterator
from datetime import datetime

from worker_agent.api import names, selectors, timestamps
from worker_agent.api.workload import AdmissionCheckState, Workload
from worker_agent.engine import conditions, flavors, resources, simulate, story_shortage, workload_info
from worker_agent.engine.cluster_queue import ClusterQueueRow, ResourceGroup
from worker_agent.engine.conditions import Phase
from worker_agent.engine.flavor_request import FlavorRequest
from worker_agent.engine.modes import BEST, FlavorMode, PreemptionMode, preferred
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption import victims
from worker_agent.engine.resources import PODS, Requests
from worker_agent.engine.simulate import Outlook, Verdict
from worker_agent.engine.state import ClusterState
from worker_agent.engine.story import MODES, VictimTale
from worker_agent.engine.story_checks import CheckTale
from worker_agent.engine.story_remedies import Remedies, Remedy, Wish
from worker_agent.engine.story_shortage import Shortage, Tale
from worker_agent.engine.tas.topology_placement import TopologyPlacement
from worker_agent.engine.workload_info import WorkloadRow


class FlavorOutlook(Tale, frozen=True):
    """How one flavor stands to the workload: all its pod sets together."""

    flavor: str
    mode: str
    borrows: int = 0
    problem: str = ""
    """Why its nodes do not suit the pods; then no quota was looked at."""
    resources: tuple[Shortage, ...] = ()


class Explanation(Tale, frozen=True):
    """``state``: Waiting, Held (not in the queue at all), Reserved, Admitted, Evicted, Deactivated or Finished."""

    workload: str
    state: str
    summary: str
    at: str
    local_queue: str = ""
    cluster_queue: str = ""
    priority: int = 0
    verdict: str = ""
    """Fits, FitsAfterPreemption, Waits or Impossible; of a waiting one."""
    reason: str = ""
    message: str = ""
    position: int | None = None
    """From 1, over all pending workloads of the ClusterQueue."""
    pending: int | None = None
    ahead: tuple[str, ...] = ()
    requests: dict[str, str] = {}
    flavors: tuple[FlavorOutlook, ...] = ()
    victims: tuple[VictimTale, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    checks: tuple[CheckTale, ...] = ()
    """Admission checks that are not Ready; of one that holds quota."""


_VERDICTS = {
    Outlook.FITS: "Fits",
    Outlook.FITS_AFTER_PREEMPTION: "FitsAfterPreemption",
    Outlook.WAITS: "Waits",
    Outlook.IMPOSSIBLE: "Impossible",
}


def explain(state: ClusterState, workload: Workload, now: datetime) -> Explanation:
    """The workload as the API server holds it, in ``state``, which may be changed and is put back.

    One that ``state`` does not know is explained as if it were created now.
    """
    settled = _settled(workload, now) or _parent(workload, state.policy, now)
    if settled is not None:
        return settled
    row = state.rows.get(workload.metadata.key) or workload_info.build(workload, state.shapes)
    return _Waiting(state, row, now).explain()


def _settled(workload: Workload, now: datetime) -> Explanation | None:
    """Of one that is not waiting."""
    status = workload.status
    phase = conditions.phase(workload)
    if phase == Phase.PENDING:
        return None
    admission = status.admission
    queue = admission.cluster_queue if admission else ""
    if phase == Phase.GONE:
        if workload.is_true(names.FINISHED):
            state, summary = "Finished", f"has finished: {_said(workload, names.FINISHED)}"
        else:
            state, summary = "Deactivated", "is deactivated: set spec.active to true to queue it again"
    elif conditions.is_evicted(workload):
        state = "Evicted"
        summary = f"was evicted and holds its quota until its pods have stopped: {_said(workload, names.EVICTED)}"
    elif phase == Phase.ADMITTED:
        state, summary = "Admitted", f"is admitted in ClusterQueue {queue}{_since(workload, names.ADMITTED)}"
    else:
        state = "Reserved"
        summary = f"holds quota in ClusterQueue {queue} and waits for {_awaited(workload)}"
    return _plain(workload, now, state, summary, queue)


def _parent(workload: Workload, policy: Policy, now: datetime) -> Explanation | None:
    """Of one whose variants queue in its place, one for each flavor (concurrent admission)."""
    if not (policy.concurrent_admission and conditions.is_variant_parent(workload)):
        return None
    return _plain(workload, now, "Held", "its variants queue in its place, one for each flavor: ask about them")


def _plain(workload: Workload, now: datetime, state: str, summary: str, queue: str = "") -> Explanation:
    return Explanation(
        workload=str(workload.metadata.key),
        state=state,
        summary=summary,
        at=timestamps.rfc3339(now),
        local_queue=workload.spec.queue_name,
        cluster_queue=queue,
        priority=workload.spec.priority or 0,
    )


def open_checks(workload: Workload) -> list[AdmissionCheckState]:
    """Its admission checks that are not Ready."""
    return [check for check in workload.status.admission_checks or () if check.state != names.CHECK_READY]


def _awaited(workload: Workload) -> str:
    if told := [f"{check.name} is {check.state}" for check in open_checks(workload)]:
        return f"its admission checks: {', '.join(told)}"
    admission = workload.status.admission
    assignments = admission.pod_set_assignments if admission else []
    if any(found.delayed_topology_request == "Pending" and not found.topology_assignment for found in assignments):
        return "places in its topology: its checks are Ready, and it is looked for anew after 1 s, 2, 4 ... 30"
    return "its admission checks: none is listed yet"


def _said(workload: Workload, type_: str) -> str:
    found = workload.condition(type_)
    return ": ".join(part for part in (found.reason, found.message) if part) if found else ""


def _since(workload: Workload, type_: str) -> str:
    found = workload.condition(type_)
    moment = found.last_transition_time if found else None
    return f" since {timestamps.rfc3339(moment)}" if moment else ""


class _Waiting:
    """One pending workload."""

    def __init__(self, state: ClusterState, row: WorkloadRow, now: datetime) -> None:
        self._state = state
        self._row = row
        self._now = now
        self._placement = TopologyPlacement(state)
        queue = state.local_queues.get(row.queue)
        self._queue: ClusterQueueRow | None = state.cluster_queues.get(queue.cluster_queue) if queue else None

    def explain(self) -> Explanation:
        held = self._held()
        if held:
            return self._told("Held", held)
        verdict = simulate.would_admit(self._state, self._row.workload, self._state.policy, self._now)
        queue = self._queue
        if queue is None or not self._state.schedulable(queue) or not verdict.cluster_queue:
            return self._told("Held", self._with_cause(verdict), verdict)
        ahead = self._ahead(queue)
        looked_at = list(self._outlooks(queue))
        wishes = _wishes(looked_at)
        remedies: list[Remedy] = []
        if verdict.kind in (Outlook.WAITS, Outlook.IMPOSSIBLE):
            remedies = Remedies(self._state, queue, self._row.workload, self._now).find(wishes, ahead)
        return self._told(
            "Waiting", _summary(verdict), verdict, tuple(found for found, _ in looked_at), ahead, tuple(remedies)
        )

    def _told(
        self,
        state: str,
        summary: str,
        verdict: Verdict | None = None,
        looked_at: tuple[FlavorOutlook, ...] = (),
        ahead: list[WorkloadRow] | None = None,
        remedies: tuple[Remedy, ...] = (),
    ) -> Explanation:
        row, queue = self._row, self._queue
        requests = resources.total(pod_set.requests for pod_set in row.pod_sets)
        return Explanation(
            workload=str(row.key),
            state=state,
            summary=summary,
            at=timestamps.rfc3339(self._now),
            local_queue=row.queue.name,
            cluster_queue=queue.name if queue else "",
            priority=row.priority,
            verdict=_VERDICTS[verdict.kind] if verdict else "",
            reason=verdict.reason if verdict else "",
            message=verdict.message if verdict else "",
            position=None if ahead is None else len(ahead) + 1,
            pending=None if ahead is None or queue is None else len(self._state.pending[queue.name]),
            ahead=tuple(str(other.key) for other in ahead or ()),
            requests=resources.documents(requests),
            flavors=looked_at,
            victims=tuple(self._victims(verdict)) if verdict else (),
            remedies=remedies,
        )

    def _held(self) -> str:
        """Why it does not even queue; empty where it does."""
        workload = self._row.workload
        if self._row.problem:
            return f"its pod templates cannot be read: {self._row.problem}"
        if self._row.refusal:
            return f"its device claims cannot be served: {self._row.refusal.message}"
        gates = workload.metadata.annotation(names.ADMISSION_GATED_BY_ANNOTATION)
        if gates and self._state.policy.admission_gated_by:
            return f"its admission is gated by {gates}: whoever set this removes the annotation"
        if conditions.on_hold(workload):
            return f"it is on hold: {_said(workload, names.QUOTA_RESERVED)}"
        if not conditions.queueable(workload, self._state.policy):
            return f"it waits for its own pods to be replaced: {_said(workload, names.WAITING_FOR_REPLACEMENT_PODS)}"
        refused = [c.name for c in workload.status.admission_checks or () if c.state in ("Retry", "Rejected")]
        if refused:
            return f"admission check(s) {', '.join(refused)} refuse it for now"
        return self._backoff(workload) or self._about_to_have_variants()

    def _about_to_have_variants(self) -> str:
        local, queue = self._state.local_queues.get(self._row.queue), self._queue
        if local is None or local.stopped or queue is None or self._state.pending_queue_of(self._row) is not None:
            return ""
        return f"ClusterQueue {queue.name} tries all its flavors at once: a variant for each is about to be made"

    def _backoff(self, workload: Workload) -> str:
        if conditions.backoff_over(workload, timestamps.micros(self._now)):
            return ""
        requeued = workload.condition(names.REQUEUED)
        if requeued is not None and requeued.is_false:
            return f"it may not queue again yet: {_said(workload, names.REQUEUED)}"
        state = workload.status.requeue_state
        until = state.requeue_at if state else None
        return f"it backs off until {timestamps.rfc3339(until)}" if until else ""

    def _with_cause(self, verdict: Verdict) -> str:
        """The verdict of a queue that takes nothing, with what the queue says of itself."""
        queue, local = self._queue, self._state.local_queues.get(self._row.queue)
        if local is not None and local.stopped:
            return f"{verdict.message}: set spec.stopPolicy of LocalQueue {local.key} to None"
        judged = self._state.activity(queue.name) if queue else None
        if queue is not None and judged is not None and not judged.active:
            return f"{verdict.message}: {judged.reason}: {judged.message}"
        if queue is not None and queue.node.cyclic:
            return f"{verdict.message}: its cohorts form a cycle"
        return verdict.message

    def _ahead(self, queue: ClusterQueueRow) -> list[WorkloadRow]:
        pending = self._state.pending[queue.name]
        mine = pending.order(self._row)
        found = [(pending.order(row), row) for row in pending.waiting().rows() if row.key != self._row.key]
        return [row for order, row in sorted(found, key=lambda item: item[0]) if order < mine]

    def _victims(self, verdict: Verdict) -> Iterator[VictimTale]:
        for key in verdict.victims:
            yield VictimTale(workload=str(key), cluster_queue=self._state.rows[key].reserved_in, reason="")

    # -- flavors ---------------------------------------------------------------------------------------------------

    def _outlooks(self, queue: ClusterQueueRow) -> Iterator[tuple[FlavorOutlook, Requests]]:
        """Every flavor of every resource group that the workload needs, also those a scan would not reach."""
        requests = resources.total(pod_set.requests for pod_set in self._row.pod_sets)
        if PODS in queue.by_resource:
            requests[PODS] = sum(pod_set.count for pod_set in self._row.pod_sets)
        for group in queue.groups:
            wanted = {name: requests[name] for name in requests if name in group.resources}
            if wanted:
                for flavor in group.flavors:
                    yield self._outlook(queue, group, flavor, wanted), wanted

    def _outlook(self, queue: ClusterQueueRow, group: ResourceGroup, flavor: str, wanted: Requests) -> FlavorOutlook:
        problem = self._mismatch(queue, flavor)
        if problem:
            return FlavorOutlook(flavor=flavor, mode=MODES[PreemptionMode.NO_FIT], problem=problem)
        search = victims.search_of(self._state.policy)
        moment = timestamps.micros(self._now)
        request = FlavorRequest(self._row, queue, self._state, moment, search, self._placement, self._state.cycle)
        worst: FlavorMode = BEST
        for resource, amount in wanted.items():
            mode, _, _ = flavors.quota_mode(request, (flavor, resource), amount, 0)
            if preferred(worst, mode, queue.fungibility):
                worst = mode
        return FlavorOutlook(
            flavor=flavor,
            mode=MODES[worst.preemption],
            borrows=0 if worst.preemption is PreemptionMode.NO_FIT else worst.level,
            resources=tuple(story_shortage.of(self._state, queue, (flavor, r), n) for r, n in wanted.items()),
        )

    def _mismatch(self, queue: ClusterQueueRow, name: str) -> str:
        known = self._state.catalog.flavors
        flavor = known.get(name)
        if flavor is None:
            return f"flavor {name} not found"
        for pod_set in self._row.pod_sets:
            try:
                problem = self._placement.mismatch(pod_set, flavor, queue, known) or flavor.mismatch(pod_set.shape)
            except selectors.SelectorError as error:
                problem = str(error)
            if problem:
                return f"pod set {pod_set.name}: {problem}"
        return ""


def _wishes(looked_at: list[tuple[FlavorOutlook, Requests]]) -> list[Wish]:
    """Each flavor that suits the pods; where several resource groups are needed, also one flavor of each together."""
    suits = [(found.flavor, wanted) for found, wanted in looked_at if not found.problem]
    wishes: list[Wish] = [{(flavor, name): n for name, n in wanted.items()} for flavor, wanted in suits]
    together: Wish = {}
    for flavor, wanted in suits:
        if not any(name in wanted for _, name in together):
            together.update({(flavor, name): n for name, n in wanted.items()})
    return [*wishes, *([together] if together not in wishes else [])]


def _summary(verdict: Verdict) -> str:
    if verdict.kind is Outlook.FITS:
        return "it fits and is admitted in one of the next cycles"
    if verdict.kind is Outlook.FITS_AFTER_PREEMPTION:
        return f"it fits once {len(verdict.victims)} workload(s) have been preempted for it"
    if verdict.kind is Outlook.IMPOSSIBLE:
        return f"it can never be admitted as the ClusterQueue stands: {verdict.message}"
    return f"it waits: {verdict.message}"
