"""One scheduling cycle: heads in, a plan out (spec/engine 7).

Ideally a cycle is a function of a frozen world: nominate every head alone, put the entries in order, and let each take
its room from what the ones before it left. That is what happens here, except that the world is the live state: all that
is tried lies inside one trial, and only afterwards are admissions assumed and the other heads given back.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from worker_agent.api import timestamps
from worker_agent.engine import fair_sharing_tournament, nomination, ordering
from worker_agent.engine.head import Head
from worker_agent.engine.known_flavors import KnownFlavors
from worker_agent.engine.nomination import Entry, Outcome, Search
from worker_agent.engine.plan import Plan
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption import victims
from worker_agent.engine.preemption.search import PreemptionSearch
from worker_agent.engine.processing import Processing
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas.placement import Placement
from worker_agent.engine.tas.topology_placement import TopologyPlacement


def run_cycle(
    state: ClusterState,
    heads: Sequence[Head],
    policy: Policy,
    now: datetime,
    search: PreemptionSearch | None = None,
    placement: Placement | None = None,
) -> Plan:
    """Decide for each head whether it runs now. Admissions are assumed in ``state``, all other heads requeued.

    ``search`` finds victims; by default as the policy says.
    """
    state.cycle += 1
    instant = timestamps.micros(now)
    consulted = Search(search or victims.search_of(policy), placement or TopologyPlacement(state))
    known = KnownFlavors()
    entries = [_entry(head, state) for head in heads]
    for entry in entries:
        nomination.nominate(entry, state, consulted, state.cycle, instant, known)
    processing = Processing(state, policy, consulted, instant)
    with state.trial():
        for entry in in_order([e for e in entries if e.outcome is Outcome.NOMINATED], state, policy):
            processing.process(entry)
    return processing.finish(entries)


def _entry(head: Head, state: ClusterState) -> Entry:
    entry = Entry(head.row, head.cluster_queue)
    entry.second_pass = head.second_pass
    pending = state.pending.get(head.cluster_queue)
    entry.is_preemptor = pending is not None and pending.is_preemptor(head.row)
    return entry


def in_order(entries: Sequence[Entry], state: ClusterState, policy: Policy) -> Iterator[Entry]:
    """The order in which entries take their room. An iterator, because a tournament looks at usage before each turn."""
    if policy.fair_sharing:
        return fair_sharing_tournament.order(entries, state, policy)
    return ordering.classical(entries, policy)
