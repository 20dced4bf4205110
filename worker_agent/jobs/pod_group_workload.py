"""The one Workload of a group of pods: kept in step with its pods, or made of them (spec/jobs 9.10 "Group")."""

from collections.abc import Mapping
from typing import Final

from worker_agent.api import frameworks, names
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import prebuilt_name, queue_name
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import (
    job_lifecycle_workload,
    job_matching,
    job_workload,
    reservation,
    workload_status,
)
from worker_agent.engine.intents import CreateObject, RecordEvent
from worker_agent.engine.job_workload import PriorityMissing
from worker_agent.jobs import pod_facts, pod_group, pod_group_members
from worker_agent.jobs.pod_group_pass import PodGroupPass

GROUP_MARK: Final = names.IS_GROUP_WORKLOAD_ANNOTATION
ERR_COMPOSE: Final = "ErrWorkloadCompose"
UNOBSERVED: Final = "waiting to observe previous operations on pods"


class NotComposable(ValueError):
    """The pods make no group yet; ``told`` says whether a user hears of it by an event instead of a retry."""

    def __init__(self, message: str, *, told: bool = False, retried: bool = False) -> None:
        super().__init__(message)
        self.told = told
        self.retried = retried


def ensure_one(run: PodGroupPass) -> bool:
    """Set ``run.workload_name`` where the group has its Workload."""
    view = run.view
    try:
        if prebuilt_name(run.job, view.policy):
            return _adopt(run)
        workload = _named_like_the_group(run)
        if workload is None:
            return False
        if view.policy.group_owner_checked and at(workload, ("metadata", "annotations"), {}).get(GROUP_MARK) != "true":
            return _refuse(run, workload)
        return _match(run, workload)
    except PriorityMissing as missing:
        return job_lifecycle_workload.priority_missing(run, missing, f"prepare workload priority: {missing}")


def _named_like_the_group(run: PodGroupPass) -> Document | None:
    name = pod_facts.group_name(run.job, run.view.policy)
    return next((each for each in run.candidates() if each["metadata"]["name"] == name), None)


def _refuse(run: PodGroupPass, workload: Document) -> bool:
    """Somebody else's Workload has the group's name."""
    told = (
        f'A Workload named "{workload["metadata"]["name"]}" already exists but is not a pod group workload; '
        "this pod group cannot be admitted"
    )
    run.event("WorkloadNameConflict", told, "Warning")
    run.finalize_pods(pod for pod in run.pods if not pod_group.is_runnable(pod))
    return True


def _match(run: PodGroupPass, workload: Document) -> bool:
    """Sort the pods by the roles of the Workload; without any that it knows it is not theirs."""
    same_limit = job_matching.max_execution_seconds(run.job) == at(workload, ("spec", "maximumExecutionTimeSeconds"))
    found = pod_group_members.by_roles(run.pods, workload, run.now)
    if not same_limit or not found.kept:
        return _replace(run, workload)
    if run.view.awaiting_deletions:
        return True
    run.narrow_to([*found.kept, *found.excess, *found.replaced])
    _own(run, workload, found.kept)
    _delete_excess(run, found.excess)
    run.finalize_pods(found.replaced)
    run.narrow_to(found.kept)
    run.workload_name = workload["metadata"]["name"]
    job_lifecycle_workload.keep_true(run, run.current(workload) or workload)
    return False


def _replace(run: PodGroupPass, workload: Document) -> bool:
    """The Workload says something else than its pods: rewritten while nothing rests on it, else deleted."""
    if workload["metadata"].get("deletionTimestamp"):
        run.drop_finalizer(workload)
        return False
    if run.suspended and not reservation.has_quota(workload):
        job_lifecycle_workload.rewrite(run, workload)
        return False
    if run.view.kind.finished(run.job) is None:
        told = "No matching Workload; restoring pod templates according to existent Workload"
        run.stop_job(workload, job_lifecycle_workload.NO_MATCH, told)
    return job_lifecycle_workload.delete_others(run, [workload], found=False)


def _adopt(run: PodGroupPass) -> bool:
    """A prebuilt Workload becomes the group's if it is free and describes it."""
    workload = run.view.prebuilt
    if workload is None or frameworks.controller_of(workload) is not None:
        return False
    _own(run, workload, run.pods)
    workload = run.current(workload) or workload
    if not _is_equivalent(run, workload):
        run.finish(workload, names.OUT_OF_SYNC, "The prebuilt workload is out of sync with its user job")
        return False
    run.workload_name = workload["metadata"]["name"]
    return False


def _is_equivalent(run: PodGroupPass, workload: Document) -> bool:
    """Every role that was seen is in the Workload, in its order, and not with more pods than it has there."""
    wanted = {each["name"]: get(each, "count", 1) for each in at(workload, ("spec", "podSets"), [])}
    seen = {spot.name: spot.count for spot in run.view.kind.templates(run.job)}
    order = [name for name in wanted if name in seen]
    if set(seen) - set(wanted) or order != list(seen):
        return False
    finished = run.view.kind.finished(run.job) is not None
    return finished or all(count <= wanted[name] for name, count in seen.items())


