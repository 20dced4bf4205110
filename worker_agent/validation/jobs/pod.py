"""Rules of pods (spec/jobs 9.10 "Validation")."""

from typing import Final

from worker_agent.api import frameworks, names
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs import pod_facts
from worker_agent.validation.field_error import FieldError, forbidden, immutable, invalid, required
from worker_agent.validation.formats import dns_subdomain
from worker_agent.validation.jobs import creation, topology, update
from worker_agent.validation.jobs.surroundings import JobSurroundings

MANAGED: Final = f"metadata.labels[{names.MANAGED_LABEL}]"
TOTAL_COUNT: Final = f"metadata.annotations[{names.POD_GROUP_TOTAL_COUNT_ANNOTATION}]"
RETRIABLE: Final = f"metadata.annotations[{names.RETRIABLE_IN_GROUP_ANNOTATION}]"
BOTH_OR_NEITHER: Final = (
    f"both the '{names.POD_GROUP_TOTAL_COUNT_ANNOTATION}' annotation and the '{names.POD_GROUP_NAME_LABEL}' label "
    "should be set"
)
OWNED: Final = f"pod owner is managed by kueue, label '{names.MANAGED_LABEL}=true' might lead to unexpected behaviour"


def create_errors(kind: JobKind, pod: Document, around: JobSurroundings) -> list[FieldError]:
    return [*creation.common_errors(kind, pod, around.policy), *_errors(kind, pod, around.policy)]


def update_errors(kind: JobKind, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    """What all kinds keep, the pod's own rules, and what a group may count on."""
    policy = around.policy
    errors = [*update.common_errors(kind, new, old, around), *_errors(kind, new, policy)]
    field, group = pod_facts.group_source(new, policy)
    before = pod_facts.group_name(old, policy)
    if before and group != before:
        errors.append(immutable(field, group))
    if _is_unretriable(old) and not _is_unretriable(new):
        errors.append(forbidden(RETRIABLE, "unretriable pod group can't be converted to retriable"))
    return errors


def warnings(new: Document, old: Document | None, around: JobSurroundings) -> list[str]:
    """A pod that is queued while its owner is queued too."""
    owner = frameworks.controller_of(new)
    if owner is None or pod_facts.label(new, names.MANAGED_LABEL) != "true":
        return []
    if old is not None and pod_facts.has_parent(new):
        return []
    return [OWNED] if frameworks.is_manageable(frameworks.gvk_of(owner), around.policy) else []


def _is_unretriable(pod: Document) -> bool:
    return pod_facts.annotation(pod, names.RETRIABLE_IN_GROUP_ANNOTATION) == "false"


def _errors(kind: JobKind, pod: Document, policy: JobPolicy) -> list[FieldError]:
    errors = [*_managed_errors(pod), *_group_errors(pod, policy)]
    (spot,) = kind.templates(pod)
    errors += topology.annotation_errors(pod, spot, policy)
    return errors + _prebuilt_errors(pod, policy)


def _managed_errors(pod: Document) -> list[FieldError]:
    value = at(pod, ("metadata", "labels", names.MANAGED_LABEL))
    if value in (None, "true"):
        return []
    return [forbidden(MANAGED, "managed label value can only be 'true'")]


def _group_errors(pod: Document, policy: JobPolicy) -> list[FieldError]:
    field, group = pod_facts.group_source(pod, policy)
    count = at(pod, ("metadata", "annotations", names.POD_GROUP_TOTAL_COUNT_ANNOTATION))
    if not group:
        return [] if count is None else [required(field, BOTH_OR_NEITHER)]
    errors = [invalid(field, group, error) for error in dns_subdomain(group)]
    if count is None:
        return [*errors, required(TOTAL_COUNT, BOTH_OR_NEITHER)]
    try:
        pod_facts.total_count(pod)
    except ValueError as error:
        errors.append(invalid(TOTAL_COUNT, count, str(error)))
    return errors


def _prebuilt_errors(pod: Document, policy: JobPolicy) -> list[FieldError]:
    """A group's Workload has the group's name."""
    path, prebuilt = creation.prebuilt_source(pod, policy)
    group = pod_facts.group_name(pod, policy)
    if not prebuilt or not group or prebuilt == group:
        return []
    return [invalid(path, prebuilt, "prebuilt workload and pod group should be equal")]
