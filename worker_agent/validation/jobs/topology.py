"""Topology annotations on pod templates (spec/jobs section 8 "TAS", spec/tas section 3)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind, TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_sets_unknown import PodSetsUnknown
from worker_agent.api.topology_request import parse_bool, parse_int32
from worker_agent.validation.field_error import FieldError, forbidden, invalid, required
from worker_agent.validation.formats import label_key
from worker_agent.validation.jobs import own_rules, topology_groups, topology_layers
from worker_agent.validation.jobs.refusal import JobRefused
from worker_agent.validation.jobs.template_path import annotations_path

REQUIRED: Final = names.REQUIRED_TOPOLOGY_ANNOTATION
PREFERRED: Final = names.PREFERRED_TOPOLOGY_ANNOTATION
UNCONSTRAINED: Final = names.UNCONSTRAINED_TOPOLOGY_ANNOTATION
SLICE_TOPOLOGY: Final = names.SLICE_REQUIRED_TOPOLOGY_ANNOTATION
SLICE_SIZE: Final = names.SLICE_SIZE_ANNOTATION

ONE_PLACEMENT: Final = (
    f'must not contain more than one topology annotation: ["{REQUIRED}", "{PREFERRED}", "{UNCONSTRAINED}"]'
)


def template_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """All broken rules of the job's topology annotations. Raises JobRefused when only a plain error is left to tell."""
    if not policy.topology_aware or not own_rules.are_placed(kind, job, policy):
        return []
    try:
        spots = kind.templates(job)
    except PodSetsUnknown as unknown:
        raise JobRefused(str(unknown)) from unknown
    errors = _spot_errors(kind, job, spots, policy)
    hint = kind.topology_hint
    return [replace(error, detail=f"{error.detail}. {hint}") for error in errors] if hint else errors


def _spot_errors(kind: JobKind, job: Document, spots: Sequence[TemplateAt], policy: JobPolicy) -> list[FieldError]:
    errors: list[FieldError] = []
    unreadable = _unreadable(kind, job, policy)
    for spot in spots[: kind.unreadable_templates_checked] if unreadable else spots:
        found = annotation_errors(job, spot, policy)
        if not unreadable and not (found and kind.counts_checked_last):
            found += count_errors(job, spot, policy)
        errors += found
    if kind.topology_groups and not unreadable:
        errors += topology_groups.errors(job, spots)
    if unreadable and not errors:
        raise JobRefused(unreadable)
    if not errors and kind.is_elastic(job, policy):
        errors += _elastic_errors(job, spots)
    return errors


def _unreadable(kind: JobKind, job: Document, policy: JobPolicy) -> str:
    try:
        kind.pod_sets(job, policy)
    except PodSetsUnknown as error:
        return str(error)
    return ""


def annotation_errors(job: Document, spot: TemplateAt, policy: JobPolicy) -> list[FieldError]:
    """What is wrong with the annotations of one template by themselves."""
    annotations, path = spot.annotations(job), annotations_path(spot)
    errors: list[FieldError] = []
    if sum(name in annotations for name in (REQUIRED, PREFERRED, UNCONSTRAINED)) > 1:
        errors.append(invalid(path, annotations, ONE_PLACEMENT))
    for name in (REQUIRED, PREFERRED, SLICE_TOPOLOGY):
        if name in annotations:
            value = annotations[name]
            errors += [invalid(f"{path}[{name}]", value, error) for error in label_key(value)]
    errors += _unconstrained_errors(annotations, path)
    errors += _slice_errors(annotations, path)
    errors += topology_groups.name_errors(annotations, path)
    return errors + topology_layers.errors(annotations, path, policy)


def _unconstrained_errors(annotations: dict[str, str], path: str) -> list[FieldError]:
    value = annotations.get(UNCONSTRAINED)
    if value is None:
        return []
    try:
        parse_bool(value)
    except ValueError:
        return [invalid(f"{path}[{UNCONSTRAINED}]", value, "must be a boolean value")]
    return []


def _slice_errors(annotations: dict[str, str], path: str) -> list[FieldError]:
    size, place = annotations.get(SLICE_SIZE), f"{path}[{SLICE_SIZE}]"
    errors: list[FieldError] = []
    if size is None and SLICE_TOPOLOGY in annotations:
        errors.append(required(place, f"must be set when '{SLICE_TOPOLOGY}' is specified"))
    if size is not None and SLICE_TOPOLOGY not in annotations:
        errors.append(forbidden(place, f"may not be set when '{SLICE_TOPOLOGY}' is not specified"))
    if size is not None:
        number = _number(size)
        if number is None:
            errors.append(invalid(place, size, "must be a numeric value"))
        elif number < 1:
            errors.append(invalid(place, size, "must be greater than or equal to 1"))
    return errors


def _number(text: str) -> int | None:
    try:
        return parse_int32(text)
    except ValueError:
        return None


def count_errors(job: Document, spot: TemplateAt, policy: JobPolicy) -> list[FieldError]:
    """A slice must not be larger than its pod set."""
    annotations, path = spot.annotations(job), annotations_path(spot)
    size = annotations.get(SLICE_SIZE)
    errors: list[FieldError] = []
    if size is not None:
        number = _number(size)
        if number is None:
            errors.append(invalid(f"{path}[{SLICE_SIZE}]", size, "must be a numeric value"))
        elif number > spot.count:
            errors.append(invalid(f"{path}[{SLICE_SIZE}]", size, too_large(spot.count)))
    return errors + topology_layers.count_errors(annotations, path, spot.count, policy)


def too_large(count: int) -> str:
    return f"must not be greater than pod set count {count}"


def _elastic_errors(job: Document, spots: Sequence[TemplateAt]) -> list[FieldError]:
    """An elastic job grows pod by pod, so no domain can be promised to all of them."""
    for spot in spots:
        annotations, path = spot.annotations(job), annotations_path(spot)
        for name, word in ((REQUIRED, "required"), (PREFERRED, "preferred")):
            if name in annotations:
                return [forbidden(f"{path}.{name}", f"{word} topology is not supported with elastic jobs")]
    return []
