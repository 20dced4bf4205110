"""Queues, checks and flavors that admit nothing, and why."""

from collections.abc import Iterator, Mapping

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Role, Snapshot
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    NODES,
    RESOURCE_FLAVORS,
    ResourceType,
)

NAME = "queues"
READS = (CLUSTER_QUEUES, LOCAL_QUEUES, ADMISSION_CHECKS, RESOURCE_FLAVORS, NODES)
_REMEDIES: Mapping[str, str] = {
    "Stopped": "fedhub kueue resume {kind} {name}",
    "LocalQueueStopped": "fedhub kueue resume {kind} {name}",
    "FlavorNotFound": "create the ResourceFlavor: fedhub kueue create resourceflavor NAME",
    "AdmissionCheckNotFound": "create the AdmissionCheck, or take it out of the queue",
    "AdmissionCheckInactive": "see the condition of the AdmissionCheck",
    "TopologyNotFound": "create the Topology that the flavor names",
    "ClusterQueueDoesNotExist": "create the ClusterQueue: fedhub kueue create clusterqueue NAME",
    "ClusterQueueIsInactive": "see the ClusterQueue's own finding",
    "Terminating": "see stuck finalizers",
}


def check(snapshot: Snapshot) -> Iterator[Finding]:
    for resource in (CLUSTER_QUEUES, LOCAL_QUEUES, ADMISSION_CHECKS):
        for each in snapshot.all(resource):
            yield from _activity(resource, each)
    yield from _flavors(snapshot)


def _activity(resource: ResourceType, each: Document) -> Iterator[Finding]:
    kind = resource.kind.lower()
    metadata = each["metadata"]
    name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    conditions = (each.get("status") or {}).get("conditions") or ()
    active = next((one for one in conditions if one["type"] == "Active"), None)
    if active is None and resource is not ADMISSION_CHECKS:
        yield finding.error(f"{kind}/{name}", "nobody has looked at it", "see whether the program runs and leads")
    elif active is not None and active["status"] != "True":
        namespace = f" -n {metadata['namespace']}" if metadata.get("namespace") else ""
        remedy = _REMEDIES.get(active["reason"], "kubectl describe {kind} {name}")
        yield finding.warning(
            f"{kind}/{name}",
            f"admits nothing ({active['reason']}): {active['message']}",
            remedy.format(kind=kind, name=metadata["name"] + namespace) if "{name}" in remedy else remedy,
        )


def _flavors(snapshot: Snapshot) -> Iterator[Finding]:
    """Only where nodes matter: workloads of a manager run elsewhere."""
    nodes = [(each["metadata"].get("labels") or {}) for each in snapshot.all(NODES)]
    if snapshot.role is Role.HUB or not nodes:
        return
    for flavor in snapshot.all(RESOURCE_FLAVORS):
        labels = (flavor.get("spec") or {}).get("nodeLabels") or {}
        if labels and not any(labels.items() <= node.items() for node in nodes):
            told = ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
            yield finding.warning(
                f"resourceflavor/{flavor['metadata']['name']}",
                f"no node has its labels ({told}): what is admitted to it gets no place",
                "correct its nodeLabels, label nodes, or let an autoscaler make them",
            )
