"""Starting an admitted job, and holding back one that is not (spec/jobs 4 steps 15 to 17, section 6)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import NotYetStartable, queue_name
from worker_agent.api.pod_set_info import InvalidPodSetInfo
from worker_agent.api.pod_sets_unknown import PodSetsUnknown
from worker_agent.engine import job_pod_sets, reservation, workload_status
from worker_agent.engine.job_pass import JobPass

REFUSED_SECONDS: Final = 5.0
"""When to look again at a job that may not be started: the hub that sent it may come back."""


def start_or_wait(run: JobPass) -> bool:
    """A suspended job starts when its Workload is admitted; before that its queue name is kept up to date."""
    workload = run.workload
    if workload is None or not run.suspended:
        return False
    if workload_status.is_true(workload, names.ADMITTED):
        return _start(run, workload)
    tell_pending(run, workload)
    queue = queue_name(run.job)
    if queue != at(workload, ("spec", "queueName"), ""):
        run.patch_workload(workload, put(workload, ("spec", "queueName"), queue or None))
    return True


def _start(run: JobPass, workload: Document) -> bool:
    view = run.view
    if view.dispatched and view.kind.held_elsewhere:
        return True
    if view.not_to_start:
        run.requeue_after(REFUSED_SECONDS)
        return True
    try:
        infos = job_pod_sets.infos_of_admission(workload, view.flavors, view.policy)
        steps = view.kind.start_steps(run.job, infos, view.policy)
    except (job_pod_sets.FlavorMissing, NotYetStartable, PodSetsUnknown) as passing:
        return run.fail(str(passing))
    except InvalidPodSetInfo as permanent:
        run.finish(workload, "FailedToStart", str(permanent))
        return True
    for step in steps:
        run.patch_job(step)
    run.event("Started", f"Admitted by clusterQueue {at(workload, ('status', 'admission', 'clusterQueue'), '')}")
    return True


def tell_pending(run: JobPass, workload: Document) -> bool:
    """What the checks say that a Workload with quota waits for; True, as a step that stops returns."""
    if not reservation.has_quota(workload):
        return True
    pending = [
        f"{check['name']}: {check['message']}"
        for check in at(workload, ("status", "admissionChecks"), [])
        if check.get("state") == names.CHECK_PENDING and check.get("message")
    ]
    if pending:
        run.event("UpdatedAdmissionCheck", "; ".join(pending))
    return True


def stop_unadmitted(run: JobPass) -> bool:
    """A job that runs without admission is stopped; the pods of an elastic one wait by their gates."""
    workload = run.workload
    if workload is None or workload_status.is_true(workload, names.ADMITTED):
        return True
    if not run.view.kind.is_elastic(run.job, run.view.policy):
        run.stop_job(workload, "NotAdmitted", "Not admitted by cluster queue")
    return True
