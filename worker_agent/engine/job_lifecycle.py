"""The life of a queued job: one decision per look at it (spec/jobs section 4).

The shell loads a ``JobView``, calls ``decide``, applies the intents, and comes again when something changed. A decision
is one pass over ``STEPS``; the first step that stops ends it. Several steps may write in one pass, each seeing what
those before it did.
"""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Final

from worker_agent.api import frameworks, names, timestamps
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import prebuilt_name, queue_name
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import (
    intent_effects,
    job_first_wait,
    job_lifecycle_child,
    job_lifecycle_eviction,
    job_lifecycle_start,
    job_lifecycle_workload,
    pods_ready,
    reservation,
    workload_status,
)
from worker_agent.engine.intents import (
    RECLAIMABLE_PODS_MANAGER,
    ApplyStatus,
    DeleteObject,
    Intent,
    RecordEvent,
    RequeueAfter,
    RetryWithError,
    SetCondition,
)
from worker_agent.engine.job_pass import JobPass
from worker_agent.engine.job_view import WRITES, JobView

FINISHED_WORKLOAD: Final = "FinishedWorkload"
DEPENDENTS_FIRST: Final = "foregroundDeletion"
DEFAULT_GRACE_SECONDS: Final = 30
"""What a pod has that names no terminationGracePeriodSeconds."""
STOP_MARGIN_SECONDS: Final = 5
"""How much longer than its grace a pod may take to go."""

Step = Callable[[JobPass], bool]
"""Does what is due; True ends the decision."""


def decide(view: JobView, now: datetime) -> list[Intent]:
    """What to do about this job now."""
    run = JobPass(view, now)
    for step in STEPS:
        if step(run) or run.gone:
            break
    return run.intents


Decide = Callable[[JobView, datetime], list[Intent]]


def decide_to_rest(view: JobView, now: datetime, rounds: int = 8, decide: Decide = decide) -> list[Intent]:
    """Decide again on the outcome until nothing more is to be written, so that each object is written once.

    A retry ends it: its cause is a state that the API server has to reach first. Every look at a finished job says so
    again; without a write there is nothing to tell. That pods are not ready yet is told when they take long: until then
    the absence of the condition says the same to everyone who reads it, and most jobs start without this write.
    """
    return list(job_first_wait.left_unsaid(view, _to_rest(view, now, rounds, decide), now))


def _to_rest(view: JobView, now: datetime, rounds: int, decide: Decide) -> list[Intent]:
    intents: list[Intent] = []
    for number in range(rounds):
        made = decide(view, now)
        writes = [intent for intent in made if isinstance(intent, WRITES)]
        if number and not writes:
            # Nothing left to write: what is said again was said before, only wishes for later count.
            return intents + [intent for intent in made if isinstance(intent, RequeueAfter | RetryWithError)]
        if not writes:
            made = [intent for intent in made if not _says_finished(intent)]
        intents += [intent for intent in made if not (isinstance(intent, RecordEvent) and intent in intents)]
        if not writes or isinstance(intents[-1], RetryWithError):
            break
        view = view.after(writes, now)
    return intents


def _says_finished(intent: Intent) -> bool:
    return isinstance(intent, RecordEvent) and intent.reason == FINISHED_WORKLOAD


def _gone(run: JobPass) -> bool:
    view = run.view
    if view.job is None:
        run.finalize_workloads(run.candidates())
        return True
    _let_go_of_namesakes(run)
    if view.kind.skips(view.job, view.policy):
        return True
    if view.job["metadata"].get("deletionTimestamp"):
        seconds = _seconds_to_linger(run) if _pods_linger(run) else 0.0
        if seconds <= 0:
            run.finalize_workloads(run.candidates())
            run.finalize_job()
        elif seconds < math.inf:
            run.requeue_after(seconds)
        return True
    return False


