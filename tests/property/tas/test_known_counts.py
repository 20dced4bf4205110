"""Counts brought up to date after changes and roll-backs are those that counting anew gives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.tas.small_topology import H, pods, room
from worker_agent.engine.tas import driver
from worker_agent.engine.tas.driver import Situation
from worker_agent.engine.tas.known_counts import KnownCounts
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.placer import Attempt
from worker_agent.engine.tas.rules import TopologyRules
from worker_agent.engine.trial import Journal

sizes = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 6)), min_size=1, max_size=8)
steps = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 3), st.booleans()), max_size=4)
ASKS = (
    pods(4, required="rack"),
    pods(6, preferred="rack"),
    pods(5, unconstrained=True),
    pods(4, preferred="block", slices="rack*2"),
    pods(8, required="block", slices=f"rack*4 {H}*2"),
    pods(3, preferred="rack", cpu=2),
)


def answers(where, known):
    return [
        driver.place_all(where, [ask], Situation(), Attempt(TopologyRules(), empty, known=known))
        for ask in ASKS
        for empty in (False, True)
    ]


@settings(deadline=None, max_examples=50)
@given(sizes, steps, st.sampled_from([H, "rack"]))
def test_known_counts_answer_as_fresh_ones(hosts, changes, lowest):
    levels = ("block", "rack", H) if lowest == H else ("block", "rack")
    where = room(" ".join(f"b{b}/r{r}/n{i}={cpu}" for i, (b, r, cpu) in enumerate(hosts)), levels=levels)
    known, journal = KnownCounts(), Journal()
    names = [",".join(path) if lowest != H else path[-1] for path in where.tree.paths]
    for leaf, cpu, for_good in changes:
        placed = PlacedPods(where.name, (names[leaf % len(names)],), (1,), {"cpu": cpu * 1000})
        with journal.trial():
            where.use(placed, 1, journal)
            assert answers(where, known) == answers(where, None)
        if for_good:
            where.count(placed, 1)
        assert answers(where, known) == answers(where, None)
