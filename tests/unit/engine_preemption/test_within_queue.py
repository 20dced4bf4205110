"""Preemption among the workloads of one ClusterQueue: whom, in which order, and what is spared."""

import pytest

from tests.unit.engine_preemption.cases import coming, queue, running, victims, world

LOW = "InClusterQueue"


def test_only_as_many_as_needed_go_and_the_one_that_made_it_fit_stays_chosen():
    """Example 18: low goes first, mid makes it fit, low comes back."""
    made = world(
        queue("q", 6, "", withinClusterQueue="LowerPriority"),
        running("low", "q", 1, priority=-1),
        running("mid", "q", 2, priority=0),
        running("high", "q", 3, priority=1),
    )
    assert victims(made, coming("q", 2, priority=1)) == {"mid": LOW}


def test_equal_priority_is_safe_under_lower_priority():
    made = world(queue("q", 1, "", withinClusterQueue="LowerPriority"), running("old", "q"))
    assert victims(made, coming("q")) == {}


@pytest.mark.parametrize(
    ("created", "expected"), [("2026-01-01T09:00:00Z", {"new": LOW}), ("2026-01-01T11:00:00Z", {})]
)
def test_newer_equals_go_for_an_older_workload(created, expected):
    made = world(queue("q", 1, "", withinClusterQueue="LowerOrNewerEqualPriority"), running("new", "q"))
    assert victims(made, coming("q", created=created)) == expected


def test_among_equals_the_last_started_goes_first():
    made = world(
        queue("q", 2, "", withinClusterQueue="LowerPriority"),
        running("early", "q", since=1),
        running("late", "q", since=2),
    )
    assert victims(made, coming("q", priority=1)) == {"late": LOW}


def test_smaller_uid_breaks_the_last_tie():
    made = world(queue("q", 2, "", withinClusterQueue="LowerPriority"), running("b", "q"), running("a", "q"))
    assert victims(made, coming("q", priority=1)) == {"a": LOW}


def test_a_workload_on_its_way_out_is_counted_on_and_not_evicted_again():
    made = world(
        queue("q", 2, "", withinClusterQueue="LowerPriority"),
        running("leaving", "q", priority=5, since=1),
        running("idle", "q", priority=0, since=2),
    )
    key = next(key for key, _ in made.workloads() if key.name == "leaving")
    made.set(key, "Evicted", True, "Preempted", "")
    made.observe()
    assert victims(made, coming("q", priority=9)) == {}
    assert made.message("ns/in").endswith(". Pending the preemption of 1 workload(s)")


def test_victims_use_a_resource_that_is_lacking():
    made = world(
        queue("q", 4, "", withinClusterQueue="LowerPriority"),
        running("idle", "q", 0),
        running("busy", "q", 4),
    )
    assert victims(made, coming("q", priority=1)) == {"busy": LOW}


def test_a_victim_is_issued_once_although_its_eviction_does_not_show_yet():
    made = world(queue("q", 1, "", withinClusterQueue="LowerPriority"), running("old", "q"))
    made.put(coming("q", priority=1))
    made.decide()
    assert [step.key.name for step in made.plan.preemptions] == ["old"]
    made.decide()
    assert made.plan.preemptions == ()
    assert made.plan.requeues[0].reason == "WaitingForPreemptedWorkloads"


def test_after_a_failed_admission_the_workload_may_be_chosen_again():
    made = world(queue("q", 1, "", withinClusterQueue="LowerPriority"))
    made.put(coming("q", name="first"))
    made.decide()
    made.changed.clear()  # the write is on its way
    made.put(coming("q", priority=1))
    made.decide()
    assert [step.key.name for step in made.plan.preemptions] == ["first"]
    made.state.forget(made.plan.preemptions[0].key, made.now)
    assert made.state.evicting == {}


def test_the_preemptor_gets_its_place_and_the_victim_comes_back():
    made = world(queue("q", 1, "", withinClusterQueue="LowerPriority"), running("old", "q"))
    assert victims(made, coming("q", priority=1)) == {"old": LOW}
    key = next(key for key, _ in made.workloads() if key.name == "old")
    made.set(key, "QuotaReserved", False, "PendingEvaluation", "")
    made.set(key, "Requeued", True, "Preempted", "")
    del made.workload(key)["status"]["admission"]
    made.observe()
    assert [step.key.name for step in made.cycle().admissions] == ["in"]
    made.finish("ns/in")
    assert [step.key.name for step in made.cycle().admissions] == ["old"]
