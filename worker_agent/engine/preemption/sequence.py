"""The candidates of one search in the order in which they are tried (spec/engine 10.2 and 10.3).

Evicted ones come first, then the others; within each, those that may be reclaimed by right of a subtree's quota, those
of other ClusterQueues, those of the own queue. Sorted lists of the ClusterQueues are merged only as far as they are
read: most searches end with the first few.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

from worker_agent.api import names
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.preemption import ranking
from worker_agent.engine.preemption.ranking import Eligible, Ranked, UsageOf
from worker_agent.engine.quota import CohortNode
from worker_agent.engine.workload_info import WorkloadRow

HIERARCHICAL: Final = 0
PRIORITY: Final = 1
OWN: Final = 2


class Source:
    """A ClusterQueue that has candidates, and how a search may use them.

    ``between``: the cohorts strictly below the lowest common one, which must all keep on borrowing.
    """

    __slots__ = ("between", "eligible", "kind", "queue")

    def __init__(self, queue: ClusterQueueRow, kind: int, eligible: Eligible, lca: CohortNode | None) -> None:
        self.queue = queue
        self.kind = kind
        self.eligible = eligible
        self.between: list[CohortNode] = []
        parent = queue.node.parent
        while lca is not None and parent is not None and parent is not lca:
            self.between.append(parent)
            parent = parent.parent

    @property
    def own(self) -> bool:
        return self.kind == OWN


class Sequence:
    """Iterates the candidates; again and again, merging each only once."""

    def __init__(self, sources: list[Source], own_queue: str, usage: UsageOf | None) -> None:
        self.sources: Final = {source.queue.name: source for source in sources}
        self.has_other_queues: Final = any(not source.own for source in sources)
        self.has_hierarchical: Final = any(source.kind == HIERARCHICAL for source in sources)
        self._read: list[WorkloadRow] = []
        self._rest = self._merged(sources) if usage is None else self._compared(sources, own_queue, usage)

    def __iter__(self) -> Iterator[WorkloadRow]:
        place = 0
        while True:
            if place == len(self._read):
                row = next(self._rest, None)
                if row is None:
                    return
                self._read.append(row)
            yield self._read[place]
            place += 1

    def _merged(self, sources: list[Source]) -> Iterator[WorkloadRow]:
        for evicted in (True, False):
            for kind in (HIERARCHICAL, PRIORITY, OWN):
                eligible = (source.eligible for source in sources if source.kind == kind)
                parts = [part.evicted if evicted else part.running for part in eligible]
                for rank in _merged(parts):
                    yield rank.row

    def _compared(self, sources: list[Source], own_queue: str, usage: UsageOf) -> Iterator[WorkloadRow]:
        """With usage of LocalQueues no list is in order: each part is sorted as a whole."""
        for evicted in (True, False):
            for kind in (HIERARCHICAL, PRIORITY, OWN):
                eligible = (source.eligible for source in sources if source.kind == kind)
                ranks = (rank for part in eligible for rank in (part.evicted if evicted else part.running))
                yield from ranking.in_order((rank.row for rank in ranks), own_queue, usage)


def _merged(parts: list[list[Ranked]]) -> Iterable[Ranked]:
    """Sorted lists in order, as far as they are read."""
    filled = [part for part in parts if part]
    return heapq.merge(*filled) if len(filled) > 1 else filled[0] if filled else ()


def reason(source: Source, row: WorkloadRow, preemptor: WorkloadRow, borrower: ClusterQueueRow) -> str:
    """Why a candidate may be taken: a reason of the Preempted condition."""
    if source.own:
        return names.IN_CLUSTER_QUEUE
    if source.kind == PRIORITY and may_borrow_for(row, preemptor, borrower):
        return names.IN_COHORT_RECLAIM_WHILE_BORROWING
    return names.IN_COHORT_RECLAMATION


def may_borrow_for(row: WorkloadRow, preemptor: WorkloadRow, borrower: ClusterQueueRow) -> bool:
    """Whether ``borrowWithinCohort`` lets the preemptor take this one although it borrows itself."""
    rule = borrower.borrow_within_cohort
    if rule.policy == "Never" or row.priority >= preemptor.priority:
        return False
    return rule.max_priority_threshold is None or row.priority <= rule.max_priority_threshold
