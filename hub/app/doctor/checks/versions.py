"""The agent's own word on its version and how old its report is."""

from collections.abc import Iterator
from typing import Final

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Role, Snapshot
from hub.engine import version_skew
from worker_agent.api.resource_type import CLUSTER_CAPACITIES, CUSTOM_RESOURCE_DEFINITIONS

NAME = "versions"
READS = (CLUSTER_CAPACITIES,)
_REPORT: Final = "clustercapacity/this"


def check(snapshot: Snapshot) -> Iterator[Finding]:
    if snapshot.role is not Role.AGENT:
        return
    report = snapshot.find(CLUSTER_CAPACITIES, "this")
    if report is None:
        defined = snapshot.find(CUSTOM_RESOURCE_DEFINITIONS, "clustercapacities.fedhub.dev") is not None
        if defined:
            yield finding.error(
                _REPORT,
                "no agent has told of this cluster: the hub waits for its report before it sends anything",
                "see whether the agent runs, and its log",
            )
        return
    judgement = version_skew.judge((report.get("status") or {}).get("agentVersion") or "")
    if not judgement.supported:
        yield finding.error(_REPORT, judgement.message, "upgrade the older of the two, hub first")
