"""ClusterQueue: what the webhook checks beyond the schema (spec/engine 2.1)."""

from collections.abc import Iterable
from typing import Final

from worker_agent.api.document import Document, get
from worker_agent.api.names import STRICT_FIFO
from worker_agent.validation import finalizers, metadata, resource_groups
from worker_agent.validation.field_error import FieldError, forbidden, immutable, invalid, not_supported
from worker_agent.validation.policy import ValidationPolicy

_MAX_CONCURRENT_FLAVORS: Final = 16
_POLICY: Final = "spec.concurrentAdmissionPolicy"
_CHECKS: Final = "spec.admissionChecksStrategy.admissionChecks"
_SEARCH_ON: Final = "TryNextFlavor"


def default_cluster_queue(document: Document, policy: ValidationPolicy) -> Document:
    """The document with the finalizer that keeps a queue while workloads hold its quota."""
    return finalizers.with_in_use(document)


def validate_cluster_queue(new: Document, old: Document | None, policy: ValidationPolicy) -> list[FieldError]:
    """All violations of a creation (``old`` None) or an update."""
    groups = get(new, "spec.resourceGroups") or []
    has_cohort = bool(get(new, "spec.cohortName"))
    errors = resource_groups.validate(groups, resource_groups.Owner(has_cohort, "cohort", lending_within_nominal=True))
    errors += resource_groups.totals(groups)
    errors += metadata.label_selector(get(new, "spec.namespaceSelector"), "spec.namespaceSelector")
    errors += _on_flavors(new, old, policy)
    errors += _preemption(new)
    errors += _fungibility(new)
    errors += resource_groups.fair_sharing(get(new, "spec.fairSharing"))
    if policy.concurrent_admission and get(new, _POLICY) is not None:
        errors += _concurrent_admission(new)
    if old is not None and get(new, _POLICY) != get(old, _POLICY):
        errors.append(immutable(_POLICY, get(new, _POLICY)))
    return errors


def _on_flavors(new: Document, old: Document | None, policy: ValidationPolicy) -> list[FieldError]:
    known = set(_flavors(new))
    tolerated = {} if old is None or policy.reject_stale_on_flavors else _tolerated(old, known)
    errors = []
    for index, rule in enumerate(get(new, _CHECKS) or ()):
        flavors = rule.get("onFlavors") or []
        if tolerated.get(rule.get("name")) == set(flavors):
            continue
        for position, flavor in enumerate(flavors):
            if flavor not in known:
                errors.append(not_supported(f"{_CHECKS}[{index}].onFlavors[{position}]", flavor, sorted(known)))
    return errors


def _tolerated(old: Document, known: set[str]) -> dict[str, set[str]]:
    """Flavor sets by check that an earlier version let through: left alone while nothing about them changes."""
    if set(_flavors(old)) != known:
        return {}
    return {rule.get("name", ""): set(rule.get("onFlavors") or ()) for rule in get(old, _CHECKS) or ()}


def _flavors(queue: Document) -> Iterable[str]:
    return resource_groups.flavor_names(get(queue, "spec.resourceGroups") or ())


def _preemption(queue: Document) -> list[FieldError]:
    preemption = get(queue, "spec.preemption") or {}
    borrowing = preemption.get("borrowWithinCohort")
    if preemption.get("reclaimWithinCohort") != "Never" or borrowing is None or borrowing.get("policy") == "Never":
        return []
    text = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
    return [invalid("spec.preemption", preemption, text)]


def _fungibility(queue: Document) -> list[FieldError]:
    fungibility = get(queue, "spec.flavorFungibility") or {}
    preference = fungibility.get("preference")
    searches_on = (fungibility.get("whenCanBorrow"), fungibility.get("whenCanPreempt")) == (_SEARCH_ON, _SEARCH_ON)
    if not preference or searches_on:
        return []
    text = f'preference "{preference}" requires both whenCanBorrow and whenCanPreempt to be {_SEARCH_ON}'
    return [invalid("spec.flavorFungibility.preference", preference, text)]


def _concurrent_admission(queue: Document) -> list[FieldError]:
    groups = get(queue, "spec.resourceGroups") or []
    errors = []
    if len(groups) != 1:
        text = "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined"
        errors.append(invalid("spec.resourceGroups", len(groups), text))
    elif len(groups[0].get("flavors") or ()) > _MAX_CONCURRENT_FLAVORS:
        text = (
            f"cannot have more than {_MAX_CONCURRENT_FLAVORS} resource flavors in the ResourceGroup "
            "when ConcurrentAdmissionPolicy is defined"
        )
        errors.append(invalid("spec.resourceGroups[0].flavors", len(groups[0]["flavors"]), text))
    if get(queue, "spec.queueingStrategy") == STRICT_FIFO:
        text = "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined"
        errors.append(invalid("spec.queueingStrategy", STRICT_FIFO, text))
    return errors + _migration(queue)


def _migration(queue: Document) -> list[FieldError]:
    path = f"{_POLICY}.migration.constraints"
    mode = get(queue, f"{_POLICY}.migration.mode") or ""
    constraints = get(queue, path)
    if constraints is None:
        return []
    if mode not in ("TryPreferredFlavors", ""):
        return [forbidden(path, f'may only be set when migration.mode is "TryPreferredFlavors" (got "{mode}")')]
    last = constraints.get("lastAcceptableFlavorName")
    if last and last not in _flavors(queue):
        return [invalid(f"{path}.lastAcceptableFlavorName", last, "must be a flavor of the ClusterQueue")]
    return []
