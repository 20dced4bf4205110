"""Builders: what a hub hears of a worker, as events; and what it asks."""

import msgspec

from hub.engine.evaluation import Request
from hub.engine.knowledge_event import KnowledgeEvent
from worker_agent.api.document import Document
from worker_agent.engine import capacity
from worker_agent.engine.policy import DEFAULT

API = "kueue.x-k8s.io/v1beta2"


def event(cluster: str, plural: str, document: Document) -> KnowledgeEvent:
    metadata = document["metadata"]
    raw = msgspec.json.encode(document)
    return KnowledgeEvent(cluster, plural, metadata.get("namespace", ""), metadata["name"], raw)


def gone(cluster: str, plural: str, name: str, namespace: str = "") -> KnowledgeEvent:
    return KnowledgeEvent(cluster, plural, namespace, name)


def flavor(cluster: str, name: str = "default", *, price: str = "") -> KnowledgeEvent:
    annotations = {"fedhub.dev/price-per-hour": price} if price else {}
    return event(cluster, "resourceflavors", {"metadata": {"name": name, "annotations": annotations}, "spec": {}})


def cluster_queue(cluster: str, *, cpu: int, cohort: str = "") -> KnowledgeEvent:
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
    spec = {"resourceGroups": groups, "namespaceSelector": {}, "cohortName": cohort}
    return event(cluster, "clusterqueues", {"metadata": {"name": "cq"}, "spec": spec})


def local_queue(cluster: str, **spec: str) -> KnowledgeEvent:
    metadata = {"name": "lq", "namespace": "ns"}
    return event(cluster, "localqueues", {"metadata": metadata, "spec": {"clusterQueue": "cq", **spec}})


def namespace(cluster: str) -> KnowledgeEvent:
    return event(cluster, "namespaces", {"metadata": {"name": "ns"}})


def worker(cluster: str, *, cpu: int, price: str = "") -> list[KnowledgeEvent]:
    """A worker with one queue of so many cpus."""
    return [namespace(cluster), flavor(cluster, price=price), cluster_queue(cluster, cpu=cpu), local_queue(cluster)]


def cluster_queue_of(cluster: str, *flavors: str, cpu: int, check: str = "") -> KnowledgeEvent:
    """The queue with several flavors of so many cpus each, guarded by a check."""
    quotas = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": cpu}]} for name in flavors]
    spec: Document = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": quotas}], "namespaceSelector": {}}
    if check:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check}]}
    return event(cluster, "clusterqueues", {"metadata": {"name": "cq"}, "spec": spec})


def check(cluster: str, name: str, controller: str) -> KnowledgeEvent:
    active = {"type": "Active", "status": "True", "reason": "Active", "lastTransitionTime": "2026-01-31T12:00:00Z"}
    document = {"metadata": {"name": name}, "spec": {"controllerName": controller}, "status": {"conditions": [active]}}
    return event(cluster, "admissionchecks", document)


def complete(cluster: str, *unreadable: str) -> KnowledgeEvent:
    """All first lists are in but those that may not be read."""
    return KnowledgeEvent(cluster, "unreadable", raw=",".join(unreadable).encode())


def report(
    cluster: str,
    *nodes: int,
    at: str = "2026-01-31T12:00:00Z",
    engine: str = capacity.ENGINE_VERSION,
    largest: dict[str, int] | None = None,
) -> KnowledgeEvent:
    """A ClusterCapacity: one number of free cpus per node; ``largest`` gives the cpus of a flavor's largest node."""
    free = [{"free": {"cpu": str(cpu), "pods": "110"}, "count": 1} for cpu in nodes]
    sizes = []
    for name, cpu in (largest or {}).items():
        vectors = [{"free": {"cpu": str(cpu), "pods": "110"}, "count": 1}]
        sizes.append({"flavor": name, "nodes": 1, "freeNodes": vectors, "largestNodes": vectors})
    status = {
        "engineVersion": engine,
        "policy": {"hash": capacity.policy_hash(DEFAULT)},
        "reportedAt": at,
        "flavors": sizes or [{"flavor": "default", "nodes": len(nodes), "freeNodes": free}],
        "integrations": ["batch/job"],
    }
    return event(cluster, "clustercapacities", {"metadata": {"name": "this"}, "status": status})


def workload_document(name: str, *, cpu: int, pods: int = 1, priority: int = 0) -> Document:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}]
    pod_set = {"name": "main", "count": pods, "template": {"spec": {"containers": containers}}}
    metadata = {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": "2026-01-31T12:00:00Z"}
    spec = {"queueName": "lq", "priority": priority, "podSets": [pod_set]}
    return {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": spec}


def reserved(document: Document, *, cpu: int, pods: int = 1) -> Document:
    """The workload holding quota for all its pods."""
    assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": str(cpu)}, "count": pods}
    condition = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "message": "",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    status = {"admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}, "conditions": [condition]}
    return {**document, "status": status}


def pending(cluster: str, name: str, *, cpu: int) -> KnowledgeEvent:
    return event(cluster, "workloads", workload_document(name, cpu=cpu))


def running(cluster: str, name: str, *, cpu: int, active: bool = True) -> KnowledgeEvent:
    document = reserved(workload_document(name, cpu=cpu), cpu=cpu)
    return event(cluster, "workloads", {**document, "spec": {**document["spec"], "active": active}})


def finished(cluster: str, name: str, *, cpu: int) -> KnowledgeEvent:
    document = reserved(workload_document(name, cpu=cpu), cpu=cpu)
    document["status"]["conditions"].append({**document["status"]["conditions"][0], "type": "Finished"})
    return event(cluster, "workloads", document)


def request(*clusters: str, name: str = "new", cpu: int = 1, pods: int = 1) -> Request:
    raw = msgspec.json.encode(workload_document(name, cpu=cpu, pods=pods))
    return Request("ns", name, "batch/job", clusters, raw)
