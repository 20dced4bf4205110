"""What the job webhooks answer, whatever the kind."""

from worker_agent.api import companions
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.jobs import creation, defaulting, update
from worker_agent.validation.jobs.surroundings import JobSurroundings
from worker_agent.validation.jobs.whole_rules import WHOLE_RULES


def default_job(kind: JobKind, job: Document, around: JobSurroundings) -> Document:
    """The job with what the mutating webhook fills in; the same object when that is nothing. Raises JobRefused."""
    rules = WHOLE_RULES.get(kind.framework)
    default = None if rules is None else rules.default
    return defaulting.default_job(kind, job, around) if default is None else default(kind, job, around)


def validate_create(kind: JobKind, job: Document, around: JobSurroundings) -> list[FieldError]:
    """All broken rules of a new job. Raises JobRefused where its pod sets cannot even be told."""
    job = companions.joined(job, kind.companions(job), around.companion)
    rules = WHOLE_RULES.get(kind.framework)
    return creation.validate_create(kind, job, around) if rules is None else rules.create(kind, job, around)


def validate_update(kind: JobKind, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    """All broken rules of a change. Raises JobRefused where the pod sets cannot even be told."""
    new = companions.joined(new, kind.companions(new), around.companion)
    rules = WHOLE_RULES.get(kind.framework)
    return update.validate_update(kind, new, old, around) if rules is None else rules.update(kind, new, old, around)


def warnings(kind: JobKind, new: Document, old: Document | None, around: JobSurroundings) -> list[str]:
    """What the user is told beside the answer."""
    rules = WHOLE_RULES.get(kind.framework)
    return [] if rules is None else rules.warnings(new, old, around)
