"""Quota held by a Workload: taking it, giving it back, and whether the Workload counts as admitted.

Source: spec/engine 13.3, 16.3.
"""

from dataclasses import dataclass
from datetime import datetime

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.engine import workload_status
from worker_agent.engine.workload_status import StatusDraft

NO_RESERVATION = "The workload has no reservation"
NO_LONGER_HELD = "Workload no longer on hold; waiting for quota reservation"
CHECKS_NOT_READY = "The workload has not all checks ready"

_QUEUES_AT_ONCE = (names.EVICTED_PREEMPTED, names.EVICTED_NODE_FAILURES, names.EVICTED_RECLAIMED_PODS_RETURNED)
"""Reasons of an eviction after which nothing but quota keeps a Workload from running again."""


@dataclass(frozen=True, slots=True)
class Observability:
    """How finely QuotaReserved and Admitted are told (gates UnadmittedWorkloadsObservability and ...ExplicitStatus)."""

    fine: bool = True
    explicit: bool = False

    def reason(self, fine: str, legacy: str) -> str:
        return fine if self.fine else legacy


def has_quota(workload: Document) -> bool:
    return workload_status.is_true(workload, "QuotaReserved")


def reserve(draft: StatusDraft, admission: Document, required_checks: frozenset[str], how: Observability) -> None:
    """Give the Workload its admission: QuotaReserved, traces of eviction turned off, and Admitted in the same write.

    Admitted is only looked at when every required check is listed already; otherwise the reconciler adds them first.
    """
    draft.put(admission=admission, resourceRequests=None)
    draft.set("QuotaReserved", True, "QuotaReserved", f"Quota reserved in ClusterQueue {admission['clusterQueue']}")
    for type_ in ("Evicted", "Preempted", "BlockedOnPreemptionGates"):
        draft.turn_off(type_, "QuotaReserved")
    listed = {check["name"] for check in draft.status.get("admissionChecks") or ()}
    if required_checks <= listed:
        sync_admitted(draft, how)


def withhold(draft: StatusDraft, reason: str, message: str, how: Observability) -> bool:
    """No quota, and why; an admission that was there is taken back. True when anything changed."""
    changed = draft.set("QuotaReserved", False, reason, message)
    changed |= draft.put(admission=None)
    return sync_admitted(draft, how) or changed


def end_hold(draft: StatusDraft, how: Observability) -> bool:
    """A workload that was on hold may be looked at again. True when anything changed."""
    return withhold(draft, how.reason("PendingEvaluation", "Pending"), NO_LONGER_HELD, how)


def is_withheld(workload: Document, reason: str, message: str) -> bool:
    """Whether both conditions say already what ``withhold`` would write of a workload without admission."""
    wanted = {"QuotaReserved": (reason, message), "Admitted": ("NoReservation", NO_RESERVATION)}
    found = 0
    for condition in (workload.get("status") or {}).get("conditions") or ():
        expected = wanted.get(condition.get("type"))
        if expected is None:
            continue
        if condition.get("status") != "False" or (condition.get("reason"), condition.get("message", "")) != expected:
            return False
        found += 1
    return found == len(wanted)


def release(draft: StatusDraft, *, requeue: bool, how: Observability) -> bool:
    """Second step of an eviction, once no pod runs: the quota goes back and Requeued says whether to queue again.

    ``requeue`` is False for Workloads that must not come back by themselves although the reason of their eviction
    allows it (owned by a single Pod).
    """
    evicted = draft.find("Evicted") or {}
    reason, message = evicted.get("reason", ""), evicted.get("message", "")
    draft.put(clusterName=None, nominatedClusterNames=None)
    changed = draft.set("Requeued", requeue and reason in _QUEUES_AT_ONCE, reason, message)
    return withhold(draft, how.reason("PendingEvaluation", "Pending"), message, how) or changed


def sync_admitted(draft: StatusDraft, how: Observability) -> bool:
    """Make Admitted follow from reservation, checks and delayed topology requests. True when it was written."""
    was_admitted = draft.is_true("Admitted")
    admitted, reason, message = _verdict(draft, how)
    if not how.fine and admitted == was_admitted:
        return False
    if not admitted and not how.explicit and draft.find("Admitted") is None and draft.find("QuotaReserved") is None:
        return False
    if was_admitted and not admitted:
        _add_execution_time(draft)
    return draft.set("Admitted", admitted, reason, message)


def _verdict(draft: StatusDraft, how: Observability) -> tuple[bool, str, str]:
    reserved = draft.is_true("QuotaReserved")
    ready = all(check.get("state") == "Ready" for check in draft.status.get("admissionChecks") or ())
    if not reserved:
        if not how.fine and not ready:
            return False, "NoReservationUnsatisfiedChecks", "The workload has no reservation and not all checks ready"
        return False, "NoReservation", NO_RESERVATION
    if not ready:
        return False, how.reason("UnsatisfiedAdmissionChecks", "UnsatisfiedChecks"), CHECKS_NOT_READY
    if _topology_pending(draft.status):
        return False, "PendingDelayedTopologyRequests", "There are pending delayed topology requests"
    return True, "Admitted", "The workload is admitted"


def _topology_pending(status: Document) -> bool:
    assignments = (status.get("admission") or {}).get("podSetAssignments") or ()
    return any(assignment.get("delayedTopologyRequest") == "Pending" for assignment in assignments)


def _add_execution_time(draft: StatusDraft) -> None:
    past = draft.status.get("accumulatedPastExecutionTimeSeconds") or 0
    draft.put(accumulatedPastExecutionTimeSeconds=past + whole_seconds(draft.now, draft.document))


def admitted_at(workload: Document) -> datetime:
    """When Admitted last flipped."""
    return workload_status.since(workload, "Admitted")


def whole_seconds(now: datetime, workload: Document) -> int:
    """Seconds since the Workload was admitted, cut off."""
    return int((now - admitted_at(workload)).total_seconds())
