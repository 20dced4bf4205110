"""What the kinds made of replicated jobs share: named Jobs, each in so many replicas (spec/jobs 9.2, 9.5)."""

from typing import ClassVar

from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import JobKind
from worker_agent.api.topology_request import PodIndex
from worker_agent.jobs.batch_job import pod_count


class ReplicatedJobsKind(JobKind):
    """A kind says where its status speaks of its replicated jobs, and which those are."""

    rank_label = "batch.kubernetes.io/job-completion-index"
    unreadable_templates_checked = 0

    statuses: ClassVar[str]
    """Path of the list of statuses, one for each replicated job by name."""

    def replicated_jobs(self, job: Document) -> list[Document]:
        """Those that are known to run: what they are made from may be gone by now."""
        found: list[Document] = get(job, "spec.replicatedJobs", [])
        return found

    def pod_index(self, each: Document) -> PodIndex:
        """A pod's place: its index in its Job, and that Job's among the replicas."""
        return PodIndex(self.rank_label, "jobset.sigs.k8s.io/job-index", replicas(each))

    def is_active(self, job: Document) -> bool:
        return any(get(each, "active", 0) > 0 for each in get(job, self.statuses, []))

    def pods_ready(self, job: Document) -> bool:
        """Every child Job is ready or has succeeded."""
        done = sum(get(each, "ready", 0) + get(each, "succeeded", 0) for each in get(job, self.statuses, []))
        return bool(done == sum(map(replicas, self.replicated_jobs(job))))

    def reclaimable_pods(self, job: Document) -> dict[str, int]:
        """The pods of the child Jobs that have succeeded."""
        succeeded = {each.get("name"): get(each, "succeeded", 0) for each in get(job, self.statuses, [])}
        found: dict[str, int] = {}
        for each in self.replicated_jobs(job) if any(succeeded.values()) else ():
            if 0 < (done := succeeded.get(each["name"], 0)) <= replicas(each):
                found[each["name"].lower()] = done * pod_count(each.get("template") or {})
        return found


def replicas(each: Document) -> int:
    return int(get(each, "replicas", 1))


def pods(each: Document) -> int:
    """Pods at one time over all replicas."""
    return replicas(each) * pod_count(each.get("template") or {})
