"""Workload: defaulting, and what the webhook checks at creation and, first, at every update (spec/engine 2.5)."""

import re
from typing import Final

from worker_agent.api import quantity
from worker_agent.api.document import Document, get
from worker_agent.api.names import PRIORITY_BOOST_ANNOTATION
from worker_agent.validation import admission_gates, metadata, quantities, workload_update
from worker_agent.validation.field_error import FieldError, invalid, not_found, not_supported, required
from worker_agent.validation.pod_sets import validate_pod_set
from worker_agent.validation.policy import ValidationPolicy
from worker_agent.validation.workload_document import WorkloadDocument

_BOOST_PATH: Final = f"metadata.annotations[{PRIORITY_BOOST_ANNOTATION}]"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,12}")
_INT32: Final = range(-(2**31), 2**31)


def default_workload(document: Document, policy: ValidationPolicy) -> Document:
    """Without ``minCount`` when partial admission is off; otherwise the document itself."""
    pod_sets = get(document, "spec.podSets") or []
    if policy.partial_admission or not any("minCount" in pod_set for pod_set in pod_sets):
        return document
    stripped = [{key: value for key, value in pod_set.items() if key != "minCount"} for pod_set in pod_sets]
    return {**document, "spec": {**document["spec"], "podSets": stripped}}


def validate_workload(new: Document, old: Document | None, policy: ValidationPolicy) -> list[FieldError]:
    """All violations of a creation (``old`` None), or of an update of spec or status."""
    workload = WorkloadDocument(new, policy)
    before = None if old is None else WorkloadDocument(old, policy)
    errors = _pod_sets(workload)
    errors += _admission(workload, before)
    errors += metadata.conditions(workload.conditions, "status.conditions")
    errors += _reclaimable(workload, before)
    errors += _pod_set_updates(workload)
    if policy.admission_gated_by:
        errors += admission_gates.validate(workload.annotations)
    if policy.priority_boost:
        errors += _priority_boost(workload)
    return errors if before is None else errors + workload_update.validate(workload, before)


def _pod_sets(workload: WorkloadDocument) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, pod_set in enumerate(workload.pod_sets):
        errors += validate_pod_set(pod_set, f"spec.podSets[{index}]", workload.policy)
    variable = sum(pod_set.get("minCount") is not None for pod_set in workload.pod_sets)
    if variable > 1:
        errors.append(invalid("spec.podSets", variable, "at most one podSet can use minCount"))
    if variable and workload.elastic:
        text = "partial admission and elastic job cannot be used together"
        errors.append(invalid("spec.podSets", variable, text))
    return errors


def _admission(workload: WorkloadDocument, before: WorkloadDocument | None) -> list[FieldError]:
    if not workload.reserved:
        return []
    if workload.admission is None:
        # A workload that is in this state already must stay editable, or nobody could repair it.
        broken_before = before is not None and before.reserved and before.admission is None
        text = "must be set while the QuotaReserved condition is true"
        return [] if broken_before else [required("status.admission", text)]
    errors = []
    for index, assignment in enumerate(workload.assignments):
        path = f"status.admission.podSetAssignments[{index}]"
        name = assignment.get("name", "")
        if name not in workload.counts:
            errors.append(not_found(f"{path}.name", name))
        errors += _usage(assignment, f"{path}.resourceUsage")
    return errors


def _usage(assignment: Document, path: str) -> list[FieldError]:
    """What all pods take together is a whole number for each of them."""
    count = assignment.get("count") or 0
    errors = []
    for resource, amount in (assignment.get("resourceUsage") or {}).items():
        try:
            whole = count <= 0 or quantity.value(resource, amount) % count == 0
        except quantity.QuantityError as error:
            errors.append(invalid(f"{path}[{resource}]", amount, str(error)))
            continue
        if not whole:
            errors.append(invalid(f"{path}[{resource}]", quantities.printed(amount), f"is not a multiple of {count}"))
    return errors


def _reclaimable(workload: WorkloadDocument, before: WorkloadDocument | None) -> list[FieldError]:
    errors = []
    for name, count in workload.reclaimable.items():
        path = f"status.reclaimablePods[{name}]"
        pods = workload.counts.get(name)
        unchanged = before is not None and before.reclaimable.get(name) == count
        if pods is None:
            errors.append(not_supported(f"{path}.name", name, list(workload.counts)))
        elif count > pods and not (workload.elastic and unchanged):
            errors.append(invalid(f"{path}.count", count, f"should be less or equal to {pods}"))
    return errors


def _pod_set_updates(workload: WorkloadDocument) -> list[FieldError]:
    errors = []
    for index, check in enumerate(workload.checks):
        for position, update in enumerate(check.get("podSetUpdates") or ()):
            path = f"status.admissionChecks[{index}].podSetUpdates[{position}]"
            name = update.get("name", "")
            if name not in workload.counts:
                errors.append(not_supported(f"{path}.name", name, sorted(workload.counts)))
            errors += metadata.labels(update.get("labels"), f"{path}.labels")
            errors += metadata.annotations(update.get("annotations"), f"{path}.annotations")
            errors += metadata.labels(update.get("nodeSelector"), f"{path}.nodeSelector")
            errors += metadata.tolerations(update.get("tolerations") or (), f"{path}.tolerations")
    return errors


def _priority_boost(workload: WorkloadDocument) -> list[FieldError]:
    boost = workload.annotations.get(PRIORITY_BOOST_ANNOTATION)
    if boost is None or (_INTEGER.fullmatch(boost) and int(boost) in _INT32):
        return []
    return [invalid(_BOOST_PATH, boost, "must be a 32-bit integer")]
