"""leaderworkerset.x-k8s.io/v1 LeaderWorkerSet: each of its groups has a Workload of its own (spec/jobs 9.13)."""

from collections.abc import Iterable
from typing import Final

from worker_agent.api import names, workload_name
from worker_agent.api.document import Document, at, get
from worker_agent.api.job_kind import TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import LEADER_WORKER_SETS
from worker_agent.api.topology_request import PodIndex
from worker_agent.jobs.serving import PARENT, ServingKind, marked, queue_labels
from worker_agent.jobs.stateful_set import origin_uid

LEADER: Final = ("spec", "leaderWorkerTemplate", "leaderTemplate")
WORKER: Final = ("spec", "leaderWorkerTemplate", "workerTemplate")
KEY_PREFIX: Final = "leaderworkerset.sigs.k8s.io"
NAME_LABEL: Final = f"{KEY_PREFIX}/name"
GROUP_INDEX_LABEL: Final = f"{KEY_PREFIX}/group-index"
WORKER_INDEX_LABEL: Final = f"{KEY_PREFIX}/worker-index"
LEADER_NAME_ANNOTATION: Final = f"{KEY_PREFIX}/leader-name"


class LeaderWorkerSet(ServingKind):
    framework = "leaderworkerset.x-k8s.io/leaderworkerset"
    resource = LEADER_WORKER_SETS
    pod_name_label = "leaderworkerset.sigs.k8s.io/name"
    parent = "leaderworkerset.x-k8s.io/leaderworkerset"
    topology_groups = True
    points_at_workload = False

    def templates(self, job: Document) -> list[TemplateAt]:
        """The pod sets of one group."""
        size, index = group_size(job), PodIndex(WORKER_INDEX_LABEL)
        if at(job, LEADER) is None:
            return [TemplateAt(names.DEFAULT_POD_SET_NAME, WORKER, size, index=index)]
        return [TemplateAt("leader", LEADER, 1, index=PodIndex()), TemplateAt("worker", WORKER, size - 1, index=index)]

    def workload_names(self, job: Document, policy: JobPolicy) -> Iterable[str]:
        groups = max(get(job, "spec.replicas", 1), get(job, "status.replicas", 0))
        return [workload_name_of(job, index, policy) for index in range(groups)]

    def workload_count(self, job: Document) -> int:
        return int(get(job, "spec.replicas", 1))

    def suspend(self, job: Document) -> Document:
        labels = queue_labels(job)
        annotations = {PARENT: self.parent, names.POD_GROUP_SERVING_ANNOTATION: "true"}
        for template in (LEADER, WORKER):
            if at(job, template) is not None:
                job = marked(job, template, labels, annotations)
        return job

    def own_defaults(self, job: Document, policy: JobPolicy) -> Document:
        """A leader is rank 0, so that the workers' indexes begin one later, unless both are placed as one group."""
        worker = at(job, (*WORKER, "metadata", "annotations"), {})
        if not policy.topology_aware or at(job, LEADER) is None or PARENT not in worker:
            return job
        if worker.get(names.POD_SET_GROUP_NAME_ANNOTATION):
            return job
        return marked(job, WORKER, {}, {names.POD_INDEX_OFFSET_ANNOTATION: "1"})


def group_size(job: Document) -> int:
    """Pods of one group, its leader among them."""
    size: int = get(job, "spec.leaderWorkerTemplate.size", 1)
    return size


def workload_name_of(job: Document, index: int, policy: JobPolicy) -> str:
    """The name of the Workload of the group with this index."""
    owner = f"{job['metadata']['name']}-{index}"
    resource = LeaderWorkerSet.resource
    short = policy.short_workload_names
    return workload_name.name_of(resource.kind, resource.group, owner, origin_uid(job), short=short)
