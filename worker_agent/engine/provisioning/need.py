"""Which pod sets of a Workload an autoscaler is asked for, and which of them it is asked for as one."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from worker_agent.api import names, quantity
from worker_agent.api.document import Document, at
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.engine.provisioning.view import ProvisioningError

INCONSISTENT: Final = "inconsistent podSet assignments"


class InconsistentAssignments(ProvisioningError):
    """The admission does not name every pod set."""


@dataclass(frozen=True, slots=True)
class AskedPodSet:
    """One entry of a request: so many pods of this pod set's template, as its assignment places them."""

    name: str
    count: int
    pod_set: Document
    assignment: Document


def is_needed(workload: Document, config: ProvisioningRequestConfig) -> bool:
    """Whether any pods are to be asked for. Raises InconsistentAssignments for a pod set without assignment."""
    assignments = _assignments(workload)
    for pod_set in _candidates(workload, config):
        name = _name(pod_set)
        if name not in assignments:
            raise InconsistentAssignments(f'{INCONSISTENT}: missing assignment for PodSet "{name}"')
        if _count(pod_set, assignments[name]) > 0:
            return True
    return False


def asked_pod_sets(workload: Document, config: ProvisioningRequestConfig) -> list[AskedPodSet]:
    """The entries of a request, in the order of the pod sets, those that may be merged as one.

    Raises InconsistentAssignments.
    """
    assignments = _assignments(workload)
    compatible = MERGE_POLICIES.get(config.spec.pod_set_merge_policy or "", _never)
    entries: list[AskedPodSet] = []
    for pod_set in _candidates(workload, config):
        name = _name(pod_set)
        if name not in assignments:
            raise InconsistentAssignments(INCONSISTENT)
        count = _count(pod_set, assignments[name])
        if count <= 0:
            continue
        for position, entry in enumerate(entries):
            if compatible(entry.pod_set.get("template") or {}, pod_set.get("template") or {}):
                entries[position] = replace(entry, count=entry.count + count)
                break
        else:
            entries.append(AskedPodSet(name, count, pod_set, assignments[name]))
    return entries


def _candidates(workload: Document, config: ProvisioningRequestConfig) -> Iterable[Document]:
    managed = frozenset(config.spec.managed_resources or ())
    for pod_set in at(workload, ("spec", "podSets"), []):
        if int(pod_set.get("count", 1)) > 0 and (not managed or _uses(pod_set, managed)):
            yield pod_set


def _uses(pod_set: Document, managed: Collection[str]) -> bool:
    spec = at(pod_set, ("template", "spec"), {})
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        if any(name in managed for kind in ("requests", "limits") for name in resources.get(kind) or ()):
            return True
    return False


def _assignments(workload: Document) -> dict[str, Document]:
    return {_name(found): found for found in at(workload, ("status", "admission", "podSetAssignments"), [])}


def _name(named: Document) -> str:
    return str(named.get("name", names.DEFAULT_POD_SET_NAME))


def _count(pod_set: Document, assignment: Document) -> int:
    count = assignment.get("count")
    return int(pod_set.get("count", 1) if count is None else count)


# -- merging ---------------------------------------------------------------------------------------------------------


def _never(first: Document, second: Document) -> bool:
    return False


def _identical(first: Document, second: Document) -> bool:
    return bool(_canonical(first) == _canonical(second))


def _scheduled_alike(first: Document, second: Document) -> bool:
    return _requirements(first) == _requirements(second)


MERGE_POLICIES: Final[dict[str, Callable[[Document, Document], bool]]] = {
    "IdenticalPodTemplates": _identical,
    "IdenticalWorkloadSchedulingRequirements": _scheduled_alike,
}


def _requirements(template: Document) -> list[Any]:
    """All that decides where a pod fits; limits do not."""
    spec = template.get("spec") or {}
    containers = [
        [_canonical({"requests": at(c, ("resources", "requests"), {})}) for c in spec.get(kind) or ()]
        for kind in ("containers", "initContainers")
    ]
    fields = ("resources", "nodeSelector", "tolerations", "affinity", "resourceClaims")
    return [*containers, *(_canonical(spec.get(field)) for field in fields)]


_AMOUNTS: Final = frozenset({"requests", "limits", "overhead"})


def _canonical(value: Any) -> Any:
    """The value without empty parts, amounts as numbers: equal exactly where Kubernetes sees no difference."""
    if isinstance(value, list):
        return [_canonical(item) for item in value] or None
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, item in value.items():
        reduced = _amounts(item) if name in _AMOUNTS and isinstance(item, dict) else _canonical(item)
        if reduced is not None:
            kept[name] = reduced
    return kept or None


def _amounts(resources: Document) -> Document | None:
    return {name: _amount(value) for name, value in resources.items()} or None


def _amount(value: Any) -> Any:
    try:
        return quantity.nanos(value)
    except (quantity.QuantityError, TypeError):
        return value
