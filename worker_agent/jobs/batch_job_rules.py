"""Webhook rules that only Jobs have: partial admission, and completions that follow parallelism (spec/jobs 9.1)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at, get
from worker_agent.api.field_error import FieldError, forbidden, invalid
from worker_agent.api.topology_request import parse_bool, parse_int

MIN_PARALLELISM: Final = names.JOB_MIN_PARALLELISM_ANNOTATION
FOLLOW: Final = names.JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION
MIN_PARALLELISM_PATH: Final = f"metadata.annotations[{MIN_PARALLELISM}]"
FOLLOW_PATH: Final = f"metadata.annotations[{FOLLOW}]"


def _annotation(job: Document, name: str) -> str | None:
    value: str | None = at(job, ("metadata", "annotations", name))
    return value


def min_parallelism(job: Document, pods: int, elastic: bool) -> list[FieldError]:
    """Less than the full number of pods, at least one, and never with an elastic job."""
    text = _annotation(job, MIN_PARALLELISM)
    if text is None:
        return []
    errors = _min_parallelism_value(text, pods)
    if elastic:
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


def min_parallelism_changed(new: Document, old: Document) -> bool:
    return _annotation(new, MIN_PARALLELISM) != _annotation(old, MIN_PARALLELISM)


def completions(job: Document) -> list[FieldError]:
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


def unchangeable(new: Document, old: Document, *, was_suspended: bool, is_suspended: bool) -> list[FieldError]:
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
