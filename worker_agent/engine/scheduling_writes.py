"""What the steps of a Plan mean for the Workloads' own objects: status changes and events.

Source: spec/engine 7.5 to 7.8, 13.1, 25.
"""

from datetime import datetime

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import admission_checks, eviction, intent_effects, reservation, workload_status
from worker_agent.engine.intents import Intent, RecordEvent
from worker_agent.engine.nomination import Outcome
from worker_agent.engine.plan import Admit, Evict, Preempt, Requeue, SecondPassFailed
from worker_agent.engine.reservation import Observability
from worker_agent.engine.workload_status import StatusDraft


def still_waits(workload: Document) -> bool:
    """Whether a Workload can still be given quota, or told why it has none."""
    active = (workload.get("spec") or {}).get("active") is not False
    return active and not reservation.has_quota(workload) and not workload_status.is_true(workload, names.FINISHED)


def admit_at_once(
    workload: Document,
    step: Admit,
    required_checks: frozenset[str],
    how: Observability,
    now: datetime,
    cluster: str = "",
) -> list[Intent]:
    """``admit`` together with what the Workload's controller would write next: the list of its checks.

    ``cluster`` is the worker in which the slice that it replaces runs: its pods are there, so it goes nowhere else.
    """
    draft = StatusDraft(workload, now)
    if cluster:
        draft.put(clusterName=cluster)
    return _admit(workload, step, required_checks, how, draft, list_checks=True)


def admit(
    workload: Document, step: Admit, required_checks: frozenset[str], how: Observability, now: datetime
) -> list[Intent]:
    """Reservation, and Admitted in the same write when no check is outstanding; with the events of both."""
    return _admit(workload, step, required_checks, how, StatusDraft(workload, now))


def _admit(
    workload: Document,
    step: Admit,
    required_checks: frozenset[str],
    how: Observability,
    draft: StatusDraft,
    *,
    list_checks: bool = False,
) -> list[Intent]:
    now = draft.now
    if list_checks:
        admission_checks.sync(draft, required_checks)
    reserved, admitted = draft.is_true(names.QUOTA_RESERVED), draft.is_true(names.ADMITTED)
    reservation.reserve(draft, step.admission, required_checks, how)
    draft.put(unhealthyNodes=None)
    waited = (now - queued_since(workload)).total_seconds()
    message = f"Quota reserved in ClusterQueue {step.cluster_queue}, wait time since queued was {waited:.0f}s"
    if step.flavors_considered:
        message += f"; Flavors considered: {step.flavors_considered}"
    intents: list[Intent] = [*draft.intents()]
    if not reserved:
        intents.append(_event(workload, "QuotaReserved", message))
    if draft.is_true(names.ADMITTED) and not admitted:
        since = (now - workload_status.since(workload, names.QUOTA_RESERVED)).total_seconds() if reserved else 0.0
        text = f"Admitted by ClusterQueue {step.cluster_queue}, wait time since reservation was {since:.0f}s"
        intents.append(_event(workload, names.ADMITTED, text))
    return intents


def requeue(workload: Document, step: Requeue, how: Observability, now: datetime) -> list[Intent]:
    """Why the Workload got nothing this time; empty when it says so already."""
    if how.fine and step.outcome is not Outcome.GATED and _says_so_already(workload, step):
        return []
    draft = StatusDraft(workload, now)
    if step.resource_requests:
        draft.put(resourceRequests=list(step.resource_requests))
    if step.reason:
        reservation.withhold(draft, step.reason, step.message, how)
    if step.outcome is Outcome.GATED:
        draft.set(names.BLOCKED_ON_PREEMPTION_GATES, True, names.PREEMPTION_GATED, step.message)
    writes = draft.intents()
    if not writes:
        return []
    return [*writes, _event(workload, step.reason, step.message, "Warning")] if step.reason else [*writes]


def _says_so_already(workload: Document, step: Requeue) -> bool:
    """Whether a plain look finds the whole answer in the status: about half of all heads get the answer they had."""
    status = workload.get("status")
    if not status or status.get("admission"):
        return False
    if step.resource_requests and status.get("resourceRequests") != list(step.resource_requests):
        return False
    return reservation.is_withheld(workload, step.reason, step.message)


def preempt(victim: Document, step: Preempt, now: datetime) -> list[Intent]:
    """Preempted and Evicted on the victim in one write; nothing when it is on its way out already."""
    if _leaves_already(victim):
        return []
    draft = StatusDraft(victim, now)
    draft.set(names.PREEMPTED, True, step.reason, step.message)
    evicted = eviction.evict(draft, names.EVICTED_PREEMPTED, step.message)
    return [*draft.intents(), _event(victim, names.PREEMPTED, f"{step.message}; {step.priorities}"), evicted]


def may_be_placed(workload: Document) -> bool:
    """Whether a Workload that holds quota can still be given its place."""
    return reservation.has_quota(workload) and not _leaves_already(workload)


def second_pass_failed(workload: Document, step: SecondPassFailed) -> list[Intent]:
    """Nothing is written; an event says why pods still have no place."""
    return [_event(workload, step.reason, step.message, "Warning")]


def evict(workload: Document, step: Evict, now: datetime) -> list[Intent]:
    """Evicted on a workload that makes way without being preempted; nothing when it is on its way out already."""
    if _leaves_already(workload):
        return []
    draft = StatusDraft(workload, now)
    told = eviction.evict(draft, step.reason, step.message)
    return [*draft.intents(), told]


def replaced(workload: Document, message: str, now: datetime) -> list[Intent]:
    """The end of a slice whose place a bigger one of the same job has taken."""
    if workload_status.is_true(workload, names.FINISHED):
        return []
    draft = StatusDraft(workload, now)
    draft.set(names.FINISHED, True, names.WORKLOAD_SLICE_REPLACED, message)
    return [*draft.intents(), _event(workload, names.WORKLOAD_SLICE_REPLACED, message)]


def preemptor_event(preemptor: Document, step: Preempt) -> RecordEvent:
    """What the preemptor's own story says about a victim."""
    return _event(preemptor, "PreemptedWorkload", step.preemptor_story)


def queued_since(workload: Document) -> datetime:
    """When the present wait began: the last requeueing if there was one, else the creation."""
    if intent_effects.find_condition(workload, names.REQUEUED) is not None:
        return workload_status.since(workload, names.REQUEUED)
    created = (workload.get("metadata") or {}).get("creationTimestamp")
    return timestamps.parse(created) if created else timestamps.ZERO


def _leaves_already(workload: Document) -> bool:
    return workload_status.is_true(workload, names.EVICTED) or workload_status.is_true(workload, names.FINISHED)


def _event(workload: Document, reason: str, message: str, type_: str = "Normal") -> RecordEvent:
    uid = (workload.get("metadata") or {}).get("uid", "")
    return RecordEvent(
        resource=WORKLOADS,
        key=workload_status.key_of(workload),
        reason=reason,
        message=message,
        type=type_,
        uid=uid,
    )