def _seconds_to_linger(run: JobPass) -> float:
    """How long a deleted job's pods may still be there: as long as it says so itself, unless its dependents go first.

    Then pods go at once and the Workload, another dependent, is waited for by the job's own deletion, while controllers
    look away from a job on its way out and its status stays as it was.
    """
    metadata = run.job["metadata"]
    if DEPENDENTS_FIRST not in (metadata.get("finalizers") or ()):
        return math.inf
    graces = (
        at(pod_set, ("template", "spec", "terminationGracePeriodSeconds"), DEFAULT_GRACE_SECONDS)
        for workload in run.candidates()
        for pod_set in at(workload, ("spec", "podSets"), [])
    )
    longest = float(max(graces, default=DEFAULT_GRACE_SECONDS)) + STOP_MARGIN_SECONDS
    return (timestamps.parse(metadata["deletionTimestamp"]) - run.now).total_seconds() + longest


def _let_go_of_namesakes(run: JobPass) -> None:
    """A Workload on its way out whose owner was an earlier job of this name has nobody else to finalize it.

    The new job may not be queued at all, or may not be accepted: that must not keep the quota of the old one.
    """
    uid = run.job["metadata"].get("uid", "")
    for workload in run.candidates():
        owner = frameworks.controller_of(workload) or {}
        earlier = uid and owner.get("uid") and owner["uid"] != uid
        if earlier and workload["metadata"].get("deletionTimestamp"):
            run.drop_finalizer(workload)


def _pods_linger(run: JobPass) -> bool:
    """Whether pods of an earlier run hold on here, whose quota is not free yet.

    A job that runs on another cluster is not waited for: its status comes no longer once its Workload is gone.
    """
    kind = run.view.kind
    active = kind.active_seconds(run.job, run.view.policy, run.now) > 0
    return active and kind.managed_by(run.job) != names.MULTIKUEUE_CONTROLLER


def not_ours(run: JobPass) -> bool:
    """Jobs of other namespaces, and jobs that neither name a queue nor belong to one that does."""
    view = run.view
    if view.namespace_labels is None:
        return True
    if view.policy.namespaces is not None and not view.policy.namespaces.matches(view.namespace_labels):
        return True
    if view.ancestry.error:
        if view.ancestry.too_deep:
            run.event("JobNestingTooDeep", view.ancestry.error, "Warning")
        return run.fail(view.ancestry.error)
    named = view.policy.manage_without_queue_name or queue_name(run.job)
    return not named and view.ancestry.managed is None


def clear_remains(run: JobPass) -> bool:
    """Of a held job nothing may run: what its own controller leaves standing is deleted, pods first."""
    for resource, document in run.view.kind.remains(run.job) if run.suspended else ():
        if not document["metadata"].get("deletionTimestamp"):
            metadata = document["metadata"]
            key = Key(metadata.get("namespace", ""), metadata["name"])
            uid = metadata.get("uid", "")
            run.write(DeleteObject(resource=resource, key=key, uid=uid, propagation="Foreground"))
    return False


def note_companions(run: JobPass) -> bool:
    run.patch_job(run.view.kind.annotated(run.job))
    return False


def own_conditions(run: JobPass) -> bool:
    """Conditions and activation that the kind itself dictates."""
    workload, kind = run.workload, run.view.kind
    if workload is None:
        return False
    before = len(run.intents)
    for wanted in kind.workload_conditions(run.job, workload):
        condition = SetCondition(wanted["type"], wanted["status"], wanted["reason"], wanted.get("message", ""))
        run.set_condition(
            run.current(workload) or workload, condition, f"kueue-{kind.resource.kind.lower()}-controller"
        )
    if len(run.intents) > before:
        return True
    active = kind.workload_active(run.job)
    if active is not None and active != at(workload, ("spec", "active"), True):
        run.patch_workload(workload, {**workload, "spec": {**workload["spec"], "active": active}})
    return False


def workload_finished(run: JobPass) -> bool:
    workload = run.workload
    if workload is None or not workload_status.is_true(workload, names.FINISHED):
        return False
    run.finalize_job()
    _declare_finished(run, workload)
    run.drop_finalizer(workload)
    return True


