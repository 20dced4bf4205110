"""A job made by another queued object runs only while that one is admitted; it never has a Workload of its own."""

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.engine import job_pod_sets, workload_status
from worker_agent.engine.job_pass import JobPass


def follow_ancestor(run: JobPass) -> bool:
    """Suspend a running child whose ancestor is not admitted (an elastic one: is evicted); a child ends here always."""
    ancestor = run.view.ancestry.managed
    if ancestor is None:
        return False
    kind = run.view.kind
    if run.suspended or kind.finished(run.job) is not None:
        return True
    if not _may_run(run, ancestor):
        run.patch_job(kind.suspend(run.job))
        run.event("Suspended", "Kueue managed child job suspended")
    return True


def _may_run(run: JobPass, ancestor: Document) -> bool:
    newest = _newest_unfinished(run.view.ancestor_workloads)
    if newest is None:
        return False
    if run.view.policy.elastic_jobs and (job_pod_sets.is_elastic(run.job) or job_pod_sets.is_elastic(ancestor)):
        return not workload_status.is_true(newest, names.EVICTED)
    return workload_status.is_true(newest, names.ADMITTED)


def _newest_unfinished(workloads: tuple[Document, ...]) -> Document | None:
    unfinished = [workload for workload in workloads if not workload_status.is_true(workload, names.FINISHED)]
    return max(unfinished, key=lambda workload: workload["metadata"].get("creationTimestamp") or "", default=None)
