"""Objects that are deleted and do not go."""

from collections.abc import Iterator
from datetime import timedelta

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Snapshot
from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    MULTIKUEUE_CLUSTERS,
    RESOURCE_FLAVORS,
    TOPOLOGIES,
    WORKLOADS,
)

NAME = "finalizers"
READS = (CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, ADMISSION_CHECKS, TOPOLOGIES, WORKLOADS)
PATIENCE = timedelta(minutes=5)


def check(snapshot: Snapshot) -> Iterator[Finding]:
    for resource in (*READS, COHORTS, MULTIKUEUE_CLUSTERS):
        for each in snapshot.all(resource):
            metadata = each["metadata"]
            deleted = metadata.get("deletionTimestamp")
            if not deleted or not metadata.get("finalizers"):
                continue
            age = snapshot.now - timestamps.parse(deleted)
            if age < PATIENCE:
                continue
            name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
            kept = ", ".join(metadata["finalizers"])
            yield finding.error(
                f"{resource.kind.lower()}/{name}",
                f"was deleted {int(age.total_seconds() // 60)} minutes ago and is kept by {kept}{_by(snapshot, each)}",
                _remedy(resource.plural, metadata),
            )


def _by(snapshot: Snapshot, each: Document) -> str:
    """Who still uses it, as far as that is to be seen."""
    if each["kind"] != "ClusterQueue":
        return ""
    users = [
        f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        for one in snapshot.all(WORKLOADS)
        if ((one.get("status") or {}).get("admission") or {}).get("clusterQueue") == each["metadata"]["name"]
    ]
    return f"; {len(users)} workloads hold quota of it, such as {users[0]}" if users else ""


def _remedy(plural: str, metadata: Document) -> str:
    namespace = f" -n {metadata['namespace']}" if metadata.get("namespace") else ""
    if names.IN_USE_FINALIZER in metadata["finalizers"]:
        return "the program takes it off when nothing uses the object: see whether it runs, and what uses the object"
    return (
        f"where its controller is gone: kubectl patch {plural} {metadata['name']}{namespace} --type=merge"
        ' -p \'{"metadata":{"finalizers":null}}\''
    )
