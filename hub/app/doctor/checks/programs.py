"""The program itself: it runs, and one replica leads."""

from collections.abc import Iterator
from datetime import timedelta

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Snapshot
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.resource_type import DEPLOYMENTS, LEASES

NAME = "program"
READS = (DEPLOYMENTS, LEASES)
LEADER = "c1f6bfd2.kueue.x-k8s.io"
"""The lease of who leads; Kueue's own name, in the namespace of each program."""


def check(snapshot: Snapshot) -> Iterator[Finding]:
    deployment = snapshot.deployment
    about = f"deployment/{snapshot.namespace}/{snapshot.program}"
    if deployment is not None:
        yield from _replicas(about, deployment)
    elif any(is_fresh(snapshot, each) for each in leader_leases(snapshot)):
        pass
    elif snapshot.is_outside():
        yield finding.note(
            about,
            "runs outside of this cluster, without leader election: nothing here tells whether it runs now",
            "see the program where it runs; of a local federation: fedhub status",
        )
    else:
        yield finding.error(
            about,
            "is not installed, and nobody leads: nothing is admitted on this cluster",
            f"kubectl apply --server-side -k manifests/overlays/{snapshot.role.value}; another namespace: --namespace",
        )
    yield from _leadership(snapshot)


def leader_leases(snapshot: Snapshot) -> list[Document]:
    return [each for each in snapshot.all(LEASES) if each["metadata"]["name"] == LEADER]


def is_fresh(snapshot: Snapshot, lease: Document) -> bool:
    """Held, and renewed within its duration, by the server's clock and half a minute for those of its holders."""
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return False
    lasts = timedelta(seconds=int(spec.get("leaseDurationSeconds") or 15) + 30)
    return bool(timestamps.parse(spec["renewTime"]) + lasts > snapshot.now)


def _replicas(about: str, deployment: Document) -> Iterator[Finding]:
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    status = deployment.get("status") or {}
    available = status.get("availableReplicas") or 0
    _, namespace, name = about.split("/")
    logs = f"kubectl describe deployment {name} -n {namespace}; kubectl logs deployment/{name} -n {namespace}"
    if wanted == 0:
        yield finding.error(about, "is scaled to 0", f"kubectl scale deployment {name} -n {namespace} --replicas=2")
    elif available == 0:
        yield finding.error(about, f"none of {wanted} replicas is available", logs)
    elif available < wanted:
        yield finding.warning(about, f"{available} of {wanted} replicas are available", logs)


def _leadership(snapshot: Snapshot) -> Iterator[Finding]:
    for lease in leader_leases(snapshot):
        metadata, spec = lease["metadata"], lease.get("spec") or {}
        if metadata["namespace"] != snapshot.namespace or is_fresh(snapshot, lease):
            continue
        holder = spec.get("holderIdentity") or "nobody"
        yield finding.error(
            f"lease/{metadata['namespace']}/{metadata['name']}",
            f"is held by {holder}, last renewed at {spec.get('renewTime') or 'no time'}: nobody leads or decides",
            f"see the logs of the replicas: kubectl logs -n {metadata['namespace']} deployment/{snapshot.program}",
        )
