"""Eviction, first step: the Workload is told to stop; its quota stays taken until its pods are gone.

Source: spec/engine 13.2.
"""

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import RecordEvent
from worker_agent.engine.workload_status import StatusDraft

DEACTIVATED = "Deactivated"


def evicted_reason(reason: str, cause: str) -> str:
    """``DeactivatedDueTo<cause>`` for a deactivation with a cause; the reason itself otherwise."""
    return f"{reason}DueTo{cause}" if reason == DEACTIVATED and cause else reason


def evict(draft: StatusDraft, reason: str, message: str, cause: str = "") -> RecordEvent:
    """Write the eviction into the draft and return the event that announces it."""
    told = evicted_reason(reason, cause)
    draft.set("Evicted", True, told, message)
    # The cluster that runs the job stays on record until the quota is given back: it may be out of contact.
    draft.put(
        nominatedClusterNames=None,
        unhealthyNodes=None,
        admissionChecks=reset_checks(draft),
        schedulingStats=_counted(draft.status.get("schedulingStats") or {}, reason, cause),
    )
    draft.turn_off("BlockedOnPreemptionGates", told)
    dispatched = draft.find(names.DISPATCHED)
    if dispatched is not None and dispatched.get("reason") != told:
        draft.set(names.DISPATCHED, False, told, f"Previously: {dispatched.get('message', '')}")
    _close_gates(draft)
    return RecordEvent(
        resource=WORKLOADS,
        key=draft.key,
        reason=f"EvictedDueTo{told}",
        message=message,
        uid=(draft.original.get("metadata") or {}).get("uid", ""),
    )


def reset_checks(draft: StatusDraft) -> list[Document]:
    """All checks Pending again, for the next reservation."""
    return [
        check if check.get("state") == "Pending" else _reset(check, timestamps.rfc3339(draft.now))
        for check in draft.status.get("admissionChecks") or ()
    ]


def _reset(check: Document, now: str) -> Document:
    """Pending again. The retry count lives on only where the check itself asked for the retry."""
    state: Document = {
        "name": check["name"],
        "state": "Pending",
        "lastTransitionTime": now,
        "message": f"Reset to Pending after eviction. Previously: {check.get('state', '')}",
    }
    if check.get("requeueAfterSeconds") is not None:
        state["requeueAfterSeconds"] = check["requeueAfterSeconds"]
    if check.get("state") == "Retry":
        state["retryCount"] = (check.get("retryCount") or 0) + 1
    return state


def first_of_its_kind(draft: StatusDraft, reason: str, cause: str) -> bool:
    """Whether this Workload was never evicted before for this reason and cause."""
    evictions = (draft.status.get("schedulingStats") or {}).get("evictions") or ()
    return not any(e.get("reason") == reason and e.get("underlyingCause", "") == cause for e in evictions)


def _counted(stats: Document, reason: str, cause: str) -> Document:
    evictions = [dict(entry) for entry in stats.get("evictions") or ()]
    for entry in evictions:
        if entry.get("reason") == reason and entry.get("underlyingCause", "") == cause:
            entry["count"] = entry.get("count", 0) + 1
            break
    else:
        evictions.append({"reason": reason, "underlyingCause": cause, "count": 1})
    return {**stats, "evictions": evictions}


def _close_gates(draft: StatusDraft) -> None:
    now = timestamps.rfc3339(draft.now)
    gates = draft.status.get("preemptionGates") or ()
    draft.put(
        preemptionGates=[
            gate
            if gate.get("position") == "Closed"
            else {"name": gate["name"], "position": "Closed", "lastTransitionTime": now}
            for gate in gates
        ]
    )
