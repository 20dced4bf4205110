"""jobset.x-k8s.io/v1alpha2 JobSet: one pod set per replicated job (spec/jobs 9.2)."""

from collections.abc import Iterator

from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import JobKind, TemplateAt
from worker_agent.api.resource_type import JOB_SETS
from worker_agent.api.topology_request import PodIndex
from worker_agent.jobs.batch_job import pod_count


class JobSet(JobKind):
    framework = "jobset.x-k8s.io/jobset"
    resource = JOB_SETS
    native_manager = "jobset.sigs.k8s.io/jobset-controller"
    success_condition = "Completed"
    rank_label = "batch.kubernetes.io/job-completion-index"
    pod_counts = ("replicatedJobsStatus",)
    topology_groups = True
    unreadable_templates_checked = 0

    def templates(self, job: Document) -> list[TemplateAt]:
        return list(_templates(self.rank_label, get(job, "spec.replicatedJobs", [])))

    def is_active(self, job: Document) -> bool:
        return any(get(each, "active", 0) > 0 for each in get(job, "status.replicatedJobsStatus", []))

    def pods_ready(self, job: Document) -> bool:
        wanted = sum(get(each, "replicas", 1) for each in get(job, "spec.replicatedJobs", []))
        statuses = get(job, "status.replicatedJobsStatus", [])
        return bool(wanted == sum(get(each, "ready", 0) + get(each, "succeeded", 0) for each in statuses))

    def reclaimable_pods(self, job: Document) -> dict[str, int]:
        """The pods of the child Jobs that have succeeded."""
        succeeded = {
            each.get("name"): get(each, "succeeded", 0) for each in get(job, "status.replicatedJobsStatus", [])
        }
        found: dict[str, int] = {}
        for each in get(job, "spec.replicatedJobs", []):
            if 0 < (done := succeeded.get(each["name"], 0)) <= get(each, "replicas", 1):
                found[each["name"].lower()] = done * pod_count(each.get("template") or {})
        return found


def _templates(rank_label: str, replicated_jobs: list[Document]) -> Iterator[TemplateAt]:
    for place, each in enumerate(replicated_jobs):
        replicas = get(each, "replicas", 1)
        index = PodIndex(rank_label, "jobset.sigs.k8s.io/job-index", replicas)
        path = ("spec", "replicatedJobs", place, "template", "spec", "template")
        yield TemplateAt(each["name"], path, replicas * pod_count(each.get("template") or {}), index=index)
