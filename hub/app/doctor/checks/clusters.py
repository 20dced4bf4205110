"""Workers as the hub sees them: in contact, fenced, and of a version it works with; and configs that name them."""

from collections.abc import Iterator

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Role, Snapshot
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS

NAME = "clusters"
READS = (MULTIKUEUE_CLUSTERS, MULTIKUEUE_CONFIGS)


def check(snapshot: Snapshot) -> Iterator[Finding]:
    if snapshot.role is not Role.HUB:
        return
    known = {each["metadata"]["name"] for each in snapshot.all(MULTIKUEUE_CLUSTERS)}
    for cluster in snapshot.all(MULTIKUEUE_CLUSTERS):
        yield from _cluster(cluster)
    for config in snapshot.all(MULTIKUEUE_CONFIGS):
        for name in (config.get("spec") or {}).get("clusters") or ():
            if name not in known:
                yield finding.error(
                    f"multikueueconfig/{config['metadata']['name']}",
                    f"names the cluster {name}, and there is no such MultiKueueCluster",
                    f"fedhub enroll {name}, or create the MultiKueueCluster, or take the name out",
                )


def _cluster(cluster: Document) -> Iterator[Finding]:
    name = cluster["metadata"]["name"]
    about = f"multikueuecluster/{name}"
    conditions = {each["type"]: each for each in (cluster.get("status") or {}).get("conditions") or ()}
    active = conditions.get(names.ACTIVE)
    if active is None:
        yield finding.error(about, "no hub has looked at it", "see whether the hub runs and leads")
    elif active["status"] != "True":
        remedy = "see secret and network of this worker; fedhub cluster list -o wide follows the contact"
        yield finding.error(about, f"is not in contact ({active['reason']}): {active['message']}", remedy)
    fenced = conditions.get(names.FENCED)
    if active is not None and active["status"] == "True" and fenced is not None and fenced["status"] == "False":
        yield finding.warning(about, f"is not fenced ({fenced['reason']}): {fenced['message']}", "run an agent there")
    skew = conditions.get(names.VERSION_SUPPORTED)
    if skew is not None and skew["status"] == "False":
        yield finding.error(about, skew["message"], "upgrade the older of the two, hub first")
    annotations = cluster["metadata"].get("annotations") or {}
    if annotations.get(names.CORDONED_ANNOTATION):
        yield finding.warning(about, "is cordoned: it gets no new work", f"fedhub cluster uncordon {name}")
