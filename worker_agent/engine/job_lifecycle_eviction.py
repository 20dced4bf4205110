"""Taking quota back from a job: eviction in two steps, holding, the end of deactivated jobs (spec/jobs 4, 9 and 14)."""

import math
from datetime import timedelta
from typing import Final

from worker_agent.api import frameworks, names
from worker_agent.api.document import Document, at
from worker_agent.engine import eviction, reservation, workload_status
from worker_agent.engine.job_pass import JobPass
from worker_agent.engine.reservation import Observability
from worker_agent.engine.workload_status import StatusDraft

ELSEWHERE_SECONDS: Final = 5.0
"""When to look again at a job that may run on another cluster, should nobody tell of its end."""


def hold(run: JobPass) -> bool:
    """A job that wants no quota for now gives its own back, and is queued again once it wants some."""
    workload = run.workload
    if workload is None:
        return False
    draft = StatusDraft(workload, run.now)
    on_hold = run.view.kind.on_hold(run.job)
    if on_hold and reservation.has_quota(workload):
        reservation.withhold(draft, names.ON_HOLD, "Job is on hold", _how(run))
    elif not on_hold and workload_status.is_on_hold(workload):
        reservation.end_hold(draft, _how(run))
    else:
        return False
    run.write(draft.intent())
    return True


def pods_returned(run: JobPass, workload: Document) -> bool:
    """The job wants pods again that it had given back, and their quota may be gone: it queues anew for all of them.

    While quota is reserved nobody may take a count of reclaimable pods back, so the books cannot just be corrected.
    """
    if workload_status.is_true(workload, names.EVICTED):
        return False
    draft = StatusDraft(workload, run.now)
    told = eviction.evict(
        draft, names.EVICTED_RECLAIMED_PODS_RETURNED, "The job wants pods again whose quota was given back"
    )
    for intent in draft.intents():
        run.write(intent)
    run.intents.append(told)
    return True


def evicted(run: JobPass) -> bool:
    """Stop the job, and give the quota back once none of its pods runs."""
    workload = run.workload
    if workload is None or not workload_status.is_true(workload, names.EVICTED):
        return False
    draft = StatusDraft(workload, run.now)
    told = draft.find(names.EVICTED) or {}
    run.stop_job(workload, f"{names.WORKLOAD_EVICTED_DUE_TO}{told.get('reason', '')}", told.get("message", ""))
    if run.view.runs_elsewhere:
        run.requeue_after(ELSEWHERE_SECONDS)
    elif reservation.has_quota(workload):
        active = run.view.kind.active_seconds(run.job, run.view.policy, run.now)
        if active == 0:
            reservation.release(draft, requeue=not _stays_away(run, workload), how=_how(run))
            run.write(draft.intent())
        elif active < math.inf:
            run.requeue_after(active)
    _retain(run, workload)
    return True


def _stays_away(run: JobPass, workload: Document) -> bool:
    """The Workload of a single Pod cannot run again: the pod is gone."""
    owner = frameworks.controller_of(workload)
    is_pods = owner is not None and frameworks.gvk_of(owner) == ("v1", "Pod")
    return run.view.policy.skip_reassignment_for_pod_owned and is_pods


def _how(run: JobPass) -> Observability:
    return Observability(fine=run.view.policy.observability, explicit=run.view.policy.explicit_status)


def _retain(run: JobPass, workload: Document) -> None:
    """A job that the system deactivated is deleted when its time is over."""
    period = run.view.policy.retain_deactivated
    reason = workload_status.reason_of(workload, names.EVICTED)
    if period is None or at(workload, ("spec", "active"), True) or not reason.startswith(names.DEACTIVATED_DUE_TO):
        return
    left = workload_status.since(workload, names.EVICTED) + period - run.now
    if left > timedelta(0):
        run.requeue_after(left.total_seconds())
        return
    run.finalize_job()
    run.event("Deleted", "Deleted job: deactivation retention period expired")
    run.delete_job()
