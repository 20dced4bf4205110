"""The life of a queued StatefulSet and of its pods (spec/jobs 9.12)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import queue_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import reservation, workload_status
from worker_agent.engine.intents import Intent
from worker_agent.engine.job_workload import PriorityMissing
from worker_agent.engine.workload_status import StatusDraft
from worker_agent.jobs import pod_facts, stateful_set
from worker_agent.jobs.serving_pass import ServingPass, ServingView, is_outdated, ungated, with_group, with_queue
from worker_agent.jobs.stateful_set import StatefulSet

HELD: Final = "StatefulSet scaled to zero; workload on hold"


def decide(view: ServingView, now: datetime) -> list[Intent]:
    """What to do about the set, its Workload and the pods that carry the Workload's name."""
    run = ServingPass(view, now)
    if view.job is None:
        return run.intents
    name = workload_name(view.job, view.workloads, view.policy)
    for pod in view.pods:
        if pod_facts.group_name(pod, view.policy) == name:
            _follow(run, pod)
    workload = view.workloads.get(name)
    if workload is None:
        _create(run, name)
    else:
        _keep_true(run, workload)
    return run.intents


def workload_name(job: Document, workloads: Mapping[str, Document], policy: JobPolicy) -> str:
    """The Workload's name; one that an earlier release made under its own scheme is kept."""
    wanted = stateful_set.workload_name_of(job, stateful_set.origin_uid(job), policy)
    legacy = stateful_set.workload_name_of(job, "", policy)
    return legacy if wanted not in workloads and legacy in workloads else wanted


def _replicas(job: Document) -> int:
    replicas: int = get(job, "spec.replicas", 1)
    return replicas


def _follow(run: ServingPass, pod: Document) -> None:
    after = with_queue(pod, queue_name(run.job)) if _replicas(run.job) else pod
    if pod_facts.is_gated(pod) and is_outdated(pod, run.job):
        after = ungated(after)
    run.patch_pod(pod, after)


def _create(run: ServingPass, name: str) -> None:
    if not _replicas(run.job) or not run.wants_workloads:
        return
    kind = run.view.kind
    (pod_set,) = kind.pod_sets(run.job, run.view.policy)
    document = {**pod_set.document(), "template": {"spec": pod_set.template.get("spec") or {}}}
    try:
        run.create_workload(name, [document], {})
    except PriorityMissing as missing:
        run.priority_missing(missing)
        run.fail(str(missing))


def _keep_true(run: ServingPass, workload: Document) -> None:
    after = workload
    if _replicas(run.job):
        after = _owned(run, after)
        if queue_name(run.job) and queue_name(run.job) != at(after, ("spec", "queueName"), ""):
            after = put(after, ("spec", "queueName"), queue_name(run.job))
    after = run.with_gates(after)
    run.patch_workload(workload, after)
    _hold_or_release(run, workload)


def _owned(run: ServingPass, workload: Document) -> Document:
    owners, ours = at(workload, ("metadata", "ownerReferences"), []), run.owner_reference()
    if any(owner.get("uid", "") == ours["uid"] and owner.get("name") == ours["name"] for owner in owners):
        return workload
    owned: Document = put(workload, ("metadata", "ownerReferences"), [*owners, ours])
    annotations = {**at(owned, ("metadata", "annotations"), {}), **run.owner_marks()}
    return put(owned, ("metadata", "annotations"), annotations)  # type: ignore[no-any-return]


def _hold_or_release(run: ServingPass, workload: Document) -> None:
    """A set of no replicas keeps its Workload and gives its quota back."""
    draft = StatusDraft(workload, run.now)
    finished = workload_status.is_true(workload, names.FINISHED)
    if not _replicas(run.job):
        if finished or not at(workload, ("spec", "active"), True) or not reservation.has_quota(workload):
            return
        reservation.withhold(draft, names.ON_HOLD, HELD, run.how)
    elif workload_status.is_on_hold(workload):
        reservation.end_hold(draft, run.how)
    else:
        return
    run.intents.append(draft.intent())


def decide_pod(pod: Document, view: ServingView, now: datetime) -> list[Intent]:
    """Make a pod of the set a member of its group; ``view.workloads`` says under which name."""
    run, policy = ServingPass(view, now), view.policy
    if view.job is None or pod_facts.is_terminated(pod) or pod_facts.is_deleting(pod):
        return run.intents
    job, queue = view.job, queue_name(view.job)
    name = workload_name(job, view.workloads, policy)
    if pod_facts.group_name(pod, policy) == name:
        run.patch_pod(pod, with_queue(pod, queue))
    elif queue or policy.manage_without_queue_name:
        run.patch_pod(pod, _member(pod, job, name, policy))
    return run.intents


def _member(pod: Document, job: Document, name: str, policy: JobPolicy) -> Document:
    pod = with_queue(put(pod, ("metadata", "labels", names.MANAGED_LABEL), "true"), queue_name(job))
    priority = at(job, ("metadata", "labels", names.PRIORITY_CLASS_LABEL))
    if priority:
        pod = put(pod, ("metadata", "labels", names.PRIORITY_CLASS_LABEL), priority)
    pod = with_group(pod, name, policy)
    annotations = {
        names.POD_GROUP_TOTAL_COUNT_ANNOTATION: str(_replicas(job)),
        names.POD_GROUP_FAST_ADMISSION_ANNOTATION: "true",
        names.POD_GROUP_SERVING_ANNOTATION: "true",
        names.POD_GROUP_POD_INDEX_LABEL_ANNOTATION: StatefulSet.rank_label,
        names.ROLE_HASH_ANNOTATION: names.DEFAULT_POD_SET_NAME,
    }
    present = at(pod, ("metadata", "annotations"), {})
    document: Document = put(pod, ("metadata", "annotations"), {**present, **annotations})
    return document
