"""The life of a queued LeaderWorkerSet: a Workload per group, and pods that know theirs (spec/jobs 9.13)."""

from datetime import datetime
from typing import Final

from worker_agent.api import frameworks, names
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import queue_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_workload, workload_status
from worker_agent.engine.intents import Intent
from worker_agent.engine.job_workload import PriorityMissing
from worker_agent.jobs import leader_worker_set, pod_facts
from worker_agent.jobs.leader_worker_set import (
    GROUP_INDEX_LABEL,
    KEY_PREFIX,
    LEADER_NAME_ANNOTATION,
    NAME_LABEL,
    group_size,
)
from worker_agent.jobs.serving_pass import ServingPass, ServingView, is_outdated, ungated, with_group, with_queue

MAIN: Final = names.DEFAULT_POD_SET_NAME


def decide(view: ServingView, now: datetime) -> list[Intent]:
    """What to do about the set, its Workloads and its pods."""
    run = ServingPass(view, now)
    failed = ""
    if view.job is not None and not view.job["metadata"].get("deletionTimestamp"):
        failed = _workloads(run)
    for pod in view.pods:
        if pod_facts.label(pod, NAME_LABEL) == view.key.name:
            _pod(run, pod)
    if failed:
        run.fail(failed)
    return run.intents


def _workloads(run: ServingPass) -> str:
    """Bring every group's Workload about; all are tried, the errors of those that failed are told together."""
    uid = run.job["metadata"].get("uid", "")
    owned = {
        name: workload
        for name, workload in run.view.workloads.items()
        if any(owner.get("uid") == uid for owner in at(workload, ("metadata", "ownerReferences"), []))
    }
    errors: list[str] = []
    wanted = {
        leader_worker_set.workload_name_of(run.job, index, run.view.policy): index for index in range(_groups(run.job))
    }
    for name, index in wanted.items():
        try:
            if name in owned:
                _keep_true(run, owned[name])
            elif run.view.workloads.get(name) is None:
                _create(run, name, index)
        except PriorityMissing as missing:
            run.priority_missing(missing)
            errors.append(f"prepare workload priority: {missing}" if name in owned else str(missing))
    for name, workload in owned.items():
        if name not in wanted:
            run.delete_workload(workload)
    return "\n".join(dict.fromkeys(errors))


def _groups(job: Document) -> int:
    """Groups that are wanted, with those that a rolling update has beside them for a while."""
    replicas: int = get(job, "spec.replicas", 1)
    status = job.get("status") or {}
    surge = get(job, "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge", 0)
    present = status.get("replicas", 0)
    updating = (status.get("updatedReplicas") or 0) < replicas
    return int(present) if surge and surge != "0%" and updating and present > replicas else replicas


def _create(run: ServingPass, name: str, index: int) -> None:
    if not run.wants_workloads and names.MULTIKUEUE_ORIGIN_LABEL in at(run.job, ("metadata", "labels"), {}):
        return
    pod_sets = [
        {**pod_set.document(), "template": _template(pod_set.template)}
        for pod_set in run.view.kind.pod_sets(run.job, run.view.policy)
    ]
    run.create_workload(name, pod_sets, {names.COMPONENT_WORKLOAD_INDEX_ANNOTATION: str(index)})


def _template(template: Document) -> Document:
    """Without what the set's own controller writes into each pod, but for the set's name."""
    metadata = dict(template.get("metadata") or {})
    for field in ("labels", "annotations"):
        if field in metadata:
            metadata[field] = {
                name: value
                for name, value in metadata[field].items()
                if not name.startswith(KEY_PREFIX) or name == NAME_LABEL
            }
    return {**template, "metadata": metadata}


def _keep_true(run: ServingPass, workload: Document) -> None:
    """Queue and gates in one write, then the priority class. Raises PriorityMissing."""
    after = workload
    queue = queue_name(run.job)
    if queue != at(after, ("spec", "queueName"), ""):
        after = put(after, ("spec", "queueName"), queue or None)
    after = run.with_gates(after)
    run.patch_workload(workload, after)
    reference = at(after, ("spec", "priorityClassRef"), {})
    if workload_status.is_true(workload, names.FINISHED) or reference.get("group") == names.POD_PRIORITY_CLASS_GROUP:
        return
    if job_workload.priority_class_label(run.job) == reference.get("name", ""):
        return
    pod_sets = at(after, ("spec", "podSets"), [])
    priority = job_workload.resolve_priority(run.view.kind, run.job, pod_sets, run.classes)
    run.patch_workload(after, {**after, "spec": job_workload.with_priority(after["spec"], priority)})
    key = workload_status.key_of(workload)
    run.event("UpdatedWorkload", f"Updated workload priority class: {key}")


def _pod(run: ServingPass, pod: Document) -> None:
    stateful_set = _set_of(run, pod)
    if run.view.job is None or stateful_set is None or is_outdated(pod, stateful_set):
        run.patch_pod(pod, ungated(pod))
        return
    if pod_facts.is_terminated(pod) or pod_facts.is_deleting(pod):
        return
    labels = at(pod, ("metadata", "labels"), {})
    if names.MANAGED_LABEL in labels:
        run.patch_pod(pod, with_queue(pod, queue_name(run.job)) if pod_facts.is_gated(pod) else pod)
    elif GROUP_INDEX_LABEL in labels:
        run.patch_pod(pod, _member(pod, run.job, int(labels[GROUP_INDEX_LABEL]), run.view.policy))


def _set_of(run: ServingPass, pod: Document) -> Document | None:
    """The StatefulSet that controls the pod: that of the leaders, or of one group's workers."""
    owner = frameworks.controller_of(pod)
    if owner is None or owner.get("kind") != "StatefulSet":
        return None
    return next((each for each in run.view.sets if each["metadata"]["name"] == owner.get("name")), None)


def _member(pod: Document, job: Document, index: int, policy: JobPolicy) -> Document:
    name = leader_worker_set.workload_name_of(job, index, policy)
    pod = put(pod, ("metadata", "labels", names.MANAGED_LABEL), "true")
    if pod_facts.is_gated(pod):
        pod = with_queue(pod, queue_name(job))
    pod = with_group(pod, name, policy)
    present = at(pod, ("metadata", "annotations"), {})
    role, size = _role(job, present), str(group_size(job))
    annotations = {names.POD_GROUP_TOTAL_COUNT_ANNOTATION: size, names.ROLE_HASH_ANNOTATION: role}
    document: Document = put(pod, ("metadata", "annotations"), {**present, **annotations})
    return document


def _role(job: Document, annotations: dict[str, str]) -> str:
    if at(job, leader_worker_set.LEADER) is None:
        return MAIN
    return "worker" if LEADER_NAME_ANNOTATION in annotations else "leader"
