"""What an update of a Workload may not change (spec/engine 2.5)."""

from collections.abc import Mapping
from typing import Any, Final

from worker_agent.api.document import Document, get
from worker_agent.api.names import CHECK_READY, SLICE_REPLACEMENT_FOR_ANNOTATION
from worker_agent.validation import admission_gates
from worker_agent.validation.equality import same
from worker_agent.validation.field_error import FieldError, immutable, invalid, required
from worker_agent.validation.workload_document import WorkloadDocument, pod_set_name

_PLACEMENT: Final = ("topologyAssignment", "delayedTopologyRequest")


def validate(new: WorkloadDocument, old: WorkloadDocument) -> list[FieldError]:
    """The violations that only an update can have."""
    errors = _pod_sets(new, old) if old.reserved else []
    errors += _admission(new, old)
    if new.reserved and old.reserved:
        errors += _reclaimable(new, old)
    errors += _pod_set_updates(new, old)
    errors += _cluster_name(new, old)
    if new.policy.admission_gated_by:
        errors += admission_gates.validate_update(new.annotations, old.annotations)
    return errors


def _pod_sets(new: WorkloadDocument, old: WorkloadDocument) -> list[FieldError]:
    """Frozen while quota is held, but that counts may go down where elastic jobs are on."""
    if len(new.pod_sets) != len(old.pod_sets):
        return [immutable("spec.podSets", new.pod_sets)]
    return [
        immutable(f"spec.podSets.{index}", after)
        for index, (after, before) in enumerate(zip(new.pod_sets, old.pod_sets, strict=True))
        if not _same_pod_set(after, before, may_shrink=new.policy.elastic_jobs)
    ]


def _same_pod_set(after: Document, before: Document, *, may_shrink: bool) -> bool:
    if may_shrink and (after.get("count") or 0) < (before.get("count") or 0):
        after = {**after, "count": before.get("count")}
    return same(after, before)


def _admission(new: WorkloadDocument, old: WorkloadDocument) -> list[FieldError]:
    """Set or cleared, never changed in place; only the place of pods may come later."""
    if new.admission is None or old.admission is None:
        return []
    left_out = _PLACEMENT if new.policy.topology_aware else ()
    if same(_without(new.admission, left_out), _without(old.admission, left_out)):
        return []
    return [immutable("status.admission", new.admission)]


def _without(admission: Document, fields: tuple[str, ...]) -> Document:
    assignments = [
        {key: value for key, value in assignment.items() if key not in fields}
        for assignment in admission.get("podSetAssignments") or ()
    ]
    return {**admission, "podSetAssignments": assignments}


def _reclaimable(new: WorkloadDocument, old: WorkloadDocument) -> list[FieldError]:
    """Pods that are done stay done, but for an elastic workload that shrank below what was admitted."""
    errors = []
    for name, before in old.reclaimable.items():
        path = f"status.reclaimablePods[{name}]"
        if _shrank(new, name):
            continue
        after = new.reclaimable.get(name)
        if after is None:
            errors.append(required(path, "cannot be removed"))
        elif after < before:
            errors.append(invalid(f"{path}.count", after, f"cannot be less than {before}"))
    return errors


def _shrank(workload: WorkloadDocument, name: str) -> bool:
    if not workload.elastic:
        return False
    admitted = next((a.get("count") for a in workload.assignments if pod_set_name(a) == name), None)
    return admitted is not None and workload.counts.get(name, 0) < admitted


def _pod_set_updates(new: WorkloadDocument, old: WorkloadDocument) -> list[FieldError]:
    """Frozen while a check stays Ready: pods may have been started with them."""
    after: Mapping[str, Any] = {check.get("name", ""): check for check in new.checks}
    errors = []
    for index, before in enumerate(old.checks):
        found = after.get(before.get("name", ""))
        if found is None or not found.get("state") == before.get("state") == CHECK_READY:
            continue
        if not same(found.get("podSetUpdates"), before.get("podSetUpdates")):
            path = f"status.admissionChecks[{index}].podSetUpdates"
            errors.append(immutable(path, found.get("podSetUpdates")))
    return errors


def _cluster_name(new: WorkloadDocument, old: WorkloadDocument) -> list[FieldError]:
    """The worker is one of those nominated, but for a slice, which follows the one it replaces."""
    chosen = get(new.document, "status.clusterName")
    nominated = get(old.document, "status.nominatedClusterNames") or []
    if not chosen or get(old.document, "status.clusterName") or chosen in nominated:
        return []
    if new.policy.elastic_jobs and SLICE_REPLACEMENT_FOR_ANNOTATION in new.annotations:
        return []
    text = "when setting clusterName it must be one of the nominatedClusterNames"
    return [invalid("status.clusterName", chosen, text)]
