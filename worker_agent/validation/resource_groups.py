"""Quotas by group, flavor and resource, and the weight in fair sharing: shared by ClusterQueue and Cohort."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from worker_agent.api.document import Document
from worker_agent.validation import formats, quantities
from worker_agent.validation.field_error import FieldError, duplicate, invalid

MAX_TOTAL: Final = 256
MAX_COMBINATIONS: Final = 512
PATH: Final = "spec.resourceGroups"
_SMALLEST_WEIGHT_NANOS: Final = 1


@dataclass(frozen=True, slots=True)
class Owner:
    """What the limits depend on: a parent to borrow from, and what a missing one is called."""

    has_parent: bool
    parent_word: str
    """``cohort`` for a ClusterQueue, ``parent`` for a Cohort."""
    lending_within_nominal: bool


def validate(groups: Sequence[Document], owner: Owner) -> list[FieldError]:
    """Names, repetitions, order and limits; not the totals, which only a ClusterQueue has."""
    errors: list[FieldError] = []
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(groups):
        path = f"{PATH}[{index}]"
        covered = group.get("coveredResources") or []
        errors += _resource_names(covered, resources, f"{path}.coveredResources")
        for position, flavor in enumerate(group.get("flavors") or ()):
            here, name = f"{path}.flavors[{position}]", flavor.get("name", "")
            errors += _flavor(flavor, covered, owner, f"{here}.resources")
            if name in flavors:
                errors.append(duplicate(f"{here}.name", name))
            flavors.add(name)
    return errors


def totals(groups: Sequence[Document]) -> list[FieldError]:
    """No more than 256 flavors and 256 resources in all, and 512 rows in a group."""
    errors = []
    flavors = sum(len(group.get("flavors") or ()) for group in groups)
    resources = sum(len(group.get("coveredResources") or ()) for group in groups)
    for count, what in ((flavors, "flavors"), (resources, "covered resources")):
        if count > MAX_TOTAL:
            text = f"total number of {what} across all resourceGroups must be ≤ {MAX_TOTAL}, got {count}"
            errors.append(invalid(PATH, count, text))
    for index, group in enumerate(groups):
        rows = sum(len(flavor.get("resources") or ()) for flavor in group.get("flavors") or ())
        if rows > MAX_COMBINATIONS:
            text = f"number of flavor-resource combinations in a resourceGroup must be ≤ {MAX_COMBINATIONS}, got {rows}"
            errors.append(invalid(f"{PATH}[{index}]", rows, text))
    return errors


def flavor_names(groups: Iterable[Document]) -> list[str]:
    """Every flavor with a quota, in order."""
    return [flavor.get("name", "") for group in groups for flavor in group.get("flavors") or ()]


def fair_sharing(stanza: Mapping[str, Any] | None, path: str = "spec.fairSharing") -> list[FieldError]:
    """A weight is not negative, and large enough not to count as zero."""
    weight = (stanza or {}).get("weight")
    if weight is None:
        return []
    errors = quantities.not_negative(weight, path)
    nanos = quantities.nanos(weight)
    if nanos != 0 and nanos <= _SMALLEST_WEIGHT_NANOS:
        errors.append(invalid(path, quantities.printed(weight), "When not 0, weight must be > 10e-9"))
    return errors


def _resource_names(covered: Sequence[str], seen: set[str], path: str) -> list[FieldError]:
    errors = []
    for index, name in enumerate(covered):
        errors += [invalid(f"{path}[{index}]", name, message) for message in formats.label_key(name)]
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return errors


def _flavor(flavor: Document, covered: Sequence[str], owner: Owner, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    # Surplus rows are the schema's to refuse: there is no covered resource to hold them against.
    for index, (row, resource) in enumerate(zip(flavor.get("resources") or (), covered, strict=False)):
        here, name = f"{path}[{index}]", row.get("name", "")
        if name != resource:
            errors.append(invalid(f"{here}.name", name, "must match the name in coveredResources"))
        nominal = row.get("nominalQuota") or 0
        errors += quantities.not_negative(nominal, f"{here}.nominalQuota")
        errors += _limit(row.get("borrowingLimit"), owner, f"{here}.borrowingLimit")
        errors += _limit(row.get("lendingLimit"), owner, f"{here}.lendingLimit")
        errors += _lending(row.get("lendingLimit"), nominal, owner, f"{here}.lendingLimit")
    return errors


def _limit(limit: Any, owner: Owner, path: str) -> list[FieldError]:
    if limit is None:
        return []
    errors = quantities.not_negative(limit, path)
    if not owner.has_parent:
        errors.append(invalid(path, quantities.printed(limit), f"must be nil when {owner.parent_word} is empty"))
    return errors


def _lending(limit: Any, nominal: Any, owner: Owner, path: str) -> list[FieldError]:
    if limit is None or not owner.lending_within_nominal or quantities.nanos(limit) <= quantities.nanos(nominal):
        return []
    return [invalid(path, quantities.printed(limit), "must be less than or equal to the nominalQuota")]
