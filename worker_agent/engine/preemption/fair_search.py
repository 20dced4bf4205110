"""Preemption under fair sharing (spec/engine 11.4 to 11.6): take from the queues with the highest shares.

The preemptor's request counts as used while victims are looked for, so that its share is what it would be. Victims are
picked one by one: down the tree along the highest shares to a ClusterQueue, whose next candidate must pass a rule that
compares the shares of both sides before and after.
"""

from collections.abc import Callable, Iterator
from typing import Final

from worker_agent.api import names
from worker_agent.engine import hierarchy, quota
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.fair_sharing import Share
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption import ranking
from worker_agent.engine.preemption.classical_search import within_nominal
from worker_agent.engine.preemption.fair_tree import FairTree
from worker_agent.engine.preemption.need import Need
from worker_agent.engine.preemption.ranking import NEVER, Ranked
from worker_agent.engine.preemption.removal import fill_back
from worker_agent.engine.preemption.search import Preemptor, Target
from worker_agent.engine.quota import QueueNode
from worker_agent.engine.workload_info import WorkloadRow

Strategy = Callable[[Share, Share, Share], bool]
"""(share of the preemptor's side with the request, of the victim's side before, and after): may it be taken?"""


def less_than_or_equal_to_final(preemptor: Share, before: Share, after: Share) -> bool:
    return preemptor.order <= after.order


def less_than_initial(preemptor: Share, before: Share, after: Share) -> bool:
    return preemptor.order < before.order


STRATEGIES: Final[dict[str, Strategy]] = {
    "LessThanOrEqualToFinalShare": less_than_or_equal_to_final,
    "LessThanInitialShare": less_than_initial,
}


def victims(preemptor: Preemptor, need: Need) -> list[Target]:
    """The workloads without whom the need fits, none when fairness gives too few."""
    search = _FairSearch(preemptor, need)
    if not search.candidates:
        return []
    with preemptor.state.trial():
        return search.run()


class _FairSearch:
    def __init__(self, preemptor: Preemptor, need: Need) -> None:
        self._row = preemptor.row
        self._queue = preemptor.queue
        self._state = preemptor.state
        self._policy: Policy = preemptor.state.policy
        self._need = need
        self._frs = tuple(need.frs)
        self._targets: list[Target] = []
        self._retry: dict[str, list[Ranked]] = {}
        self.candidates: dict[str, list[Ranked]] = {
            queue.name: list(ranks) for queue, ranks in self._collect() if ranks
        }

    def _collect(self) -> Iterator[tuple[ClusterQueueRow, list[Ranked]]]:
        own = self._queue
        yield own, self._eligible(own, own.within_cluster_queue)
        root = hierarchy.root_of(own.node)
        if root is own.node or own.reclaim_within_cohort == NEVER:
            return
        for node in hierarchy.queues_below(root):
            if node is not own.node and node.listed and not within_nominal(node, self._frs):
                queue = self._state.cluster_queues[node.name]
                yield queue, self._eligible(queue, own.reclaim_within_cohort)

    def _eligible(self, queue: ClusterQueueRow, policy: str) -> list[Ranked]:
        found = queue.candidates.eligible(self._frs, policy, self._row, queue.reservations)
        everyone = found.evicted + found.running
        usage = self._state.usage_of_local_queues
        if usage is None:
            return everyone
        rows = ranking.in_order((rank[-1] for rank in everyone), self._queue.name, usage)
        return [ranking.ranked(row) for row in rows]

    # -- the search ------------------------------------------------------------------------------------------------

    def run(self) -> list[Target]:
        """Inside a trial."""
        self._state.add_usage(self._queue, self._need.usage)
        first, *more = (STRATEGIES[name] for name in self._policy.preemption_strategies)
        if not self._first_strategy(first) and not (more and self._second_strategy()):
            return []
        quota.remove_all(self._queue.node, self._need.usage, self._state.journal)
        return fill_back(self._state, self._targets, lambda: self._need.fits(True))

    def _first_strategy(self, strategy: Strategy) -> bool:
        entitled = self._policy.preempt_within_nominal and within_nominal(self._queue.node, self._frs)
        tree = FairTree(self._queue.node, self.candidates)
        for node in tree:
            if node is self._queue.node:
                enough = self._take(tree, tree.pop(node)[-1], names.IN_CLUSTER_QUEUE)
            elif entitled:
                enough = self._take(tree, tree.pop(node)[-1], names.IN_COHORT_RECLAMATION)
            else:
                enough = self._take_fairly(tree, node, strategy)
            if enough:
                return True
        return False

    def _take_fairly(self, tree: FairTree, node: QueueNode, strategy: Strategy) -> bool:
        """The first candidate of the queue that passes; those that fail may have a second chance."""
        mine, before = tree.sides(node)
        while tree.has_candidates(node):
            rank = tree.pop(node)
            row = rank[-1]
            self._state.remove_reservation(row)
            if strategy(mine, before, tree.share_beside(node)):
                return self._taken(tree, node, row, names.IN_COHORT_FAIR_SHARING)
            self._state.restore_reservation(row)
            self._retry.setdefault(node.name, []).append(rank)
        return False

    def _second_strategy(self) -> bool:
        """One more of each queue, by the shares before, for those that failed the first strategy."""
        tree = FairTree(self._queue.node, self._retry)
        for node in tree:
            row = tree.pop(node)[-1]
            mine, before = tree.sides(node)
            if less_than_initial(mine, before, before) and self._take(tree, row, names.IN_COHORT_FAIR_SHARING):
                return True
            tree.discard(node)
        return False

    # -- one victim ------------------------------------------------------------------------------------------------

    def _take(self, tree: FairTree, row: WorkloadRow, reason: str) -> bool:
        self._state.remove_reservation(row)
        return self._taken(tree, self._state.cluster_queues[row.reserved_in].node, row, reason)

    def _taken(self, tree: FairTree, node: QueueNode, row: WorkloadRow, reason: str) -> bool:
        """Enter a victim that was removed; whether the request fits now."""
        tree.changed(node)
        self._targets.append(Target(row, reason))
        return self._fits()

    def _fits(self) -> bool:
        with self._state.trial():
            quota.remove_all(self._queue.node, self._need.usage, self._state.journal)
            return self._need.fits(True)
