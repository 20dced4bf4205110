"""Why a Workload has no quota, as its controller tells it; and the step that turns ready checks into Admitted.

The table is the second half of spec/engine 14. The scheduler's own reasons, once written, are kept.
"""

from worker_agent.api import names
from worker_agent.engine import admission_checks, reservation, variant_family
from worker_agent.engine.workload_turn import Turn

SCHEDULER_REASONS = frozenset(
    {
        names.WAITING_FOR_QUOTA,
        names.NO_MATCHING_FLAVOR,
        names.EXCEEDS_MAX_QUOTA,
        names.TOPOLOGY_PLACEMENT_FAILED,
        names.WAITING_FOR_PREEMPTED_WORKLOADS,
        names.WAITING_FOR_PODS_READY,
        names.PENDING_EVALUATION,
    }
)
"""Reasons that say more than the controller could; it leaves them alone."""

BYPASSABLE = frozenset({names.PENDING_EVALUATION, names.PENDING, names.DEACTIVATED, names.SUSPENDED})
"""Reasons over which the fate of an equal Workload may be written."""

Blocker = tuple[str, str]
"""Reason and message."""


def admission_check_list(turn: Turn) -> bool:
    """``status.admissionChecks`` names exactly the checks that the ClusterQueue wants for this Workload."""
    queue = turn.view.cluster_queue
    if turn.view.local_queue is None or queue is None or not turn.view.cluster_queue_known:
        return False
    if turn.rules.concurrent_admission and variant_family.is_parent(turn.view.workload):
        # Its variants pass the checks; the parent mirrors the one that got in.
        return admission_checks.sync(turn.draft, frozenset())
    flavors = admission_checks.assigned_flavors(turn.draft.document)
    return admission_checks.sync(turn.draft, admission_checks.required(queue, flavors))


def explain_and_admit(turn: Turn) -> bool:
    """Not admitted yet: say what holds it up, or that it is admitted now. Never ends the turn."""
    if turn.admitted:
        return False
    if not turn.reserved:
        found = blocker(turn)
        if found is not None:
            reservation.withhold(turn.draft, *found, turn.rules.observability)
    reservation.sync_admitted(turn.draft, turn.rules.observability)
    if turn.admitted:
        waited = turn.age(names.QUOTA_RESERVED)
        queue = (turn.draft.status.get("admission") or {}).get("clusterQueue", "")
        turn.event(names.ADMITTED, f"Admitted by ClusterQueue {queue}, wait time since reservation was {waited:.0f}s")
    return False


def unreserved(turn: Turn) -> bool:
    return not turn.reserved


def blocker(turn: Turn) -> Blocker | None:
    """Reason and message of QuotaReserved=False; None leaves the condition as it is (possibly absent)."""
    if not turn.rules.observability.fine:
        found = _queues(turn)
        return (names.INADMISSIBLE, found[1]) if found else None
    if not turn.active:
        return names.DEACTIVATED, "The workload is deactivated"
    if turn.draft.is_false(names.QUOTA_RESERVED) and turn.draft.reason(names.QUOTA_RESERVED) == names.ON_HOLD:
        return None
    return _queues(turn) or _obstacle(turn) or _gate(turn) or _waiting(turn)


def _queues(turn: Turn) -> Blocker | None:
    view = turn.view
    if view.local_queue is None:
        return names.MISCONFIGURED, f"LocalQueue {view.queue_name} doesn't exist"
    if view.local_queue.spec.stop_policy not in (None, "", names.STOP_NONE):
        return names.SUSPENDED, f"LocalQueue {view.queue_name} is inactive"
    if view.cluster_queue is None:
        return names.MISCONFIGURED, f"ClusterQueue {view.cluster_queue_name} doesn't exist"
    if not view.cluster_queue_active:
        return names.SUSPENDED, f"ClusterQueue {view.cluster_queue_name} is inactive"
    return None


def _obstacle(turn: Turn) -> Blocker | None:
    return (names.MISCONFIGURED, turn.view.obstacle) if turn.view.obstacle else None


def _gate(turn: Turn) -> Blocker | None:
    if not turn.rules.admission_gates:
        return None
    gates = (turn.metadata.get("annotations") or {}).get(names.ADMISSION_GATED_BY_ANNOTATION, "")
    return (names.ADMISSION_GATED, f"Admission is gated by: {gates}") if gates else None


def _waiting(turn: Turn) -> Blocker | None:
    condition = turn.draft.find(names.QUOTA_RESERVED)
    explicit = turn.rules.observability.explicit
    reason = (condition or {}).get("reason", "")
    remembered = turn.view.remembered_reason if turn.rules.equivalence_hashing else ""
    if remembered and (reason in BYPASSABLE or (condition is None and explicit)):
        return remembered, "Bypassed scheduling evaluation because an equivalent workload recently failed"
    if reason in SCHEDULER_REASONS or (condition is None and not explicit):
        return None
    return names.PENDING_EVALUATION, "Workload is pending evaluation in the scheduling queue"
