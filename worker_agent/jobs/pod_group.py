"""Plain pods queued together: one Workload, a pod set for each role (spec/jobs 9.10 "Group").

A group is looked at as one document: the metadata of its first pod, which stands for it, and all its pods as members.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from worker_agent.api import names, topology_request
from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import NO_CAUSE, Cause, Finish, JobKind, JobPodSet, Stop, TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.topology_request import PodIndex
from worker_agent.jobs import pod_facts, pod_role
from worker_agent.jobs.pod import Pod, ending, is_to_go, started

_MEMBERS: Final = "~members"
WAITING: Final = "WaitingForReplacementPods"


def compose(pods: Sequence[Document]) -> Document:
    """The group's document; ``pods`` come by name and are not empty."""
    first = pods[0]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": first["metadata"], _MEMBERS: list(pods)}


def members(group: Document) -> list[Document]:
    pods: list[Document] = group[_MEMBERS]
    return pods


def role(pod: Document) -> str:
    """The pod set the pod belongs to; the webhook's mark wins over what the pod looks like now."""
    return pod_facts.annotation(pod, names.ROLE_HASH_ANNOTATION) or pod_role.role_hash(pod.get("spec") or {})


def is_fast(group: Document) -> bool:
    """Admitted before all pods are there, on the word of the first."""
    return pod_facts.annotation(group, names.POD_GROUP_FAST_ADMISSION_ANNOTATION) == "true"


def is_serving(group: Document) -> bool:
    return pod_facts.annotation(group, names.POD_GROUP_SERVING_ANNOTATION) == "true"


def is_runnable(pod: Document) -> bool:
    """Runs, will run, or has run well; the others are inactive and can be replaced."""
    if get(pod, "status.phase") == "Failed":
        return False
    return not pod_facts.is_deleting(pod) or bool(get(pod, "spec.nodeName"))


_SINGLE: Final = Pod()


