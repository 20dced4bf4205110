"""The life of a group of pods: the steps of any job, with its pods in the place of the job (spec/jobs 4, 9.10)."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, cast

from worker_agent.api import names
from worker_agent.api.document import at
from worker_agent.api.job_kind import prebuilt_name
from worker_agent.api.pod_set_info import InvalidPodSetInfo
from worker_agent.engine import (
    job_lifecycle,
    job_lifecycle_eviction,
    job_lifecycle_start,
    job_lifecycle_workload,
    job_pod_sets,
    workload_status,
)
from worker_agent.engine.intents import Intent
from worker_agent.engine.job_pass import JobPass
from worker_agent.engine.job_view import JobView
from worker_agent.jobs import pod_group, pod_group_workload
from worker_agent.jobs.pod_group_pass import PodGroupPass


def _group(step: Callable[[PodGroupPass], bool]) -> job_lifecycle.Step:
    return cast(job_lifecycle.Step, step)


def _gone(run: JobPass) -> bool:
    """Without pods the Workload is let go, unless it is somebody else's."""
    view = run.view
    if view.job is not None:
        return view.kind.skips(view.job, view.policy)
    for workload in run.candidates():
        marked = at(workload, ("metadata", "annotations"), {}).get(pod_group_workload.GROUP_MARK) == "true"
        controlled = any(owner.get("controller") for owner in at(workload, ("metadata", "ownerReferences"), []))
        if marked or not controlled or not view.policy.group_owner_checked:
            run.finalize_workloads([workload])
    return True


def _no_workload(run: PodGroupPass) -> bool:
    """Make one, once nothing of an earlier run is left; a prebuilt one is only waited for."""
    if run.workload is not None:
        return False
    prebuilt = prebuilt_name(run.job, run.view.policy)
    if prebuilt:
        run.stop_job(None, job_lifecycle_workload.NO_MATCH, "missing workload")
    if run.view.kind.active_seconds(run.job, run.view.policy, run.now) > 0:
        return True
    if prebuilt:
        return run.fail("prebuilt workload not found")
    pod_group_workload.create(run)
    return True


def _start_or_wait(run: PodGroupPass) -> bool:
    """Gated pods of an admitted group are let go; those of a dispatched one run on another cluster."""
    workload = run.workload
    if workload is None or not run.suspended or not workload_status.is_true(workload, names.ADMITTED):
        if workload is not None and run.suspended and pod_group.is_serving(run.job):
            return job_lifecycle_start.tell_pending(run, workload)
        return job_lifecycle_start.start_or_wait(run)
    view = run.view
    if view.runs_elsewhere or view.dispatched:
        return True
    if view.not_to_start:
        run.requeue_after(job_lifecycle_start.REFUSED_SECONDS)
        return True
    try:
        infos = job_pod_sets.infos_of_admission(workload, view.flavors, view.policy)
        started = view.kind.start(run.job, infos, view.policy)
    except job_pod_sets.FlavorMissing as missing:
        return run.fail(str(missing))
    except InvalidPodSetInfo as permanent:
        run.finish(workload, "FailedToStart", str(permanent))
        return True
    queue = at(workload, ("status", "admission", "clusterQueue"), "")
    for before, after in zip(list(run.pods), pod_group.members(started), strict=True):
        if after != before:
            run.patch_pod(before, after)
            run.pod_event(before, "Started", f"Admitted by clusterQueue {queue}")
    return True


def decide(view: JobView, now: datetime) -> list[Intent]:
    """What to do about this group now."""
    run = PodGroupPass(view, now)
    for step in STEPS:
        if step(run):
            break
    return run.intents


STEPS: Final[tuple[job_lifecycle.Step, ...]] = (
    _gone,
    job_lifecycle.not_ours,
    _group(pod_group_workload.ensure_one),
    job_lifecycle.own_conditions,
    job_lifecycle.workload_finished,
    job_lifecycle.workload_deleted,
    job_lifecycle.job_finished,
    _group(_no_workload),
    job_lifecycle.reclaimable_pods,
    job_lifecycle.note_pods_ready,
    job_lifecycle_eviction.evicted,
    _group(_start_or_wait),
    job_lifecycle_start.stop_unadmitted,
)
