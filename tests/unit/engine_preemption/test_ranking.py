"""The kept lists of candidates."""

import pytest

from tests.conformance import engine_objects
from tests.unit.engine_preemption.cases import coming, queue, running, world
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import workload_info
from worker_agent.engine.preemption import ranking

CPU, MEMORY = ("default", "cpu"), ("default", "memory")


def built(made, document):
    return workload_info.build(engine_objects.decode(document, Workload), made.state.shapes)


def names(ranks):
    return [rank[-1].key.name for rank in ranks]


@pytest.fixture
def made():
    return world(queue("q", 9, ""), *(running(f"p{p}s{s}", "q", priority=p, since=s) for p in (1, 0) for s in (1, 2)))


def candidates(made):
    return made.state.cluster_queues["q"].candidates


def test_lists_follow_what_happens(made):
    assert names(candidates(made).using(CPU)) == ["p0s2", "p0s1", "p1s2", "p1s1"]
    made.put(running("p0s3", "q", priority=0, since=3))
    made.finish("ns/p0s1")
    made.set(Key("ns", "p1s1"), "Evicted", True, "Preempted", "")
    made.observe()
    assert names(candidates(made).using(CPU)) == ["p1s1", "p0s3", "p0s2", "p1s2"]


def test_who_does_not_use_the_resource_is_no_candidate(made):
    assert candidates(made).using(MEMORY) == []


def test_each_workload_is_listed_once_for_several_resources(made):
    document = running("both", "q", priority=-1)
    assignment = document["status"]["admission"]["podSetAssignments"][0]
    assignment["flavors"]["memory"] = "default"
    assignment["resourceUsage"]["memory"] = "1"
    made.put(document)
    newcomer = built(made, coming("q", priority=9))
    reservations = made.state.cluster_queues["q"].reservations
    found = candidates(made).eligible((CPU, MEMORY), "Any", newcomer, reservations)
    assert names(found.running) == ["both", "p0s2", "p0s1", "p1s2", "p1s1"]


@pytest.mark.parametrize(
    ("policy", "created", "expected"),
    [
        ("Never", "2026-01-01T09:00:00Z", []),
        ("LowerPriority", "2026-01-01T09:00:00Z", ["p0s2", "p0s1"]),
        ("LowerOrNewerEqualPriority", "2026-01-01T09:00:00Z", ["p0s2", "p0s1", "p1s2", "p1s1"]),
        ("LowerOrNewerEqualPriority", "2026-01-01T11:00:00Z", ["p0s2", "p0s1"]),
        ("Any", "2026-01-01T11:00:00Z", ["p0s2", "p0s1", "p1s2", "p1s1"]),
    ],
)
def test_a_policy_cuts_its_part(made, policy, created, expected):
    newcomer = built(made, coming("q", priority=1, created=created))
    found = candidates(made).eligible((CPU,), policy, newcomer, made.state.cluster_queues["q"].reservations)
    assert names(found.running) == expected
    assert not found.evicted


def test_what_a_trial_took_out_is_no_candidate(made):
    state, newcomer = made.state, built(made, coming("q", priority=9))
    with state.trial():
        state.remove_reservation(state.rows[Key("ns", "p0s2")])
        found = candidates(made).eligible((CPU,), "Any", newcomer, state.cluster_queues["q"].reservations)
        assert names(found.running) == ["p0s1", "p1s2", "p1s1"]


def test_with_usage_the_local_queue_that_used_more_loses_first():
    made = world(queue("q", 9, ""), running("light", "q", priority=0), running("heavy", "q", priority=5))
    rows = [made.state.rows[Key("ns", name)] for name in ("light", "heavy")]
    rows[1].queue = Key("ns", "other")
    usage = {Key("ns", "q"): 1.0, Key("ns", "other"): 2.0}
    assert [row.key.name for row in ranking.in_order(rows, "q", usage.get)] == ["heavy", "light"]
    assert [row.key.name for row in ranking.in_order(rows, "q")] == ["light", "heavy"]