class PodGroup(Pod):
    composable = True

    def templates(self, job: Document) -> list[TemplateAt]:
        """The pod set of each role of the runnable pods, by hash; the first pod of a role is its template."""
        pods = [pod for pod in members(job) if is_runnable(pod)]
        if is_fast(job) and pods:
            pods = pods[:1]
        by_role: dict[str, list[Document]] = {}
        for pod in pods:
            by_role.setdefault(role(pod), []).append(pod)
        total = pod_facts.total_count(job) if is_fast(job) else 0
        return [_spot(name, by_role[name], total) for name in sorted(by_role)]

    def pod_sets(self, job: Document, policy: JobPolicy) -> list[JobPodSet]:
        found = []
        for spot in self.templates(job):
            pod = spot.rendered or {}
            request = topology_request.derive(pod, PodIndex(self.rank_label), policy)
            found.append(JobPodSet(spot.name, spot.count, {"spec": pod.get("spec") or {}}, None, request))
        return found

    def workload_name(self, job: Document, policy: JobPolicy) -> str:
        return pod_facts.group_name(job, policy)

    def is_suspended(self, job: Document) -> bool:
        return any(map(pod_facts.is_suspended, members(job)))

    def start(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> Document:
        """Every gated pod of a role that was admitted is let go, with what its role was granted."""
        by_role = {info.name: info for info in infos}
        return {**job, _MEMBERS: [_started(pod, by_role, policy) for pod in members(job)]}

    def stop(self, job: Document, infos: Sequence[PodSetInfo] | None, cause: Cause = NO_CAUSE) -> Stop:
        raise TypeError("a pod group is stopped pod by pod")

    def stopped_members(self, job: Document, cause: Cause) -> list[tuple[Document, Document]]:
        """Each pod that has to go, as it is and with the reason of its end in its status."""
        return [(pod, ending(pod, cause)) for pod in members(job) if is_to_go(pod, cause)]

    def finished(self, job: Document) -> Finish | None:
        """When enough pods have succeeded, or none runs and one says that it shall not be tried again."""
        if is_serving(job):
            return None
        pods = members(job)
        succeeded = sum(get(pod, "status.phase") == "Succeeded" for pod in pods)
        active = any(not pod_facts.is_terminated(pod) for pod in pods)
        unretriable = any(pod_facts.annotation(pod, names.RETRIABLE_IN_GROUP_ANNOTATION) == "false" for pod in pods)
        total = _total(job)
        if succeeded != total and (active or not unretriable):
            return None
        return Finish(True, f"Pods succeeded: {succeeded}/{total}.")

    def reclaimable_pods(self, job: Document) -> dict[str, int]:
        found: dict[str, int] = {}
        if is_serving(job):
            return found
        for pod in members(job):
            if get(pod, "status.phase") == "Succeeded":
                found[role(pod)] = found.get(role(pod), 0) + 1
        return found

    def is_active(self, job: Document) -> bool:
        return any(map(pod_facts.is_running, members(job)))

    def active_seconds(self, job: Document, policy: JobPolicy, now: datetime) -> float:
        """A pod that hangs while it ends, for instance on a lost node, holds quota no longer than its grace period."""
        return max((pod_facts.seconds_left(pod, policy, now) for pod in members(job)), default=0.0)

    def pods_ready(self, job: Document) -> bool:
        pods = members(job)
        return all(map(pod_facts.is_ready, pods)) and len(pods) >= _total(job)

    def member_changed(
        self, job: Document, name: str, change: Callable[[Document], Document | None]
    ) -> Document | None:
        changed = [change(pod) if pod["metadata"]["name"] == name else pod for pod in members(job)]
        left = [pod for pod in changed if pod is not None]
        return compose(left) if left else None

    def members(self, job: Document) -> list[Document]:
        return members(job)

    @property
    def of_member(self) -> JobKind:
        return _SINGLE

    def finalize(self, job: Document) -> Document:
        return {**job, _MEMBERS: [pod_facts.finalized(pod) for pod in members(job)]}

    def workload_conditions(self, job: Document, workload: Document) -> list[Document]:
        """Whether pods are missing that a user has to make anew (never said of prebuilt Workloads)."""
        condition = next((c for c in get(workload, "status.conditions", []) if c["type"] == WAITING), None)
        is_true = condition is not None and condition["status"] == "True"
        if self._absent(job, workload):
            if evicted := _evicted(workload):
                return [_waiting("True", evicted.get("reason", ""), evicted.get("message", ""))]
            return [] if is_true else [_waiting("True", "PodsFailed", "Some Failed pods need replacement")]
        return [_waiting("False", "PodsReady", "No pods need replacement")] if is_true else []

    def _absent(self, job: Document, workload: Document) -> int:
        """Pods that are missing, over all roles of the Workload."""
        active: dict[str, int] = {}
        for pod in members(job):
            if is_runnable(pod):
                active[role(pod)] = active.get(role(pod), 0) + 1
        counts = {each["name"]: get(each, "count", 1) for each in get(workload, "spec.podSets", [])}
        if is_fast(job):
            return sum(1 for name in counts if not active.get(name))
        return sum(max(0, count - active.get(name, 0)) for name, count in counts.items())


def _spot(name: str, pods: Sequence[Document], total: int) -> TemplateAt:
    return TemplateAt(name, (), total or len(pods), rendered=pods[0])


def _started(pod: Document, by_role: dict[str, PodSetInfo], policy: JobPolicy) -> Document:
    info = by_role.get(role(pod))
    if info is None or not pod_facts.is_gated(pod):
        return pod
    return started(pod, info, policy)


def _total(group: Document) -> int:
    try:
        return pod_facts.total_count(group)
    except ValueError:
        return len(members(group))


def _evicted(workload: Document) -> Document | None:
    conditions: Iterable[Document] = get(workload, "status.conditions", [])
    return next((each for each in conditions if each["type"] == names.EVICTED and each["status"] == "True"), None)


def _waiting(status: str, reason: str, message: str) -> Document:
    return {"type": WAITING, "status": status, "reason": reason, "message": message}
