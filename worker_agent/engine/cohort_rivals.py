"""Heads of strict queues of the same cohort tree, which stay in every cycle: they take or hold back room that a
workload alone would get."""

from collections.abc import Sequence
from typing import NamedTuple

from worker_agent.engine import cycle, hierarchy, nomination
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.known_flavors import KnownFlavors
from worker_agent.engine.nomination import Entry, Found, Outcome, Search
from worker_agent.engine.processing import Processing
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.state import ClusterState
from worker_agent.engine.workload_info import WorkloadRow


class Situation(NamedTuple):
    """The live state, what is consulted beside it, and the instant in microseconds."""

    state: ClusterState
    search: Search
    now: int


def heads(state: ClusterState, queue: ClusterQueueRow) -> list[Entry]:
    """One entry per strict queue of the tree that has somebody waiting; the queue itself is left out."""
    node = queue.node
    if node.cyclic or node.parent is None:
        return []
    found = []
    for leaf in hierarchy.queues_below(hierarchy.root_of(node)):
        pending = state.pending.get(leaf.name)
        if leaf is node or pending is None or not pending.strict or not pending.has_active:
            continue
        if state.activity(leaf.name).active:
            found.append(Entry(min(pending.competing(), key=lambda item: item[0])[1], leaf.name))
    return found


def gets_its_turn(
    row: WorkloadRow, found: Found, queue: ClusterQueueRow, rivals: Sequence[Entry], situation: Situation
) -> bool:
    """Whether the workload starts, or preempts, in a cycle with these heads."""
    state, search, now = situation
    mine = Entry(row, queue.name)
    mine.queue = queue
    nomination.settle(mine, found)
    mine.outcome = Outcome.NOMINATED
    known = KnownFlavors()
    for rival in rivals:
        nomination.nominate(rival, state, search, state.cycle, now, known)
    processing = Processing(state, state.policy, search, now)
    nominated = [entry for entry in (mine, *rivals) if entry.outcome is Outcome.NOMINATED]
    with state.trial():
        for entry in cycle.in_order(nominated, state, state.policy):
            processing.process(entry)
    return mine.outcome is Outcome.ASSUMED or mine.requeue is RequeueReason.PENDING_PREEMPTION
