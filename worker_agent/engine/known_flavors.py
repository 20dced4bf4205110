"""KnownFlavors: flavors that a scan would choose again, for heads alike and for a head that is nominated again.

A scan that finds room without borrowing on the first flavors that suit stops there, whatever else the state holds. So a
head like one before it, in a queue with the same flavors, gets the same flavors if they fit in its own queue too; and a
head whose nodes another one took keeps its flavors if they still fit. Only places are to be found then.
"""

from worker_agent.engine import flavors, quota, slice_replacement
from worker_agent.engine.assignment import Assignment, FlavorChoice, PodSetResult
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_request import FlavorRequest
from worker_agent.engine.hierarchy import lowest_subtree_that_fits
from worker_agent.engine.modes import BEST, Mode
from worker_agent.engine.policy import Policy
from worker_agent.engine.scan import ScanState
from worker_agent.engine.tas import workload_facts
from worker_agent.engine.workload_info import UNKNOWN_HASH, WorkloadRow

Likeness = tuple[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]


class KnownFlavors:
    """Of one cycle."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[Likeness, Assignment] = {}
        """By workload and flavors of the queue, the assignment of the first such head."""

    def remember(self, request: FlavorRequest, found: Assignment) -> None:
        """An assignment that needs no victims, of a scan from the first flavor."""
        row = request.row
        if row.hash == UNKNOWN_HASH or request.scan is not None or not _plain(row, found):
            return
        if all(attempt.mode == BEST for result in found.pod_sets for attempt in result.attempts):
            self._first[row.hash, request.queue.scanned] = found

    def like(self, request: FlavorRequest) -> Assignment | None:
        """The assignment, with its places, that the request will get; None where only the scan can tell."""
        if not self._first or request.scan is not None or request.row.reserved_in:
            return None
        known = self._first.get((request.row.hash, request.queue.scanned))
        return None if known is None else placed_again(request, known)


def placed_again(request: FlavorRequest, old: Assignment) -> Assignment | None:
    """An assignment with the flavors of ``old`` and other places; None where a scan has to be made.

    ``old``: without victims, of the same workload or one like it.
    """
    row, queue, policy = request.row, request.queue, request.policy
    # A second placement would not be scored like the first.
    if policy.topology.preferred_affinity or not _plain(row, old):
        return None
    if slice_replacement.replaced_by(row, queue, policy) is not None:
        return None
    node = queue.node
    for fr, amount in old.usage.items():
        if amount > quota.exposed(node, fr) or lowest_subtree_that_fits(node, fr, amount)[0]:
            return None
    results = [_without_place(result) for result in old.pod_sets]
    scan = ScanState(old.scan.tried, node.generation, request.cycle, row.hash)
    found = Assignment(results, old.usage, 0, scan)
    if old.placed_at == request.state.journal.version and _asks_like_others(row, queue, policy):
        return _with_places_of(old, found)
    found = flavors.with_places(request, found)
    return found if found.mode is Mode.FIT else None


def _asks_like_others(row: WorkloadRow, queue: ClusterQueueRow, policy: Policy) -> bool:
    """Whether nothing but its pods and flavors decides where they go."""
    if policy.topology.elastic or queue.checks or row.hash == UNKNOWN_HASH:
        return False
    return not row.workload.status.admission_checks and workload_facts.is_plain(row.workload)


def _with_places_of(old: Assignment, found: Assignment) -> Assignment:
    """On an equal state equal asks have one answer."""
    found.asks, found.placed_at = old.asks, old.placed_at
    for result, known in zip(found.pod_sets, old.pod_sets, strict=True):
        result.topology, result.placed = known.topology, known.placed
    return found


def _plain(row: WorkloadRow, old: Assignment) -> bool:
    """Whether all pods were assigned without borrowing, and pod sets share no results."""
    if old.mode is not Mode.FIT or old.borrowing or row.reserved_in or len(row.pod_sets) != len(old.pod_sets):
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
