"""Victims under fair sharing: whose share allows it."""

from dataclasses import replace

import pytest

from tests.builders import cohort
from tests.unit.engine_preemption.cases import FAIR, coming, queue, running, units, victims, world

FAIRLY = "InCohortFairSharing"
ENTITLED = "InCohortReclamation"
ANY = {"reclaimWithinCohort": "Any"}


def three(*extra, policy=FAIR):
    """Queues a, b and c of three cpus each."""
    return world(*(queue(name, 3, **ANY) for name in "abc"), *extra, policy=policy)


def test_a_borrower_takes_from_a_bigger_one_until_they_are_equal():
    """Example 23."""
    made = three(*units("a", 3), *units("b", 5), *units("c", 1))
    assert victims(made, coming("a", 1)) == {"b4": FAIRLY}


def test_within_nominal_quota_shares_do_not_matter():
    made = three(*units("a", 3), *units("b", 5), *units("c", 1))
    assert victims(made, coming("c", 1)) == {"b4": ENTITLED}


def test_nobody_is_taken_from_to_become_the_bigger_borrower():
    made = three(*units("a", 3), *units("b", 5))
    assert victims(made, coming("a", 2)) == {}


def test_a_candidate_whose_queue_would_end_up_below_is_passed_over():
    """Example 24: without b1 the queue would have no share at all; b2 is small enough."""
    made = three(
        *units("a", 1),
        running("b1", "b", 2, since=3),
        running("b2", "b", 1, since=2),
        running("b3", "b", 2, since=1),
        *units("c", 1),
    )
    made.finish("ns/a0")
    found = victims(made, coming("a", "3500m"))
    assert found == {"b2": FAIRLY}


def test_the_initial_share_lets_one_workload_more_go_per_queue():
    policy = replace(FAIR, preemption_strategies=("LessThanOrEqualToFinalShare",))
    objects = (*units("a", 3), running("big", "b", 6))
    assert victims(three(*objects, policy=policy), coming("a", 1)) == {}
    assert victims(three(*objects), coming("a", 1)) == {"big": FAIRLY}


def weighted(weight):
    return queue("a", 2, fairSharing={"weight": weight}, **ANY)


@pytest.mark.parametrize(("weight", "expected"), [("1", {"b2": FAIRLY}), ("0", {})])
def test_weight_zero_borrows_nothing_that_others_want(weight, expected):
    """Example 25."""
    made = world(weighted(weight), queue("b", 1, **ANY), queue("c", 2), *units("a", 2), *units("b", 3), policy=FAIR)
    assert victims(made, coming("a", 1)) == expected


def test_weight_zero_still_reclaims_what_is_its_own():
    made = world(weighted("0"), queue("b", 0, **ANY), *units("b", 2), policy=FAIR)
    assert victims(made, coming("a", 1)) == {"b1": ENTITLED}


def test_own_workloads_go_when_the_queue_itself_borrows_most():
    made = world(queue("a", 1, withinClusterQueue="LowerPriority", **ANY), queue("b", 1), *units("a", 2), policy=FAIR)
    assert victims(made, coming("a", 1, priority=1)) == {"a1": "InClusterQueue"}


def test_a_queue_without_cohort_preempts_within_itself():
    made = world(queue("a", 1, "", withinClusterQueue="LowerPriority"), *units("a", 1), policy=FAIR)
    assert victims(made, coming("a", 1, priority=1)) == {"a0": "InClusterQueue"}


def test_shares_are_compared_where_the_paths_part():
    """``left`` as a whole borrows nothing, so its queue is safe from ``q``, however much it borrows itself."""
    made = world(
        cohort("r", {"default": {"cpu": 2}}),
        cohort("left", {"default": {"cpu": 4}}, parent="r"),
        cohort("right", parent="r"),
        queue("greedy", 0, "left"),
        queue("q", 0, "right", **ANY),
        queue("borrower", 0, "right"),
        *units("greedy", 4),
        *units("borrower", 2),
        policy=FAIR,
    )
    assert victims(made, coming("q", 1)) == {"borrower1": FAIRLY}