def _own(run: PodGroupPass, workload: Document, pods: list[Document]) -> None:
    """Every pod of the group owns the Workload, so that it goes with the last of them."""
    owners = list(at(workload, ("metadata", "ownerReferences"), []))
    known = {(owner.get("kind"), owner.get("name"), owner.get("uid", "")) for owner in owners}
    missing = [each for each in map(owner_reference, pods) if ("Pod", each["name"], each["uid"]) not in known]
    if not missing:
        return
    run.patch_workload(workload, put(workload, ("metadata", "ownerReferences"), [*owners, *missing]))
    told = f"Added {len(missing)} owner reference(s)"
    key, uid = workload_status.key_of(workload), workload["metadata"].get("uid", "")
    run.intents.append(RecordEvent(resource=WORKLOADS, key=key, reason="OwnerReferencesAdded", message=told, uid=uid))


def owner_reference(pod: Document) -> Document:
    metadata = pod["metadata"]
    return {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata.get("uid", "")}


def _delete_excess(run: PodGroupPass, pods: list[Document]) -> None:
    for pod in pods:
        run.finalize_pods([pod])
        if not pod_facts.is_deleting(pod):
            run.delete_pod(pod)
            run.pod_event(pod, "ExcessPodDeleted", "Excess pod deleted")


def create(run: PodGroupPass) -> None:
    """Make the group's Workload of its runnable pods."""
    run.finalize_pods(pod for pod in run.pods if not pod_group.is_runnable(pod))
    try:
        _check(run)
        workload = _build(run)
    except PriorityMissing as missing:
        job_lifecycle_workload.priority_missing(run, missing, str(missing))
        return
    except NotComposable as reason:
        if reason.told:
            run.event(ERR_COMPOSE, str(reason), "Warning")
        if reason.retried:
            run.fail(str(reason))
        return
    except ValueError as unreadable:
        run.fail(str(unreadable))
        return
    run.write(CreateObject(resource=WORKLOADS, document=workload))
    run.event("CreatedWorkload", f"Created Workload: {workload_status.key_of(workload)}")


def _check(run: PodGroupPass) -> None:
    """Raises NotComposable while the pods are no whole group."""
    group, total = run.job, pod_facts.total_count(run.job)
    _check_index(run.pods[0], total)
    runnable = [pod for pod in run.pods if pod_group.is_runnable(pod)]
    if len(runnable) < (1 if pod_group.is_fast(group) else total):
        name = pod_facts.group_name(group, run.view.policy)
        raise NotComposable(f"'{name}' group has fewer runnable pods than expected", told=True)
    first, *others = [pod for pod in run.pods if get(pod, "status.phase") != "Failed"]
    for other in others:
        names_ = (first["metadata"]["name"], other["metadata"]["name"])
        _same(names_, "queue names", queue_name(first), queue_name(other))
        _same(names_, "total counts", total, _count_of(other))
    if not pod_group.is_fast(group):
        _, excess = pod_group_members.split_excess(runnable, total)
        _delete_excess(run, excess)
        gone = {pod["metadata"]["name"] for pod in excess}
        run.narrow_to([pod for pod in run.pods if pod["metadata"]["name"] not in gone])


def _count_of(pod: Document) -> int | str:
    try:
        return pod_facts.total_count(pod)
    except ValueError:
        return pod_facts.annotation(pod, names.POD_GROUP_TOTAL_COUNT_ANNOTATION)


def _same(pods: tuple[str, str], what: str, first: object, other: object) -> None:
    if first != other:
        raise NotComposable(f"pods '{pods[0]}' and '{pods[1]}' has different {what}: {first}!={other}")


def _check_index(pod: Document, total: int) -> None:
    text = at(pod, ("metadata", "labels"), {}).get(names.POD_GROUP_POD_INDEX_LABEL)
    if text is None:
        return
    told = f'incorrect label value "{text}" for  "{pod["metadata"].get("namespace", "")}/{pod["metadata"]["name"]}": '
    if not (text.isascii() and text.isdigit()):
        raise NotComposable(
            f'{told}invalid unsigned integer: strconv.ParseUint: parsing "{text}": invalid syntax', retried=True
        )
    if int(text) >= total:
        raise NotComposable(f"{told}validation error: value should be less than {total}", retried=True)


def _build(run: PodGroupPass) -> Document:
    view = run.view
    workload = job_workload.build(view.kind, run.job, job_lifecycle_workload.classes(run), view.policy)
    if len(workload["spec"]["podSets"]) > names.MAX_POD_SETS:
        raise NotComposable(f"pod group can't include more than {names.MAX_POD_SETS} roles")
    metadata = workload["metadata"]
    labels = _agreed(run, "labels", view.policy.label_keys_to_copy)
    copied = view.policy.annotation_keys_to_copy if view.policy.custom_metric_labels else ()
    annotations = {**(metadata.get("annotations") or {}), **_agreed(run, "annotations", copied), GROUP_MARK: "true"}
    owners = [owner_reference(pod) for pod in run.pods]
    return {
        **workload,
        "metadata": {**metadata, "labels": labels, "annotations": annotations, "ownerReferences": owners},
    }


def _agreed(run: PodGroupPass, field: str, keys: tuple[str, ...]) -> Mapping[str, str]:
    """Values that any of the pods has and no two differ in."""
    found: dict[str, str] = {}
    for pod in run.pods:
        values = at(pod, ("metadata", field), {})
        for key in keys:
            if key in values and found.setdefault(key, values[key]) != values[key]:
                raise NotComposable(f"constructing workload: pods have different {field[:-1]} values", retried=True)
    return found
