"""Leader and worker groups: two pod sets placed together (spec/jobs section 8, spec/tas section 3 rules 6 and 7)."""

from collections.abc import Sequence
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import TemplateAt
from worker_agent.validation.field_error import FieldError, forbidden, invalid
from worker_agent.validation.jobs.template_path import annotations_path

GROUP: Final = names.POD_SET_GROUP_NAME_ANNOTATION
REQUIRED: Final = names.REQUIRED_TOPOLOGY_ANNOTATION
PREFERRED: Final = names.PREFERRED_TOPOLOGY_ANNOTATION
SIZE_OF_GROUP: Final = 2
_UINT64: Final = 2**64


def name_errors(annotations: dict[str, str], path: str) -> list[FieldError]:
    """A group's name is no number, and a group is placed as a whole: no slices, but a required or preferred level."""
    name = annotations.get(GROUP)
    if name is None:
        return []
    place = f"{path}[{GROUP}]"
    errors: list[FieldError] = []
    if name.isascii() and name.isdigit() and int(name) < _UINT64:
        errors.append(invalid(place, name, "must not be a number"))
    for other in (names.SLICE_SIZE_ANNOTATION, names.SLICE_REQUIRED_TOPOLOGY_ANNOTATION):
        if other in annotations:
            errors.append(forbidden(place, f"may not be set when '{other}' is specified"))
    if REQUIRED not in annotations and PREFERRED not in annotations:
        message = f"may not be set when neither '{PREFERRED}' nor '{REQUIRED}' is specified"
        errors.append(forbidden(place, message))
    return errors


def errors(job: Document, spots: Sequence[TemplateAt]) -> list[FieldError]:
    """Each group has exactly two pod sets, one of them of one pod, both asking for the same level."""
    groups: dict[str, list[TemplateAt]] = {}
    for spot in spots:
        annotations = spot.annotations(job)
        if GROUP in annotations and (REQUIRED in annotations or PREFERRED in annotations):
            groups.setdefault(annotations[GROUP], []).append(spot)
    return [error for name, members in groups.items() for error in _group_errors(job, name, members)]


def _place(spot: TemplateAt) -> str:
    """The annotations of the template, as messages name them."""
    return annotations_path(spot)


def _group_errors(job: Document, name: str, members: Sequence[TemplateAt]) -> list[FieldError]:
    if len(members) != SIZE_OF_GROUP:
        message = f"can only define groups of exactly 2 pod sets, got: {len(members)} pod set(s)"
        return [invalid(f"{_place(spot)}[{GROUP}]", name, message) for spot in members]
    first, second = members
    found: list[FieldError] = []
    if 1 not in (first.count, second.count):
        message = (
            "can only define groups where at least one pod set has only 1 replica, "
            f"got: {first.count} replica(s) and {second.count} replica(s) in the group"
        )
        found += [invalid(f"{_place(spot)}[{GROUP}]", name, message) for spot in members]
    ours, theirs = first.annotations(job), second.annotations(job)
    if any(ours.get(level) != theirs.get(level) for level in (REQUIRED, PREFERRED)):
        for spot, other in ((first, second), (second, first)):
            levels = f"'{REQUIRED}' or '{PREFERRED}' topology"
            message = f"must specify {levels} consistent with '{_place(other)}' in group '{name}'"
            found.append(invalid(_place(spot), spot.annotations(job), message))
    return found
