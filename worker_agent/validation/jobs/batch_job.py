"""Rules that only batch/v1 Jobs have: partial admission, and completions that follow parallelism (spec/jobs 9.1)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at, get
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.topology_request import parse_bool, parse_int
from worker_agent.validation.field_error import FieldError, forbidden, invalid
from worker_agent.validation.jobs.kind_rules import KindRules

MIN_PARALLELISM: Final = names.JOB_MIN_PARALLELISM_ANNOTATION
FOLLOW: Final = names.JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION
MIN_PARALLELISM_PATH: Final = f"metadata.annotations[{MIN_PARALLELISM}]"
FOLLOW_PATH: Final = f"metadata.annotations[{FOLLOW}]"


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """What a Job's own annotations must satisfy when it is created."""
    return [*_min_parallelism(kind, job, policy), *_completions(job)]


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    """The same on an update, where an unchanged least parallelism is not looked at again, and what may not change."""
    changed = _annotation(new, MIN_PARALLELISM) != _annotation(old, MIN_PARALLELISM)
    errors = _min_parallelism(kind, new, policy) if changed else []
    errors += _completions(new)
    was_suspended, is_suspended = kind.is_suspended(old), kind.is_suspended(new)
    return errors + _unchangeable(new, old, was_suspended=was_suspended, is_suspended=is_suspended)


RULES: Final = KindRules(create_errors, update_errors)


def _annotation(job: Document, name: str) -> str | None:
    value: str | None = at(job, ("metadata", "annotations", name))
    return value


def _min_parallelism(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """Less than the full number of pods, at least one, and never with an elastic job."""
    text = _annotation(job, MIN_PARALLELISM)
    if text is None:
        return []
    errors = _min_parallelism_value(text, sum(spot.count for spot in kind.templates(job)))
    if kind.is_elastic(job, policy):
        message = "partial admission and elastic job cannot be used together"
        errors.append(invalid(MIN_PARALLELISM_PATH, text, message))
    return errors


def _min_parallelism_value(text: str, pods: int) -> list[FieldError]:
    try:
        number = parse_int(text)
    except ValueError as error:
        return [invalid(MIN_PARALLELISM_PATH, text, str(error))]
    if 0 < number < pods:
        return []
    return [invalid(MIN_PARALLELISM_PATH, number, f"should be between 0 and {pods - 1}")]


def _completions(job: Document) -> list[FieldError]:
    """Completions can follow parallelism only where an index belongs to a pod, and if they are equal to begin with."""
    text = _annotation(job, FOLLOW)
    if text is None:
        return []
    try:
        if not parse_bool(text):
            return []
    except ValueError as error:
        return [invalid(FOLLOW_PATH, text, str(error))]
    errors: list[FieldError] = []
    if get(job, "spec.completionMode", "NonIndexed") == "NonIndexed":
        errors.append(invalid(FOLLOW_PATH, text, "should not be enabled for NonIndexed jobs"))
    if get(job, "spec.completions", 1) != get(job, "spec.parallelism", 1):
        message = f"should be equal to parallelism when {FOLLOW} annotation is true"
        errors.append(invalid("spec.completions", get(job, "spec.completions"), message))
    return errors


def _unchangeable(new: Document, old: Document, *, was_suspended: bool, is_suspended: bool) -> list[FieldError]:
    """What a running job keeps, because the admission counts on it."""
    errors: list[FieldError] = []
    partial = _annotation(old, MIN_PARALLELISM) is not None
    if partial and not was_suspended and get(new, "spec.parallelism", 1) != get(old, "spec.parallelism", 1):
        message = "cannot change when partial admission is enabled and the job is not suspended"
        errors.append(forbidden("spec.parallelism", message))
    if not (was_suspended and is_suspended) and _follows(new) != _follows(old):
        errors.append(forbidden(FOLLOW_PATH, "field is immutable while the job is not suspended"))
    return errors


def _follows(job: Document) -> bool:
    try:
        return parse_bool(_annotation(job, FOLLOW) or "false")
    except ValueError:
        return False
