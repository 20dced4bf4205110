"""What a Workload says about where its pods are: admitted places, failed nodes, who owns it (spec/tas 15 and 16)."""

from worker_agent.api import names
from worker_agent.api.workload import Workload
from worker_agent.engine.policy import Policy
from worker_agent.engine.tas import topology_assignment
from worker_agent.engine.tas.driver import Situation
from worker_agent.engine.tas.topology_assignment import TopologyAssignment


def situation(workload: Workload, policy: Policy, elastic: bool = False) -> Situation:
    nodes = workload.status.unhealthy_nodes
    return Situation(
        unhealthy_node=nodes[0].name if nodes else "",
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
