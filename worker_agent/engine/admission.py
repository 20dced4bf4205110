"""From an assignment to what is written: ``status.admission``, ``status.resourceRequests`` and the event's text."""

from worker_agent.api.document import Document
from worker_agent.api.workload import Workload
from worker_agent.engine import conditions, resources
from worker_agent.engine.assignment import Assignment, Attempt, PodSetResult
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.workload_info import PodSetRow, WorkloadRow


def document(cluster_queue: str, assignment: Assignment, by_prefix: bool = True) -> Document:
    """``status.admission``; usage lists exactly the resources that have a flavor.

    ``by_prefix``: places may be written in several slices where that is shorter.
    """
    return {
        "clusterQueue": cluster_queue,
        "podSetAssignments": [_pod_set_document(pod_set, by_prefix) for pod_set in assignment.pod_sets],
    }


def _pod_set_document(pod_set: PodSetResult, by_prefix: bool) -> Document:
    result: Document = {"name": pod_set.name}
    if pod_set.flavors:
        result["flavors"] = {resource: choice.flavor for resource, choice in pod_set.flavors.items()}
        result["resourceUsage"] = resources.documents(pod_set.usage)
    result["count"] = pod_set.count
    if pod_set.topology is not None:
        result["topologyAssignment"] = pod_set.written or pod_set.topology.document(by_prefix)
    if pod_set.delayed:
        result["delayedTopologyRequest"] = pod_set.delayed
    return result


def pod_set_rows(row: WorkloadRow, assignment: Assignment) -> list[PodSetRow]:
    """The row's pod sets with the assignment's figures; one that holds quota already only gets its places."""
    by_name = {pod_set.name: pod_set for pod_set in assignment.pod_sets}
    for pod_set in row.pod_sets:
        result = by_name[pod_set.name]
        if not row.reserved_in:
            flavors = {resource: choice.flavor for resource, choice in result.flavors.items()}
            pod_set.assign(flavors, result.usage, result.count)
        pod_set.place(result.topology, result.delayed)
    return list(row.pod_sets)


def checks_satisfied(workload: Workload, queue: ClusterQueueRow, assignment: Assignment) -> bool:
    """Whether the reservation is an admission at once: all required checks are listed, and all listed are Ready."""
    if any(pod_set.delayed == "Pending" and pod_set.topology is None for pod_set in assignment.pod_sets):
        return False
    if queue.checks:
        listed = {check.name for check in workload.status.admission_checks or ()}
        if not queue.required_checks(assignment.flavors) <= listed:
            return False
    return conditions.checks_ready(workload)


def resource_requests(row: WorkloadRow) -> tuple[Document, ...]:
    """``status.resourceRequests`` of a workload that was parked or skipped: totals per pod set."""
    if len(row.pod_sets) == 1:
        return _requests_of_one(row.pod_sets[0])
    return tuple({"name": pod_set.name, "resources": resources.documents(pod_set.requests)} for pod_set in row.pod_sets)


def _requests_of_one(pod_set: PodSetRow) -> tuple[Document, ...]:
    """Equal for workloads that ask for the same of one shape, and then the same object."""
    known, alike = pod_set.shape.written, (pod_set.name, *pod_set.requests.items())
    found = known.get(alike)
    if found is None:
        found = known[alike] = ({"name": pod_set.name, "resources": resources.documents(pod_set.requests)},)
    return found


def flavors_considered(assignment: Assignment) -> str:
    """Per pod set the flavors that were not a plain fit without borrowing (spec/engine 25); may be empty."""
    parts = []
    for pod_set in assignment.pod_sets:
        told = sorted((a.flavor, _attempt_text(a)) for a in pod_set.attempts if not _plain(a))
        if told:
            parts.append(f"{pod_set.name}: {', '.join(text for _, text in told)}")
    return " | ".join(parts)


def _plain(attempt: Attempt) -> bool:
    return attempt.mode.preemption is PreemptionMode.FIT and attempt.mode.level == 0


_MODE_NAMES = {
    PreemptionMode.NO_FIT: "NoFit",
    PreemptionMode.NO_CANDIDATES: "NoCandidates",
    PreemptionMode.PREEMPT: "Preempt",
    PreemptionMode.RECLAIM: "Reclaim",
    PreemptionMode.FIT: "Fit",
}


def _attempt_text(attempt: Attempt) -> str:
    mode = attempt.mode
    if mode.preemption is PreemptionMode.NO_FIT:
        return f"{attempt.flavor}(NoFit;{attempt.detail})"
    facts = ["Fit" if mode.preemption is PreemptionMode.FIT else f"preemptionMode={_MODE_NAMES[mode.preemption]}"]
    if mode.level > 0:
        facts.append(f"borrow={mode.level}")
    if attempt.detail:
        facts.append(attempt.detail)
    return f"{attempt.flavor}({';'.join(facts)})"
