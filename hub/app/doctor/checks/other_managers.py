"""Kueue running at the same time: two engines on one set of queues admit work twice over."""

from collections.abc import Iterator

from hub.app.doctor import finding
from hub.app.doctor.checks import programs
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Snapshot
from worker_agent.api.resource_type import DEPLOYMENTS, LEASES, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

NAME = "other-managers"
READS = (DEPLOYMENTS, LEASES, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)
_KUEUE = "kueue-controller-manager"


def check(snapshot: Snapshot) -> Iterator[Finding]:
    for each in snapshot.all(DEPLOYMENTS):
        metadata = each["metadata"]
        if metadata["name"] == _KUEUE and (each.get("spec") or {}).get("replicas", 1):
            yield finding.error(
                f"deployment/{metadata['namespace']}/{_KUEUE}",
                "Kueue runs beside this program: both admit workloads of the same queues",
                f"kubectl scale deployment {_KUEUE} -n {metadata['namespace']} --replicas=0",
            )
    fresh = [each for each in programs.leader_leases(snapshot) if programs.is_fresh(snapshot, each)]
    if len(fresh) > 1:
        holders = ", ".join(f"{each['spec']['holderIdentity']} in {each['metadata']['namespace']}" for each in fresh)
        yield finding.error(
            f"lease/{programs.LEADER}",
            f"two managers lead at the same time: {holders}",
            "stop one of them, or give both one leaderElection.resourceNamespace",
        )
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        names = [each["metadata"]["name"] for each in snapshot.all(resource)]
        ours = [name for name in names if name.startswith("fedhub-")]
        for name in names:
            if ours and name.startswith("kueue-"):
                yield finding.warning(
                    f"{resource.kind.removesuffix('Configuration').lower()}/{name}",
                    "was left by Kueue beside ours: where its Service is gone, jobs cannot be created",
                    f"kubectl delete {resource.plural} {name}",
                )
