"""One Workload per job: find it, keep it true, replace it, make it (spec/jobs section 5)."""

from typing import Final

from worker_agent.api import frameworks, names
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import prebuilt_name
from worker_agent.api.pod_sets_unknown import PodSetsUnknown
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import job_lifecycle_slices, job_matching, job_workload, reservation, workload_status
from worker_agent.engine.intents import CreateObject
from worker_agent.engine.job_pass import JobPass
from worker_agent.engine.job_workload import PriorityClasses, PriorityMissing

NO_MATCH: Final = "NoMatchingWorkload"
"""Why a job is stopped that runs without a Workload of its own."""


def ensure_one(run: JobPass) -> bool:
    """Set ``run.workload_name`` to the job's Workload, if it has one; everything else that claims to be it goes."""
    view = run.view
    try:
        prebuilt = prebuilt_name(run.job, view.policy)
        if prebuilt:
            _adopt(run)
            return False
        if view.kind.is_elastic(run.job, view.policy):
            choice = job_lifecycle_slices.choose(run)
            if choice.settled:
                return _settle_slices(run, choice)
        return _match(run)
    except PriorityMissing as missing:
        return priority_missing(run, missing, f"prepare workload priority: {missing}")
    except PodSetsUnknown as unreadable:
        return run.fail(str(unreadable))


def _settle_slices(run: JobPass, choice: job_lifecycle_slices.Choice) -> bool:
    run.workload_name = choice.selected
    for workload in choice.live:
        current = run.current(workload)
        if current is not None:
            _follow_priority(run, current)
    return False


def _adopt(run: JobPass) -> None:
    """The Workload that was made beforehand becomes the job's, if it is free and describes it."""
    workload, kind = run.view.prebuilt, run.view.kind
    if workload is None:
        return
    owner = frameworks.controller_of(workload)
    if owner is not None and owner.get("uid", "") != run.job["metadata"].get("uid", ""):
        return
    if owner is None:
        run.patch_workload(workload, _owned(run, workload))
        workload = run.current(workload) or workload
    grown = job_lifecycle_slices.REPLACEMENT in at(workload, ("metadata", "annotations"), {})
    scale_up = grown and kind.is_elastic(run.job, run.view.policy)
    if not scale_up and not job_matching.is_equivalent(kind, run.job, workload, run.view.flavors, run.view.policy):
        run.finish(workload, names.OUT_OF_SYNC, "The prebuilt workload is out of sync with its user job")
        return
    run.workload_name = workload["metadata"]["name"]


def _owned(run: JobPass, workload: Document) -> Document:
    owners = [*at(workload, ("metadata", "ownerReferences"), [])]
    owners.append(job_workload.controller_reference(run.view.kind, run.job))
    labels = {**at(workload, ("metadata", "labels"), {}), **job_workload.job_uid_label(run.job)}
    owned: Document = put(workload, ("metadata", "ownerReferences"), owners)
    return put(owned, ("metadata", "labels"), labels or None)  # type: ignore[no-any-return]


def _match(run: JobPass) -> bool:
    """The first equivalent Workload is the job's; of the others one may be rewritten, the rest is deleted."""
    kind, view = run.view.kind, run.view
    match: Document | None = None
    others: list[Document] = []
    for candidate in run.candidates():
        same = match is None and job_matching.is_equivalent(kind, run.job, candidate, view.flavors, view.policy)
        match = candidate if same else match
        if not same:
            others.append(candidate)
    rewritten = None
    if match is None and others and run.suspended and not reservation.has_quota(others[0]):
        rewritten, others = others[0], others[1:]
    if match is None and not run.suspended and not _stop_unmatched(run, others):
        return _take_back(run, others)
    if delete_others(run, others, found=match is not None):
        return True
    if rewritten is not None:
        rewrite(run, rewritten)
    elif match is not None:
        run.workload_name = match["metadata"]["name"]
        keep_true(run, match)
    return False


def _stop_unmatched(run: JobPass, others: list[Document]) -> bool:
    """Stop a job whose Workload says something else; False while its pods still run elsewhere."""
    if run.view.kind.finished(run.job) is not None:
        return True
    if len(others) == 1:
        return run.stop_job(
            others[0], NO_MATCH, "No matching Workload; restoring pod templates according to existent Workload"
        )
    return run.stop_job(None, NO_MATCH, "Missing Workload; unable to restore pod templates") or not others


