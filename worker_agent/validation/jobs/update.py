"""What may change about a job, whatever its kind (spec/jobs section 8)."""

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import JobKind, queue_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.validation import admission_gates
from worker_agent.validation.field_error import FieldError, immutable, invalid
from worker_agent.validation.jobs import creation, own_rules, topology
from worker_agent.validation.jobs.surroundings import JobSurroundings


def validate_update(kind: JobKind, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    """All broken rules of a change. Raises JobRefused where the pod sets cannot even be told.

    Kinds that repeat their create rules report a rule that both lists hold twice, as Kueue does.
    """
    policy = around.policy
    if not own_rules.are_looked_at(kind, new, old, policy):
        return []
    errors = common_errors(kind, new, old, around)
    if kind.update_repeats_create:
        errors += creation.common_errors(kind, new, policy)
    errors += own_rules.update_errors(kind, new, old, policy)
    return errors + topology.template_errors(kind, new, policy)


def common_errors(kind: JobKind, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    """What every kind keeps."""
    policy = around.policy
    errors = _queue_name_errors(kind, new, old, around)
    errors += _prebuilt_errors(kind, new, old, policy)
    errors += _max_exec_time_errors(kind, new, old)
    errors += priority_class_errors(new, old, running=not kind.is_suspended(new))
    if kind.is_elastic(new, policy) != kind.is_elastic(old, policy):
        errors.append(
            immutable(creation.ELASTIC_JOB, at(new, ("metadata", "annotations", names.ELASTIC_JOB_ANNOTATION), ""))
        )
    if policy.admission_gated_by:
        annotations = ("metadata", "annotations")
        errors += admission_gates.validate_update(at(new, annotations), at(old, annotations))
    return errors


def _queue_name_errors(kind: JobKind, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    before, after = queue_name(old), queue_name(new)
    errors: list[FieldError] = []
    if before != after and not kind.is_suspended(new):
        errors.append(immutable(creation.QUEUE_NAME, after))
    if before and not after and around.default_queue:
        message = "queue-name must not be empty in namespace with default queue"
        errors.append(invalid(creation.QUEUE_NAME, "", message))
    return errors


def _prebuilt_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    if kind.is_suspended(new) or kind.is_elastic(old, policy):
        return creation.prebuilt_errors(kind, new, policy)
    path, name = creation.prebuilt_source(new, policy)
    _, old_name = creation.prebuilt_source(old, policy)
    return [] if name == old_name else [immutable(path or creation.PREBUILT_LABEL, name)]


def _max_exec_time_errors(kind: JobKind, new: Document, old: Document) -> list[FieldError]:
    if kind.is_suspended(new) and kind.is_suspended(old):
        return []
    before, after = (at(job, ("metadata", "labels", names.MAX_EXEC_TIME_LABEL), "") for job in (old, new))
    return [] if before == after else [immutable(creation.MAX_EXEC_TIME, after)]


def priority_class_errors(new: Document, old: Document, *, running: bool) -> list[FieldError]:
    """A priority class may change, but neither come to a running job nor go."""
    before, after = (at(job, ("metadata", "labels", names.PRIORITY_CLASS_LABEL), "") for job in (old, new))
    if before and not after:
        return [invalid(creation.PRIORITY_CLASS, "", "WorkloadPriorityClass cannot be removed from a workload")]
    if after and not before and running:
        message = "WorkloadPriorityClass cannot be added to a non-suspended workload"
        return [invalid(creation.PRIORITY_CLASS, after, message)]
    return []