def _declare_finished(run: JobPass, workload: Document) -> None:
    run.event(FINISHED_WORKLOAD, f"Workload '{workload_status.key_of(workload)}' is declared finished")


def workload_deleted(run: JobPass) -> bool:
    workload = run.workload
    if workload is None or not workload["metadata"].get("deletionTimestamp"):
        return False
    stopped = run.stop_job(workload, "WorkloadDeleted", "Workload is deleted")
    if run.view.runs_elsewhere and not run.job["metadata"].get("deletionTimestamp"):
        # It alone says where. Once it is gone the job gets another one, and may be started in another place.
        run.requeue_after(job_lifecycle_eviction.ELSEWHERE_SECONDS)
    elif stopped:
        run.drop_finalizer(workload)
    return True


def job_finished(run: JobPass) -> bool:
    finish = run.view.kind.finished(run.job)
    if finish is None:
        return False
    workload = run.workload
    if workload is not None:
        run.finish(workload, names.SUCCEEDED if finish.success else names.FAILED, finish.message)
        _declare_finished(run, workload)
    run.finalize_job()
    return True


def _no_workload(run: JobPass) -> bool:
    """Make one, once nothing of an earlier run is left; a prebuilt one is only waited for."""
    if run.workload is not None:
        return False
    view = run.view
    prebuilt = prebuilt_name(run.job, view.policy)
    if prebuilt:
        run.stop_job(None, job_lifecycle_workload.NO_MATCH, "missing workload")
    if _pods_linger(run) and not view.kind.is_elastic(run.job, view.policy):
        return True
    if prebuilt:
        return run.fail("prebuilt workload not found")
    job_lifecycle_workload.create(run)
    return True


def reclaimable_pods(run: JobPass) -> bool:
    workload = run.workload
    if workload is None or not run.view.policy.reclaimable_pods:
        return False
    sizes = {pod_set.get("name", "main"): pod_set.get("count", 1) for pod_set in at(workload, ("spec", "podSets"), [])}
    found = run.view.kind.reclaimable_pods(run.job)
    wanted = {name: min(count, sizes[name]) for name, count in found.items() if name in sizes}
    told = {entry["name"]: entry.get("count", 0) for entry in at(workload, ("status", "reclaimablePods"), [])}
    if wanted == told:
        return False
    shrinks = any(wanted.get(name, 0) < count for name, count in told.items())
    if shrinks and reservation.has_quota(workload) and not run.view.kind.is_elastic(run.job, run.view.policy):
        return job_lifecycle_eviction.pods_returned(run, workload)
    entries = [{"name": name, "count": count} for name, count in wanted.items()]
    run.write(
        ApplyStatus(
            resource=WORKLOADS,
            key=workload_status.key_of(workload),
            field_manager=RECLAIMABLE_PODS_MANAGER,
            fields={"reclaimablePods": entries},
            strict=False,
        )
    )
    return True


def note_pods_ready(run: JobPass) -> bool:
    workload = run.workload
    if workload is None or not run.view.policy.wait_for_pods_ready:
        return False
    admitted = workload_status.is_true(workload, names.ADMITTED)
    wanted = pods_ready.readiness(workload, admitted=admitted, pods_ready=run.view.kind.pods_ready(run.job))
    status = "True" if wanted.ready else "False"
    told = intent_effects.find_condition(workload, names.PODS_READY) or {}
    if (told.get("status"), told.get("reason")) == (status, wanted.reason):
        return False
    run.set_condition(workload, SetCondition(names.PODS_READY, status, wanted.reason, wanted.message))
    return True


STEPS: tuple[Step, ...] = (
    _gone,
    not_ours,
    job_lifecycle_child.follow_ancestor,
    clear_remains,
    note_companions,
    job_lifecycle_workload.ensure_one,
    own_conditions,
    workload_finished,
    workload_deleted,
    job_lifecycle_eviction.hold,
    job_finished,
    _no_workload,
    reclaimable_pods,
    note_pods_ready,
    job_lifecycle_eviction.evicted,
    job_lifecycle_start.start_or_wait,
    job_lifecycle_start.stop_unadmitted,
)
