"""Nomination again, of an entry whose nodes another one took: often its flavors are not in question.

A scan that may only use the flavors nominated before chooses them again where all of them still fit without borrowing;
then only other places are to be found.
"""

from worker_agent.engine import quota
from worker_agent.engine.assignment import Assignment, FlavorChoice, PodSetResult
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.hierarchy import lowest_subtree_that_fits
from worker_agent.engine.modes import BEST, Mode
from worker_agent.engine.scan import ScanState
from worker_agent.engine.workload_info import WorkloadRow


def settled(row: WorkloadRow, queue: ClusterQueueRow, old: Assignment, cycle: int) -> Assignment | None:
    """The assignment that such a scan would make on the state as it is now, without places.

    None where only the scan itself can tell. ``old``: the nominated one, that needs no victims.
    """
    if old.mode is not Mode.FIT or old.borrowing or row.reserved_in or not _by_itself(row, old):
        return None
    node = queue.node
    for fr, amount in old.usage.items():
        if amount > quota.exposed(node, fr) or lowest_subtree_that_fits(node, fr, amount)[0]:
            return None
    results = [_without_place(result) for result in old.pod_sets]
    return Assignment(results, dict(old.usage), 0, ScanState(old.scan.tried, node.generation, cycle, row.hash))


def _by_itself(row: WorkloadRow, old: Assignment) -> bool:
    """Whether all pods were assigned, and pod sets share no results."""
    if len(row.pod_sets) != len(old.pod_sets):
        return False
    alone = len(row.pod_sets) == 1
    for pod_set, result in zip(row.pod_sets, old.pod_sets, strict=True):
        if result.count != pod_set.count or not (alone or pod_set.group is None):
            return False
    return True


def _without_place(old: PodSetResult) -> PodSetResult:
    result = PodSetResult(old.name, old.count, old.requests)
    for resource, choice in old.flavors.items():
        again = result.flavors[resource] = FlavorChoice(choice.flavor, Mode.FIT, 0)
        again.tried = choice.tried
    result.attempts = [attempt for attempt in old.attempts if attempt.mode == BEST]
    return result
