"""Reclaiming quota in a cohort, borrowing by preemption, and what a tree of cohorts changes."""

import pytest

from tests.builders import cohort, quota
from tests.unit.engine_preemption.cases import coming, queue, running, units, victims, world

RECLAIMED = "InCohortReclamation"
BORROWING = "InCohortReclaimWhileBorrowing"


def test_borrowed_quota_is_reclaimed():
    made = world(queue("mine", 2, reclaimWithinCohort="Any"), queue("other", 0), *units("other", 2))
    assert victims(made, coming("mine", 1)) == {"other1": RECLAIMED}


def test_a_queue_within_its_own_quota_is_left_alone():
    made = world(
        queue("mine", 1, reclaimWithinCohort="Any"), queue("other", 2), running("theirs", "other", 2),
        running("own", "mine", 1),
    )  # fmt: skip
    assert victims(made, coming("mine", 1, priority=9)) == {}


def test_reclaiming_stops_when_the_borrower_is_back_within_its_quota():
    """The first victim brings ``other`` back; what is left of it is safe although more is needed."""
    made = world(queue("mine", 2, reclaimWithinCohort="Any"), queue("other", 1), *units("other", 2))
    made.put(running("mine0", "mine"))
    assert victims(made, coming("mine", 2)) == {}


@pytest.mark.parametrize(("priority", "expected"), [(0, {}), (1, {"other0": RECLAIMED})])
def test_lower_priority_policy_protects_equal_borrowers(priority, expected):
    made = world(queue("mine", 1, reclaimWithinCohort="LowerPriority"), queue("other", 0), *units("other", 1))
    assert victims(made, coming("mine", 1, priority=priority)) == expected


def test_other_queues_lose_before_the_own_one():
    made = world(
        queue("mine", 2, reclaimWithinCohort="Any", withinClusterQueue="LowerPriority"),
        queue("other", 0),
        running("own", "mine", 1, priority=0),
        running("theirs", "other", 1, priority=5),
    )
    assert victims(made, coming("mine", 1, priority=9)) == {"theirs": RECLAIMED}


def best_effort(*extra):
    """Example 19: two standard and two best effort queues share ten cpus."""
    policy = {"reclaimWithinCohort": "LowerPriority", "withinClusterQueue": "LowerPriority"}
    borrow = {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 0}}
    names = {"a_standard": 1, "b_standard": 1, "a_best_effort": 0, "b_best_effort": 0}
    queues = [queue(name, quota(cpu, borrowing=12 if cpu else 13), **policy, **borrow) for name, cpu in names.items()]
    return world(*queues, queue("shared", 10), *extra)


def test_borrowing_may_preempt_up_to_the_threshold():
    made = best_effort(running("a", "a_best_effort", 10, priority=-1), running("b", "b_best_effort", 1, priority=-1))
    assert victims(made, coming("a_standard", 10)) == {"a": BORROWING}


def test_above_the_threshold_only_own_quota_is_reclaimed():
    made = best_effort(running("b", "b_standard", 10, priority=1))
    assert victims(made, coming("a_standard", 10, priority=2)) == {}


def test_own_quota_is_reclaimed_whatever_the_threshold():
    made = best_effort(running("b", "b_standard", 12, priority=1))
    assert victims(made, coming("a_standard", 1, priority=2)) == {"b": RECLAIMED}


def test_quota_of_the_own_subtree_is_reclaimed_by_right():
    """Example 20: the queue has none of its own, but its cohort has, and a queue beside that cohort uses it."""
    made = world(
        cohort("r"),
        cohort("c", {"default": {"cpu": 2}}, parent="r"),
        queue("q", 0, "c", reclaimWithinCohort="Any"),
        queue("q_borrowing", 0, "r"),
        running("theirs", "q_borrowing", 2),
    )
    assert victims(made, coming("q", 2)) == {"theirs": RECLAIMED}


def test_cohorts_within_their_quota_are_passed_over():
    made = world(
        cohort("r"),
        cohort("own", {"default": {"cpu": 2}}, parent="r"),
        cohort("other", {"default": {"cpu": 2}}, parent="r"),
        queue("q", 0, "own", reclaimWithinCohort="Any"),
        queue("inside", 0, "other"),
        queue("outside", 0, "r"),
        running("safe", "inside", 2),
        running("borrower", "outside", 2),
    )
    assert victims(made, coming("q", 1)) == {"borrower": RECLAIMED}


def test_nobody_goes_where_all_together_would_not_do():
    made = world(queue("mine", 2, reclaimWithinCohort="Any"), queue("other", 0), *units("other", 1))
    made.put(running("own", "mine", 1))
    assert victims(made, coming("mine", 2)) == {}
    assert made.parked("mine") == ["in"]


def test_inactive_queues_keep_their_workloads():
    stopped = queue("other", 0)
    stopped["spec"]["stopPolicy"] = "Hold"
    made = world(queue("mine", 1, reclaimWithinCohort="Any"), stopped, *units("other", 1))
    assert victims(made, coming("mine", 1)) == {}
