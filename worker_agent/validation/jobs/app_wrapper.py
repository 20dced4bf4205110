"""AppWrappers have no rules of their own: what they wrap is checked by whoever admits it (spec/jobs 8, 9.9)."""

from typing import Final

from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.jobs.kind_rules import KindRules


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    return []


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    return []


def is_placed(job: Document, policy: JobPolicy) -> bool:
    return False


RULES: Final = KindRules(create_errors, update_errors, places=is_placed)
