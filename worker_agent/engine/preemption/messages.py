"""What is said about a preemption (spec/engine 13.1). Tools match on these texts."""

from typing import Final

from worker_agent.api import names
from worker_agent.engine.workload_info import WorkloadRow

_CAUSES: Final = {
    names.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    names.IN_COHORT_RECLAMATION: "reclamation within the cohort",
    names.IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    names.IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


def preempted(preemptor: WorkloadRow, reason: str, preemptor_path: str, preemptee_path: str) -> str:
    """The message of the Preempted and Evicted conditions. Paths as ``hierarchy.path`` gives them."""
    job_uid = preemptor.workload.metadata.label(names.JOB_UID_LABEL)
    return (
        f"Preempted to accommodate a workload (UID: {preemptor.uid or 'UNKNOWN'}, JobUID: {job_uid or 'UNKNOWN'}) "
        f"due to {_CAUSES.get(reason, 'UNKNOWN')}; preemptor path: {preemptor_path}; preemptee path: {preemptee_path}"
    )


def priorities(preemptor: WorkloadRow, victim: WorkloadRow) -> str:
    """Why the one outranks the other, for the events of both."""
    return f"preemptor effective priority: {_priority(preemptor)}; preemptee effective priority: {_priority(victim)}"


def preemptor_story(victim: WorkloadRow, told_priorities: str) -> str:
    """The event on the preemptor."""
    key = str(victim.key).removeprefix("/")
    return f"Preempted workload {key} (UID: {victim.uid}) in ClusterQueue {victim.reserved_in}; {told_priorities}"


def _priority(row: WorkloadRow) -> str:
    base = row.workload.spec.priority or 0
    return f"{row.priority} (base: {base}, boost: {row.priority - base})"
