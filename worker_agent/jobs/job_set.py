"""jobset.x-k8s.io/v1alpha2 JobSet: one pod set per replicated job (spec/jobs 9.2)."""

from worker_agent.api.document import Document
from worker_agent.api.job_kind import TemplateAt
from worker_agent.api.resource_type import JOB_SETS
from worker_agent.jobs import replicated_jobs
from worker_agent.jobs.replicated_jobs import ReplicatedJobsKind


class JobSet(ReplicatedJobsKind):
    framework = "jobset.x-k8s.io/jobset"
    resource = JOB_SETS
    pod_name_label = "jobset.sigs.k8s.io/jobset-name"
    native_manager = "jobset.sigs.k8s.io/jobset-controller"
    success_condition = "Completed"
    pod_counts = ("replicatedJobsStatus",)
    statuses = "status.replicatedJobsStatus"
    topology_groups = True

    def templates(self, job: Document) -> list[TemplateAt]:
        path = ("template", "spec", "template")
        return [
            TemplateAt(
                each["name"],
                ("spec", "replicatedJobs", place, *path),
                replicated_jobs.pods(each),
                index=self.pod_index(each),
            )
            for place, each in enumerate(self.replicated_jobs(job))
        ]
