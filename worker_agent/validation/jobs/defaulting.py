"""What the create webhook fills in: queue, priority class, suspension, managedBy (spec/jobs section 3)."""

from worker_agent.api import frameworks, names, written_quantities
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import JobKind, queue_name
from worker_agent.api.pod_sets_unknown import PodSetsUnknown
from worker_agent.engine import job_ancestors
from worker_agent.validation.jobs.refusal import JobRefused
from worker_agent.validation.jobs.surroundings import JobSurroundings


def default_job(kind: JobKind, job: Document, around: JobSurroundings) -> Document:
    """The job as it shall be created; the same object when nothing is to be filled in.

    Raises JobRefused where its owners cannot be followed.
    """
    if kind.belongs_elsewhere(job):
        return job
    job = default_priority_class(_default_queue(job, around), around)
    if should_be_suspended(job, around):
        job = job if kind.is_suspended(job) else kind.suspend(job)
        job = _with_amounts_written(kind, _gate_elastic_pods(kind, job, around))
    elif _is_elastic_child(kind, job, around):
        job = _gate_elastic_pods(kind, job, around)
    return kind.own_defaults(_default_manager(kind, job, around), around.policy)


def should_be_suspended(job: Document, around: JobSurroundings) -> bool:
    """Whether the job is queued itself: it names a queue (or all jobs are managed) and no queued ancestor has it.

    Raises JobRefused.
    """
    policy = around.policy
    if policy.skip_ancestors_of_deleted and job["metadata"].get("deletionTimestamp"):
        return False
    ancestry = job_ancestors.search(job, around.lookup, policy)
    if ancestry.error:
        raise JobRefused(ancestry.error)
    if ancestry.managed is not None:
        return False
    return bool(queue_name(job)) or (policy.manage_without_queue_name and around.managed_namespace)


def _is_elastic_child(kind: JobKind, job: Document, around: JobSurroundings) -> bool:
    """Made for a queued elastic job, and it grows with that one: its pods wait for the slice of their owner."""
    if not kind.is_elastic(job, around.policy) or job["metadata"].get("deletionTimestamp"):
        return False
    return job_ancestors.search(job, around.lookup, around.policy).managed is not None


def owner_is_manageable(job: Document, around: JobSurroundings) -> bool:
    owner = frameworks.controller_of(job)
    return owner is not None and frameworks.is_manageable(frameworks.gvk_of(owner), around.policy)


def _default_queue(job: Document, around: JobSurroundings) -> Document:
    if queue_name(job) or not around.default_queue or not around.managed_namespace:
        return job
    return job if owner_is_manageable(job, around) else labelled(job, names.QUEUE_NAME_LABEL, names.DEFAULT_LOCAL_QUEUE)


def default_priority_class(job: Document, around: JobSurroundings) -> Document:
    wanted = around.policy.priority_class_defaulting and around.default_priority_class
    if not wanted or at(job, ("metadata", "labels", names.PRIORITY_CLASS_LABEL)) or owner_is_manageable(job, around):
        return job
    return labelled(job, names.PRIORITY_CLASS_LABEL, names.DEFAULT_PRIORITY_CLASS)


def labelled(job: Document, label: str, value: str) -> Document:
    document: Document = put(job, ("metadata", "labels", label), value)
    return document


def _default_manager(kind: JobKind, job: Document, around: JobSurroundings) -> Document:
    """A job that MultiKueue will dispatch must not be run by the local controller too."""
    if not kind.managed_by_path or not around.policy.multikueue or not queue_name(job):
        return job
    if kind.managed_by(job) not in ("", kind.native_manager) or not around.is_dispatched(queue_name(job)):
        return job
    return kind.with_managed_by(job, names.MULTIKUEUE_CONTROLLER)


def _with_amounts_written(kind: JobKind, job: Document) -> Document:
    try:
        spots = kind.templates(job)
    except (PodSetsUnknown, TypeError, AttributeError, KeyError, ValueError):
        return job  # validation says what is wrong
    for spot in spots:
        job = job if spot.rendered is not None else written_quantities.in_template(job, spot.path)
    return job


def _gate_elastic_pods(kind: JobKind, job: Document, around: JobSurroundings) -> Document:
    """Pods of an elastic job wait until their slice is admitted: the job itself is not suspended when it grows."""
    if not (kind.gates_elastic_pods and kind.is_elastic(job, around.policy)):
        return job
    gate = {"name": names.ELASTIC_JOB_SCHEDULING_GATE}
    for spot in kind.templates(job):
        path = (*spot.path, "spec", "schedulingGates")
        gates = at(job, path, [])
        if gate not in gates:
            job = put(job, path, [*gates, gate])
    return job
