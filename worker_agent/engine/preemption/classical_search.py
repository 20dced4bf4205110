"""Preemption without fair sharing (spec/engine 10): by priority in the own queue, by right of quota in the cohort.

Read ``victims`` first: decide which runs to make, run. Each run takes candidates out in order until the request fits,
and what a run does lies in a trial of the state.
"""

from collections.abc import Iterator

from worker_agent.engine import quota, resources
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.hierarchy import ancestors
from worker_agent.engine.preemption.need import Need
from worker_agent.engine.preemption.ranking import NEVER, Eligible
from worker_agent.engine.preemption.removal import fill_back
from worker_agent.engine.preemption.search import Preemptor, Target
from worker_agent.engine.preemption.sequence import (
    HIERARCHICAL,
    OWN,
    PRIORITY,
    Sequence,
    Source,
    may_borrow_for,
    reason,
)
from worker_agent.engine.quota import CohortNode, QuotaNode
from worker_agent.engine.resources import Amounts, FlavorResource
from worker_agent.engine.workload_info import WorkloadRow


def victims(preemptor: Preemptor, need: Need) -> list[Target]:
    """The least set of workloads, by the rules of order, without which the need fits; empty when there is none."""
    search = _ClassicalSearch(preemptor, need)
    for borrow in search.runs() if search.has_candidates else ():
        with preemptor.state.trial():
            targets = search.run(borrow)
        if targets:
            return targets
    return []


class _ClassicalSearch:
    def __init__(self, preemptor: Preemptor, need: Need) -> None:
        self._row = preemptor.row
        self._queue = preemptor.queue
        self._state = preemptor.state
        self._need = need
        self._frs = tuple(need.frs)
        sources = [*self._own_source(), *self._other_sources()]
        self.has_candidates = bool(sources)
        self._sequence = Sequence(sources, self._queue.name, preemptor.state.usage_of_local_queues)

    # -- who ---------------------------------------------------------------------------------------------------------

    def _own_source(self) -> Iterator[Source]:
        eligible = self._eligible(self._queue, self._queue.within_cluster_queue)
        if eligible:
            yield Source(self._queue, OWN, eligible, None)

    def _eligible(self, queue: ClusterQueueRow, policy: str) -> Eligible:
        return queue.candidates.eligible(self._frs, policy, self._row, queue.reservations)

    def _other_sources(self) -> Iterator[Source]:
        """Queues of the cohort that borrow, from the nearest cohort outwards.

        Once the request fits into a subtree's own quota, everything further out is taken by right.
        """
        node = self._queue.node
        if node.parent is None or self._queue.reclaim_within_cohort == NEVER:
            return
        by_right, rest = _fits_quota(node, self._need.usage)
        inside: QuotaNode = node
        for cohort in ancestors(node):
            kind = HIERARCHICAL if by_right else PRIORITY
            for queue in self._borrowers(cohort, inside):
                eligible = self._eligible(queue, self._queue.reclaim_within_cohort)
                if eligible:
                    yield Source(queue, kind, eligible, cohort)
            fits, rest = _fits_quota(cohort, rest)
            by_right = by_right or fits
            inside = cohort

    def _borrowers(self, cohort: CohortNode, inside: QuotaNode) -> Iterator[ClusterQueueRow]:
        for child in cohort.child_cohorts.values():
            if child is not inside and not within_nominal(child, self._frs):
                yield from self._borrowers(child, inside)
        for leaf in cohort.child_queues.values():
            if leaf is not inside and leaf.listed and not within_nominal(leaf, self._frs):
                yield self._state.cluster_queues[leaf.name]

    # -- runs --------------------------------------------------------------------------------------------------------

    def runs(self) -> tuple[bool, ...]:
        """Whether to borrow, in each run: own quota first where borrowing spares some candidates."""
        forbidden = self._queue.borrow_within_cohort.policy == NEVER
        if not self._sequence.has_other_queues or (forbidden and not self._under_nominal()):
            return (True,)
        if forbidden and not self._sequence.has_hierarchical:
            return (False, True)
        return (True, False)

    def _under_nominal(self) -> bool:
        node = self._queue.node
        return all(node.usage.get(fr, 0) < node.nominal(fr) for fr in self._frs)

    def run(self, borrow: bool) -> list[Target]:
        """Inside a trial. The victims, none when all candidates together are not enough."""
        targets: list[Target] = []
        sources = self._sequence.sources
        for row in self._sequence:
            source = sources[row.reserved_in]
            if not source.own and self._spared(source, row, borrow):
                continue
            self._state.remove_reservation(row)
            targets.append(Target(row, reason(source, row, self._row, self._queue)))
            if self._need.fits(borrow):
                return fill_back(self._state, targets, lambda: self._need.fits(borrow))
        return []

    def _spared(self, source: Source, row: WorkloadRow, borrow: bool) -> bool:
        """Asked when its turn comes, because earlier victims may have brought its queue back to its own quota."""
        if borrow and source.kind == PRIORITY and not may_borrow_for(row, self._row, self._queue):
            return True
        if within_nominal(source.queue.node, self._frs):
            return True
        return any(within_nominal(cohort, self._frs) for cohort in source.between)


def within_nominal(node: QuotaNode, frs: tuple[FlavorResource, ...]) -> bool:
    """Whether the node borrows none of these."""
    usage, subtree = node.usage, node.subtree
    for fr in frs:  # a plain loop: this is asked of every queue and every candidate
        if usage.get(fr, 0) > subtree.get(fr, 0):
            break
    else:
        return True
    return False


def _fits_quota(node: QuotaNode, usage: Amounts) -> tuple[bool, Amounts]:
    """Whether the node's own quota takes it, and what is left to ask the parent for."""
    fits = all(node.subtree.get(fr, 0) >= resources.plus(node.usage.get(fr, 0), amount) for fr, amount in usage.items())
    rest = {fr: max(0, resources.minus(amount, quota.local_available(node, fr))) for fr, amount in usage.items()}
    return fits, rest
