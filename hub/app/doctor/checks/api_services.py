"""Aggregated APIs that the API server cannot reach: they also keep deleted namespaces from going."""

from collections.abc import Iterator

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Role, Snapshot
from worker_agent.aggregated.registration import API_SERVICES

NAME = "api-services"
READS = (API_SERVICES,)
_GROUPS = ("visibility.kueue.x-k8s.io", "remote.fedhub.dev")
_VISIBILITY = ("v1beta1.visibility.kueue.x-k8s.io", "v1beta2.visibility.kueue.x-k8s.io")


def check(snapshot: Snapshot) -> Iterator[Finding]:
    found = {each["metadata"]["name"]: each for each in snapshot.all(API_SERVICES)}
    for name in _VISIBILITY:
        if name not in found:
            yield finding.warning(
                f"apiservice/{name}",
                "is not there: nobody can ask where a workload stands in its queue",
                f"install the manifests of the {snapshot.role.value} again; the gate VisibilityOnDemand turns it off",
            )
    for name, each in sorted(found.items()):
        if each["spec"].get("group") not in _GROUPS:
            continue
        conditions = (each.get("status") or {}).get("conditions") or ()
        available = next((one for one in conditions if one["type"] == "Available"), None)
        if available is not None and available["status"] != "True":
            program = "hub" if snapshot.role is Role.HUB else "agent"
            yield finding.error(
                f"apiservice/{name}",
                f"is not available ({available.get('reason', '')}): {available.get('message', '')}",
                f"see the log of the {program}; where it is gone for good: kubectl delete apiservice {name}",
            )
