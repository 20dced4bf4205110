"""The order inside a cycle under fair sharing (spec/engine 11.3).

In each cohort the entries of its ClusterQueues and the winners of its child cohorts compete; an entry is represented by
the share that the cohort's child on the entry's path would have with it. The winner of the root takes its room, and the
next round sees what it took. That changes shares on its own path only, so each cohort keeps its contestants in a heap,
and a round costs one push per level.
"""

import heapq
from collections.abc import Iterator, Sequence

from worker_agent.api.meta import Key
from worker_agent.engine import fair_sharing
from worker_agent.engine.hierarchy import ancestors
from worker_agent.engine.nomination import Entry
from worker_agent.engine.policy import Policy
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.quota import CohortNode, QueueNode, QuotaNode

_Standing = tuple[bool, bool, tuple[float, float], int, int, str, Key]
"""The least wins: preemptors, who does not borrow what it asks for, the lower share, priority, time."""


def order(entries: Sequence[Entry], state: QueueState, policy: Policy) -> Iterator[Entry]:
    """One entry per ClusterQueue (the last one given), each when its turn comes.

    Between two entries the caller adds to the state what the first one takes. Trees follow each other in the order of
    their first entries.
    """
    by_queue: dict[QueueNode, Entry] = {}
    for entry in entries:
        if entry.queue is not None:
            by_queue[entry.queue.node] = entry
    trees: dict[QuotaNode, list[QueueNode]] = {}
    for node in by_queue:
        cohorts = list(ancestors(node))
        trees.setdefault(cohorts[-1] if cohorts else node, []).append(node)
    for root, nodes in trees.items():
        if isinstance(root, CohortNode):
            yield from _Tournament(state, policy, {node: by_queue[node] for node in nodes}).rounds(root)
        else:
            yield from (by_queue[node] for node in nodes)


class _Tournament:
    """The entries of one cohort tree."""

    def __init__(self, state: QueueState, policy: Policy, entries: dict[QueueNode, Entry]) -> None:
        self._state = state
        self._policy = policy
        self._entries = entries
        self._heaps: dict[CohortNode, list[tuple[_Standing, int, Entry]]] = {}
        self._current: dict[QuotaNode, int] = {}
        """Of each child, the number of its valid contestant; older ones in the heap are void."""
        self._numbers = 0
        self._child_of: dict[int, QuotaNode] = {}
        below = sorted(entries, key=lambda node: -sum(1 for _ in ancestors(node)))
        for node in below:
            self._enter(node, entries[node])
        for cohort in sorted(self._cohorts(below), key=lambda node: -sum(1 for _ in ancestors(node))):
            if cohort.parent is not None:
                self._enter(cohort, self._winner(cohort))

    def _cohorts(self, nodes: Sequence[QueueNode]) -> dict[CohortNode, None]:
        return dict.fromkeys(cohort for node in nodes for cohort in ancestors(node))

    def rounds(self, root: CohortNode) -> Iterator[Entry]:
        while (winner := self._winner(root)) is not None:
            yield winner
            if winner.queue is not None:
                self._leave(winner.queue.node)

    def _leave(self, queue: QueueNode) -> None:
        """The entry is done: its queue has no contestant any more, and the cohorts above may have another one."""
        self._current.pop(queue, None)
        for cohort in ancestors(queue):
            if cohort.parent is not None:
                self._enter(cohort, self._winner(cohort))

    def _enter(self, child: QuotaNode, entry: Entry | None) -> None:
        """Let ``entry`` stand for ``child`` in the parent's heap, in place of whoever did before."""
        self._current.pop(child, None)
        if entry is None or child.parent is None:
            return
        self._numbers += 1
        self._current[child] = self._numbers
        self._child_of[self._numbers] = child
        contestant = (self._standing(child, entry), self._numbers, entry)
        heapq.heappush(self._heaps.setdefault(child.parent, []), contestant)

    def _winner(self, cohort: CohortNode) -> Entry | None:
        heap = self._heaps.get(cohort, [])
        while heap:
            _, number, entry = heap[0]
            if self._current.get(self._child_of[number]) == number:
                return entry
            heapq.heappop(heap)
        return None

    def _standing(self, child: QuotaNode, entry: Entry) -> _Standing:
        row, policy = entry.row, self._policy
        usage = entry.assignment.usage if entry.assignment else {}
        with self._state.trial():
            if entry.queue is not None and not entry.second_pass:
                self._state.add_usage(entry.queue, usage)
            share = fair_sharing.dominant_share(child)
        borrows = policy.prioritize_non_borrowing and any(usage.get(fr, 0) > 0 for fr in share.borrowed)
        return (
            policy.prioritize_preemptors and not entry.is_preemptor,
            borrows,
            share.order,
            -row.priority if policy.sort_priority_within_cohort else 0,
            row.order_time,
            row.uid,
            row.key,
        )
