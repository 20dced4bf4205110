"""Rules of serving kinds, which have a short list of their own (spec/jobs 8 "Serving kinds")."""

from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import queue_name
from worker_agent.jobs.serving import ServingKind
from worker_agent.validation import admission_gates
from worker_agent.validation.field_error import FieldError, immutable
from worker_agent.validation.jobs import creation
from worker_agent.validation.jobs.surroundings import JobSurroundings
from worker_agent.validation.jobs.update import priority_class_errors


def create_errors(kind: ServingKind, job: Document, around: JobSurroundings) -> list[FieldError]:
    """Queue name, elastic annotation and admission gates."""
    errors = creation.queue_name_errors(job)
    errors += creation.elastic_errors(kind, job, around.policy)
    if around.policy.admission_gated_by:
        errors += admission_gates.validate(at(job, ("metadata", "annotations")))
    return errors


def update_errors(kind: ServingKind, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    """The same, and what stays while pods are ready; a queue is never left."""
    errors = create_errors(kind, new, around)
    before, after, running = queue_name(old), queue_name(new), kind.is_running(old)
    if before != after and (running or (before and not after)):
        errors.append(immutable(creation.QUEUE_NAME, after))
    errors += priority_class_errors(new, old, running=running)
    if around.policy.admission_gated_by:
        annotations = ("metadata", "annotations")
        errors += admission_gates.validate_update(at(new, annotations), at(old, annotations))
    return errors
