"""Builders of API documents for tests: keywords with defaults, so that a test states only what matters to it."""

from collections.abc import Mapping
from typing import Any

from worker_agent.api.document import Document

KUEUE = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "ns"
CREATED = "2026-01-01T10:00:00Z"

Amount = str | int
Flavors = Mapping[str, Mapping[str, Any]]
"""Flavor -> resource -> nominal quota, or what ``quota`` returns."""


def quota(nominal: Amount, *, borrowing: Amount | None = None, lending: Amount | None = None) -> Document:
    """A quota with limits."""
    result = {"nominalQuota": str(nominal)}
    if borrowing is not None:
        result["borrowingLimit"] = str(borrowing)
    if lending is not None:
        result["lendingLimit"] = str(lending)
    return result


def resource_group(flavors: Flavors) -> Document:
    """One resource group; all flavors list the same resources."""
    resources = list(next(iter(flavors.values())))
    return {
        "coveredResources": resources,
        "flavors": [
            {"name": name, "resources": [{"name": r, **_quota(amounts[r])} for r in resources]}
            for name, amounts in flavors.items()
        ],
    }


def _quota(amount: Any) -> Document:
    return dict(amount) if isinstance(amount, Mapping) else quota(amount)


def cluster_queue(
    name: str = "q",
    *groups: Flavors,
    cohort: str = "",
    cpu: Any = 4,
    strict: bool = False,
    preemption: Document | None = None,
    fungibility: Document | None = None,
    **spec: Any,
) -> Document:
    """A ClusterQueue; without groups it has one flavor ``default`` with ``cpu``."""
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": name, "generation": 1},
        "spec": {
            "resourceGroups": [resource_group(group) for group in groups or ({"default": {"cpu": cpu}},)],
            "cohortName": cohort,
            "queueingStrategy": "StrictFIFO" if strict else "BestEffortFIFO",
            "namespaceSelector": {},
            "preemption": preemption or {},
            "flavorFungibility": fungibility or {},
            **spec,
        },
    }


def cohort(name: str, *groups: Flavors, parent: str = "", **spec: Any) -> Document:
    return {
        "apiVersion": KUEUE,
        "kind": "Cohort",
        "metadata": {"name": name},
        "spec": {"parentName": parent, "resourceGroups": [resource_group(group) for group in groups], **spec},
    }


def flavor(name: str = "default", *, labels: Mapping[str, str] | None = None, **spec: Any) -> Document:
    return {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": {"nodeLabels": dict(labels or {}), **spec},
    }


def local_queue(name: str = "lq", cluster_queue: str = "q", *, namespace: str = NAMESPACE, **spec: Any) -> Document:
    return {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": cluster_queue, **spec},
    }


def namespace(name: str = NAMESPACE, **labels: str) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def admission_check(name: str, *, controller: str = "example.com/check", active: bool = True) -> Document:
    return {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": controller},
        "status": {"conditions": [{"type": "Active", "status": str(active), "reason": "Active", "message": ""}]},
    }


def node(name: str, *, labels: Mapping[str, str] | None = None, taints: Any = (), **allocatable: Amount) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": {k: str(v) for k, v in allocatable.items()}},
    }


def container(requests: Mapping[str, Amount], limits: Mapping[str, Amount] | None = None, **fields: Any) -> Document:
    resources: Document = {"requests": {name: str(amount) for name, amount in requests.items()}}
    if limits:
        resources["limits"] = {name: str(amount) for name, amount in limits.items()}
    return {"name": "c", "image": "pause", "resources": resources, **fields}


def pod_set(
    name: str = "main",
    *,
    count: int = 1,
    min_count: int | None = None,
    requests: Mapping[str, Amount] | None = None,
    spec: Document | None = None,
    **fields: Any,
) -> Document:
    """A pod set of one container; ``spec`` adds to its pod spec."""
    pod_spec = {"containers": [container(requests if requests is not None else {"cpu": 1})], **(spec or {})}
    result = {"name": name, "count": count, "template": {"spec": pod_spec}, **fields}
    return result if min_count is None else {**result, "minCount": min_count}


def workload(
    name: str = "w",
    *pod_sets: Document,
    queue: str = "lq",
    cpu: Amount = 1,
    count: int = 1,
    priority: int = 0,
    created: str = CREATED,
    namespace: str = NAMESPACE,
    metadata: Document | None = None,
    status: Document | None = None,
    **spec: Any,
) -> Document:
    """A pending Workload; without pod sets it has one, ``count`` pods of ``cpu`` each."""
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "generation": 1,
            "creationTimestamp": created,
            **(metadata or {}),
        },
        "spec": {
            "queueName": queue,
            "priority": priority,
            "podSets": list(pod_sets) or [pod_set(count=count, requests={"cpu": cpu})],
            **spec,
        },
        "status": status or {},
    }


def admitted(
    name: str = "w",
    *,
    cluster_queue: str = "q",
    queue: str = "lq",
    cpu: Amount = 1,
    count: int = 1,
    flavor: str = "default",
    priority: int = 0,
    admitted: bool = True,
    **fields: Any,
) -> Document:
    """A Workload of ``count`` pods that together hold ``cpu`` x ``count``."""
    total = f"{int(cpu) * count}"
    conditions = [_true("QuotaReserved"), *([_true("Admitted")] if admitted else [])]
    assignment = {"name": "main", "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": total}, "count": count}
    status = {
        "conditions": conditions,
        "admission": {"clusterQueue": cluster_queue, "podSetAssignments": [assignment]},
    }
    return workload(name, queue=queue, cpu=cpu, count=count, priority=priority, status=status, **fields)


def _true(type_: str) -> Document:
    return {"type": type_, "status": "True", "reason": type_, "message": "", "lastTransitionTime": CREATED}


def single_queue(**fields: Any) -> list[Document]:
    """A namespace, a flavor, a ClusterQueue ``q`` and a LocalQueue ``lq``."""
    return [namespace(), flavor(), cluster_queue("q", **fields), local_queue()]
