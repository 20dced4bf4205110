"""v1 Pod, queued by itself (spec/jobs 9.10)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from worker_agent.api import names, need, pod_set_info, topology_request
from worker_agent.api.document import Document, get, put
from worker_agent.api.job_kind import (
    NO_CAUSE,
    Cause,
    Finish,
    JobKind,
    JobPodSet,
    StatusBack,
    Stop,
    StopStep,
    TemplateAt,
)
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.resource_type import PODS
from worker_agent.api.topology_request import PodIndex
from worker_agent.jobs import pod_facts

ANNOTATIONS: Final = ("metadata", "annotations")
WORKLOAD_DELETED: Final = "WorkloadDeleted"
TERMINATION_TARGET: Final = "TerminationTarget"


NEEDS = (
    need.of(PODS, "delete"),
    need.of(PODS, "patch", subresource="status"),
)


class Pod(JobKind):
    framework = "pod"
    resource = PODS
    managed_by_path = ""
    held_elsewhere = True
    top_level = True
    rank_label = names.POD_GROUP_POD_INDEX_LABEL

    def templates(self, job: Document) -> list[TemplateAt]:
        name = names.DEFAULT_POD_SET_NAME
        return [TemplateAt(name, (), 1, annotations_at=ANNOTATIONS, annotations_field=".".join(ANNOTATIONS))]

    def pod_sets(self, job: Document, policy: JobPolicy) -> list[JobPodSet]:
        """The spec alone makes the template: a pod's metadata is its own."""
        request = topology_request.derive(job, PodIndex(self.rank_label), policy)
        return [JobPodSet(names.DEFAULT_POD_SET_NAME, 1, {"spec": job.get("spec") or {}}, None, request)]

    def pod_labels(self, job: Document) -> dict[str, str]:
        """Those of its whole group."""
        group = pod_facts.label(job, names.POD_GROUP_NAME_LABEL)
        return {names.POD_GROUP_NAME_LABEL: group} if group else {}

    def skips(self, job: Document, policy: JobPolicy) -> bool:
        """Pods that nobody marked; without the integration of its own also those without a queued parent."""
        if pod_facts.label(job, names.MANAGED_LABEL) != "true":
            return True
        return self.framework not in policy.frameworks and not pod_facts.has_parent(job)

    def is_suspended(self, job: Document) -> bool:
        return pod_facts.is_suspended(job)

    def start(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> Document:
        pod_set_info.expect_count(1, list(infos))
        return started(job, infos[0], policy)

    def restore(self, job: Document, infos: Sequence[PodSetInfo]) -> tuple[Document, bool]:
        """A pod that was stopped is gone."""
        return job, False

    def stop(self, job: Document, infos: Sequence[PodSetInfo] | None, cause: Cause = NO_CAUSE) -> Stop:
        if not is_to_go(job, cause):
            return Stop((), False)
        return Stop((StopStep(ending(job, cause), "status"),), True, delete=True)

    def finished(self, job: Document) -> Finish | None:
        if not pod_facts.is_terminated(job):
            return None
        return Finish(get(job, "status.phase") == "Succeeded", get(job, "status.message", ""))

    def ended(self, job: Document, end: Finish, now: datetime) -> Document:
        phase = "Succeeded" if end.success else "Failed"
        return {**job, "status": {**self.idle_status(job), "phase": phase, "message": end.message}}

    def is_active(self, job: Document) -> bool:
        """Quota is free at once: its pod will not be made again."""
        return False

    def pods_ready(self, job: Document) -> bool:
        return pod_facts.is_ready(job)

    def finalize(self, job: Document) -> Document:
        return pod_facts.finalized(job)

    def is_sent(self, member: Document) -> bool:
        """A pod that has ended, or is about to, is not run once more."""
        return not pod_facts.is_deleting(member) and not pod_facts.is_terminated(member)

    def status_back(self, local: Document, remote: Document, now: datetime) -> StatusBack:
        """The held pod keeps its own word on scheduling until the other has a node: none is bought here."""
        if pod_facts.is_deleting(local):
            return StatusBack(None)
        status = dict(remote.get("status") or {})
        if pod_facts.is_gated(local) and not pod_facts.is_scheduled(remote):
            status["conditions"] = _with_own_scheduling(status, local)
        return StatusBack(None if status == (local.get("status") or {}) else status)

    def idle_status(self, job: Document) -> Document:
        """As a held pod that has never run."""
        status = job.get("status") or {}
        held = {"type": pod_facts.SCHEDULED, "status": "False", "reason": "SchedulingGated"}
        kept = {name: status[name] for name in ("qosClass",) if name in status}
        return {**kept, "phase": "Pending", "conditions": [held]}


def _with_own_scheduling(status: Document, local: Document) -> list[Document]:
    def own(document: Document, wanted: bool) -> list[Document]:
        listed = document.get("conditions") or []
        return [each for each in listed if (each.get("type") == pod_facts.SCHEDULED) is wanted]

    return [*own(status, False), *own(local.get("status") or {}, True)]


def started(pod: Document, info: PodSetInfo, policy: JobPolicy) -> Document:
    """A gated pod with what its Workload was granted; it stays held where its place is still to be told."""
    if not pod_facts.is_gated(pod):
        return pod
    running = pod_set_info.inject(pod, info, elastic=policy.elastic_jobs)
    running = pod_facts.without_gate(running, pod_facts.GATE)
    if pod_facts.TOPOLOGY_GATE in info.scheduling_gates:
        return running
    return pod_facts.without_gate(running, pod_facts.TOPOLOGY_GATE)


def is_to_go(pod: Document, cause: Cause) -> bool:
    """Whether a stop for this cause deletes the pod: suspended ones only go with their Workload."""
    if pod_facts.is_deleting(pod):
        return False
    return cause.reason == WORKLOAD_DELETED or not pod_facts.is_suspended(pod)


def ending(pod: Document, cause: Cause) -> Document:
    """The pod with the reason of its end in its status, for whoever watches it go."""
    conditions = [each for each in get(pod, "status.conditions", []) if each.get("type") != TERMINATION_TARGET]
    told = {
        "type": TERMINATION_TARGET,
        "status": "True",
        "reason": cause.reason,
        "message": cause.message,
        "lastTransitionTime": cause.at,
    }
    document: Document = put(pod, ("status", "conditions"), [*conditions, told])
    return document