def _take_back(run: JobPass, workloads: list[Document]) -> bool:
    """Ask for the Workloads to go, so that the pods elsewhere end; they are kept until then, for the templates."""
    for workload in workloads:
        if not workload["metadata"].get("deletionTimestamp"):
            run.request_deletion(workload)
            run.event("DeletedWorkload", f"Deleted not matching Workload: {workload_status.key_of(workload)}")
    return True


def delete_others(run: JobPass, workloads: list[Document], *, found: bool) -> bool:
    """Delete Workloads that are not the job's; True when that ends the decision."""
    deleted = 0
    for workload in workloads:
        if workload["metadata"].get("deletionTimestamp"):
            run.drop_finalizer(workload)
            continue
        run.delete_workload(workload)
        run.event("DeletedWorkload", f"Deleted not matching Workload: {workload_status.key_of(workload)}")
        deleted += 1
    if not deleted:
        return False
    return run.fail(f"{'extra workloads' if found else 'no matching workloads'}: deleted {deleted} workloads")


def rewrite(run: JobPass, workload: Document) -> None:
    """A Workload without quota takes the job's new form in place; only ``active`` is its own."""
    fresh = job_workload.build(run.view.kind, run.job, classes(run), run.view.policy)["spec"]
    active = at(workload, ("spec", "active"))
    run.patch_workload(workload, {**workload, "spec": fresh if active is None else {**fresh, "active": active}})
    key = workload_status.key_of(workload)
    run.event("UpdatedWorkload", f"Updated not matching Workload for suspended job: {key}")
    run.workload_name = key.name


def keep_true(run: JobPass, workload: Document) -> None:
    """What may change about a job without making another Workload of it: its priority class and its gates."""
    _follow_priority(run, workload)
    workload = run.current(workload) or workload
    if not run.view.policy.admission_gated_by or workload_status.is_true(workload, names.FINISHED):
        return
    path = ("metadata", "annotations", names.ADMISSION_GATED_BY_ANNOTATION)
    wanted = at(run.job, path)
    if wanted != at(workload, path):
        run.patch_workload(workload, put(workload, path, wanted))
        run.event("UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{wanted or ""}"')


def _follow_priority(run: JobPass, workload: Document) -> None:
    """The Workload names the class that the job's label names. Raises PriorityMissing."""
    reference = at(workload, ("spec", "priorityClassRef"))
    if workload_status.is_true(workload, names.FINISHED) or _keeps_priority(workload, reference):
        return
    if job_workload.priority_class_label(run.job) == (reference or {}).get("name", ""):
        return
    pod_sets = at(workload, ("spec", "podSets"), [])
    priority = job_workload.resolve_priority(run.view.kind, run.job, pod_sets, classes(run))
    run.patch_workload(workload, {**workload, "spec": job_workload.with_priority(workload["spec"], priority)})
    run.event("UpdatedWorkload", f"Updated workload priority class: {workload_status.key_of(workload)}")


def _keeps_priority(workload: Document, reference: Document | None) -> bool:
    if reference is None:
        return reservation.has_quota(workload)
    return reference.get("group") == names.POD_PRIORITY_CLASS_GROUP


def create(run: JobPass) -> None:
    """Make the job's Workload, or the next slice of an elastic one."""
    view = run.view
    try:
        workload = job_workload.build(view.kind, run.job, classes(run), view.policy)
        if view.kind.is_elastic(run.job, view.policy):
            workload = job_lifecycle_slices.as_slice(run, workload)
    except PriorityMissing as missing:
        priority_missing(run, missing, str(missing))
        return
    except (PodSetsUnknown, job_lifecycle_slices.TooManySlices) as error:
        run.fail(str(error))
        return
    run.write(CreateObject(resource=WORKLOADS, document=workload))
    run.event("CreatedWorkload", f"Created Workload: {workload_status.key_of(workload)}")


def classes(run: JobPass) -> PriorityClasses:
    return PriorityClasses(run.view.workload_priority_classes, run.view.priority_classes)


def priority_missing(run: JobPass, missing: PriorityMissing, message: str) -> bool:
    if missing.workload_class:
        told = f'WorkloadPriorityClass "{missing.workload_class}" not found'
        run.event("WorkloadPriorityClassNotFound", told, "Warning")
    return run.fail(message)
