"""What a Workload says about where its pods are: admitted places, failed nodes, who owns it (spec/tas 15 and 16)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.workload import Workload
from worker_agent.engine.policy import Policy
from worker_agent.engine.tas import topology_assignment
from worker_agent.engine.tas.driver import Situation
from worker_agent.engine.tas.topology_assignment import TopologyAssignment
from worker_agent.engine.workload_info import WorkloadRow

PLAIN: Final = Situation()


def unhealthy_node(workload: Workload) -> str:
    """The failed node whose pods get a new place; empty when there is none. Others wait for their turn."""
    nodes = workload.status.unhealthy_nodes
    return nodes[0].name if nodes else ""


def places(row: WorkloadRow) -> dict[str, TopologyAssignment]:
    """Pod set -> the place it holds."""
    return {pod_set.name: pod_set.topology for pod_set in row.pod_sets if pod_set.topology is not None}


def is_plain(workload: Workload) -> bool:
    """Whether its pods have no places yet and no special owner."""
    status = workload.status
    return not (workload.metadata.owner_references or status.admission or status.unhealthy_nodes)


def situation(workload: Workload, policy: Policy, elastic: bool = False) -> Situation:
    if not elastic and is_plain(workload):
        return PLAIN
    return Situation(
        unhealthy_node=unhealthy_node(workload),
        keeps_assignment=policy.topology.keep_pod_owned and is_pod_owned(workload),
        elastic=elastic,
        existing=existing(workload),
    )


def existing(workload: Workload) -> dict[str, TopologyAssignment]:
    """Pod set -> its admitted place, where it has one."""
    admission = workload.status.admission
    found = {}
    for assignment in admission.pod_set_assignments if admission else ():
        place = topology_assignment.of_view(assignment.topology_assignment)
        if place is not None:
            found[assignment.name] = place
    return found


def is_pod_owned(workload: Workload) -> bool:
    """Made for one plain pod, which cannot move."""
    owners = workload.metadata.owner_references or []
    if len(owners) != 1 or (owners[0].kind, owners[0].api_version) != ("Pod", "v1"):
        return False
    return workload.metadata.annotation(names.IS_GROUP_WORKLOAD_ANNOTATION) != "true"
