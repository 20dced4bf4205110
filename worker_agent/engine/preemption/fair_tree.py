"""Picks the ClusterQueue whose turn it is to lose a workload (spec/engine 11.5).

From the root down: the child with the highest share, as long as it borrows and has candidates left. Shares are kept
until usage on their node's path changes. What has been discarded stays discarded, although it may borrow again.
"""

from collections.abc import Iterator

from worker_agent.engine import fair_sharing, hierarchy
from worker_agent.engine.fair_sharing import Share
from worker_agent.engine.preemption.ranking import Ranked
from worker_agent.engine.quota import CohortNode, QueueNode, QuotaNode


class FairTree:
    """Iterate it to get the queue to take from, again and again. Candidates are popped by the caller."""

    def __init__(self, preemptor: QueueNode, candidates: dict[str, list[Ranked]]) -> None:
        self._preemptor = preemptor
        self._path: dict[QuotaNode, int] = {
            cohort: depth for depth, cohort in enumerate(hierarchy.ancestors(preemptor))
        }
        self._left = {name: list(reversed(ranks)) for name, ranks in candidates.items()}
        self._discarded: set[QuotaNode] = set()
        self._shares: dict[QuotaNode, Share] = {}

    def __iter__(self) -> Iterator[QueueNode]:
        root = hierarchy.root_of(self._preemptor)
        if not isinstance(root, CohortNode):
            while self.has_candidates(self._preemptor):
                yield self._preemptor
            return
        while root not in self._discarded:
            node = self._pick(root)
            if node is not None:
                yield node

    # -- candidates --------------------------------------------------------------------------------------------------

    def has_candidates(self, node: QueueNode) -> bool:
        return bool(self._left.get(node.name))

    def pop(self, node: QueueNode) -> Ranked:
        """The next candidate of the queue."""
        return self._left[node.name].pop()

    def discard(self, node: QueueNode) -> None:
        """The queue gives no more."""
        self._discarded.add(node)

    # -- shares ------------------------------------------------------------------------------------------------------

    def share(self, node: QuotaNode) -> Share:
        found = self._shares.get(node)
        if found is None:
            found = self._shares[node] = fair_sharing.dominant_share(node)
        return found

    def changed(self, node: QueueNode) -> None:
        """The queue's usage changed, and with it that of the cohorts above."""
        self._shares.pop(node, None)
        for cohort in hierarchy.ancestors(node):
            self._shares.pop(cohort, None)

    def sides(self, node: QueueNode) -> tuple[Share, Share]:
        """The shares that compete: of the two children of the lowest common cohort, preemptor's side first."""
        mine, theirs = self._below_common(node)
        return self.share(mine), self.share(theirs)

    def share_beside(self, node: QueueNode) -> Share:
        """The share of the queue's side as usage is at this moment, not remembered."""
        return fair_sharing.dominant_share(self._below_common(node)[1])

    def _below_common(self, node: QueueNode) -> tuple[QuotaNode, QuotaNode]:
        theirs: QuotaNode = node
        while theirs.parent is not None and theirs.parent not in self._path:
            theirs = theirs.parent
        mine: QuotaNode = self._preemptor
        while mine.parent is not theirs.parent and mine.parent is not None:
            mine = mine.parent
        return mine, theirs

    # -- the walk ----------------------------------------------------------------------------------------------------

    def _pick(self, cohort: CohortNode) -> QueueNode | None:
        """None when something was discarded on the way: start again from the root."""
        queue = self._highest_queue(cohort)
        child = self._highest_cohort(cohort)
        if child is not None and (queue is None or self.share(child).order >= self.share(queue).order):
            return self._pick(child)
        if queue is None:
            self._discarded.add(cohort)
        return queue

    def _highest_queue(self, cohort: CohortNode) -> QueueNode | None:
        best: QueueNode | None = None
        for node in cohort.child_queues.values():
            if node in self._discarded or not node.listed:
                continue
            share = self.share(node)
            if not self.has_candidates(node) or (not share.borrowing and node is not self._preemptor):
                self._discarded.add(node)
            elif best is None or self._precedes(node, best):
                best = node
        return best

    def _precedes(self, node: QueueNode, other: QueueNode) -> bool:
        """The higher share; between equal ones, whose next candidate would be preempted first."""
        share, best = self.share(node).order, self.share(other).order
        if share != best:
            return share > best
        mine, theirs = self._left[node.name][-1], self._left[other.name][-1]
        return (mine[0], node is self._preemptor, mine[1:-1]) < (theirs[0], other is self._preemptor, theirs[1:-1])

    def _highest_cohort(self, cohort: CohortNode) -> CohortNode | None:
        best: CohortNode | None = None
        for child in cohort.child_cohorts.values():
            if child in self._discarded:
                continue
            share = self.share(child)
            if not share.borrowing and child not in self._path:
                self._discarded.add(child)
            elif best is None or share.order > self.share(best).order:
                best = child
        return best
