"""The rights that the code says it needs, asked of the API server for the program's own account."""

from collections import defaultdict
from collections.abc import Iterator

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Snapshot
from worker_agent.api.need import Place

NAME = "rights"
READS = ()


def check(snapshot: Snapshot) -> Iterator[Finding]:
    account = f"serviceaccount/{snapshot.namespace}/{snapshot.account}"
    if snapshot.denied is None:
        yield finding.note(
            account,
            "whether its rights are sufficient is not known: you may not create subjectaccessreviews",
            "ask as an administrator of this cluster",
        )
        return
    missing: dict[tuple[str, Place], set[str]] = defaultdict(set)
    for need in snapshot.denied:
        resource = f"{need.resource}.{need.group}" if need.group else need.resource
        missing[resource, need.place] |= need.verbs
    for (resource, place), verbs in sorted(missing.items()):
        where = f" in namespace {snapshot.namespace}" if place is Place.OWN_NAMESPACE else ""
        yield finding.error(
            account,
            f"may not {', '.join(sorted(verbs))} {resource}{where}",
            f"kubectl apply -f manifests/base/{snapshot.role.value}/roles.yaml, and its role-bindings.yaml",
        )
