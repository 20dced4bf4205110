"""Valid manifests, and ``changed`` to break one place of them."""

from copy import deepcopy
from typing import Any

Document = dict[str, Any]
ABSENT = object()
WHEN = "2026-01-31T12:00:00Z"


def of_kind(kind: str, spec: Document, **metadata: Any) -> Document:
    group = "fedhub.dev/v1alpha1" if kind in ("ClusterCapacity", "DispatchPolicy") else "kueue.x-k8s.io/v1beta2"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "it", **metadata}, "spec": spec}


def changed(document: Document, **places: Any) -> Document:
    """The document with values set at paths such as ``spec__podSets__0__count``; ABSENT removes."""
    result = deepcopy(document)
    for path, value in places.items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        holder: Any = result
        for parent in parents:
            holder = holder.setdefault(parent, {}) if isinstance(holder, dict) else holder[parent]
        if value is ABSENT:
            del holder[last]
        elif isinstance(holder, list) and last == len(holder):
            holder.append(value)
        else:
            holder[last] = value
    return result


def flavor(name: str = "default", **quotas: Any) -> Document:
    rows = [{"name": resource, "nominalQuota": amount} for resource, amount in (quotas or {"cpu": 4}).items()]
    return {"name": name, "resources": rows}


def group(*flavors: Document) -> Document:
    return {"coveredResources": [row["name"] for row in flavors[0]["resources"]], "flavors": list(flavors)}


CLUSTER_QUEUE = of_kind(
    "ClusterQueue",
    {"cohortName": "all", "namespaceSelector": {}, "resourceGroups": [group(flavor(cpu=4, memory="8Gi"))]},
)
COHORT = of_kind("Cohort", {"parentName": "root", "resourceGroups": [group(flavor())]})
RESOURCE_FLAVOR = of_kind("ResourceFlavor", {"nodeLabels": {"pool": "a"}, "topologyName": "net"})
LOCAL_QUEUE = of_kind("LocalQueue", {"clusterQueue": "q"})
TOPOLOGY = of_kind("Topology", {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]})
ADMISSION_CHECK = of_kind("AdmissionCheck", {"controllerName": "example.com/checker"})
PRIORITY_CLASS = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}}
MULTIKUEUE_CLUSTER = of_kind("MultiKueueCluster", {"clusterSource": {"kubeConfig": {"location": "worker1"}}})
MULTIKUEUE_CONFIG = of_kind("MultiKueueConfig", {"clusters": ["worker1", "worker2"]})
PROVISIONING_CONFIG = of_kind("ProvisioningRequestConfig", {"provisioningClassName": "check-capacity.example.com"})
DISPATCH_POLICY = of_kind("DispatchPolicy", {"strategy": "Pack"})


def pod_set(name: str = "main", count: int = 3, **more: Any) -> Document:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {"name": name, "count": count, "template": template, **more}


WORKLOAD = of_kind("Workload", {"queueName": "lq", "podSets": [pod_set()]})


def condition(kind: str, status: str = "True") -> Document:
    return {"type": kind, "status": status, "reason": "ByTest", "message": "", "lastTransitionTime": WHEN}


def reserved(document: Document = WORKLOAD, **status: Any) -> Document:
    """The workload holding quota for three pods."""
    assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "3"}, "count": 3}
    admission = {"clusterQueue": "q", "podSetAssignments": [assignment]}
    return {**document, "status": {"admission": admission, "conditions": [condition("QuotaReserved")], **status}}
