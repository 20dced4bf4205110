"""The order of entries inside a cycle under fair sharing."""

from dataclasses import replace

import pytest

from tests.builders import cluster_queue, cohort, pod_set, workload
from tests.unit.engine_preemption.cases import FAIR, coming, queue, units, world


def order(made, *incoming):
    made.put(*incoming)
    return [key.name for key in made.cycle().attempts]


def test_the_smaller_share_after_admission_goes_first():
    made = world(queue("a", 1), queue("b", 1), queue("pool", 6), policy=FAIR)
    assert order(made, coming("a", 4, name="big"), coming("b", 2, name="small")) == ["small", "big"]


def test_weights_divide_shares():
    made = world(queue("a", 1, fairSharing={"weight": "4"}), queue("b", 1), queue("pool", 8), policy=FAIR)
    assert order(made, coming("a", 4, name="weighty"), coming("b", 3, name="light")) == ["weighty", "light"]


def test_weight_zero_comes_last():
    made = world(queue("a", 1, fairSharing={"weight": "0"}), queue("b", 1), queue("pool", 8), policy=FAIR)
    assert order(made, coming("a", 2, name="nothing"), coming("b", 6, name="something")) == ["something", "nothing"]


@pytest.mark.parametrize(("first", "expected"), [(True, ["own", "borrowed"]), (False, ["borrowed", "own"])])
def test_who_does_not_borrow_what_it_asks_for_goes_first(first, expected):
    """``busy`` borrows much memory already, but asks for cpu, of which it has its own."""
    quotas = {"default": {"cpu": 4, "memory": 1}}
    queues = [cluster_queue(name, quotas, cohort="c") for name in ("busy", "calm")]
    pool = cluster_queue("pool", {"default": {"cpu": 8, "memory": 9}}, cohort="c")
    made = world(*queues, pool, policy=replace(FAIR, prioritize_non_borrowing=first))
    made.put(workload("memory", pod_set(requests={"memory": 6}), queue="busy"))
    made.settle()
    assert order(made, coming("busy", 1, name="own"), coming("calm", 5, name="borrowed")) == expected


def test_priority_then_age_decide_between_equal_shares():
    made = world(queue("a", 0), queue("b", 0), queue("c", 0), queue("pool", 3), policy=FAIR)
    found = order(
        made,
        coming("a", 1, name="late", created="2026-01-01T10:00:02Z"),
        coming("b", 1, name="early", created="2026-01-01T10:00:01Z"),
        coming("c", 1, name="urgent", priority=1, created="2026-01-01T10:00:03Z"),
    )
    assert found == ["urgent", "early", "late"]


def test_shares_are_looked_at_again_after_each_turn():
    """After ``left`` took two, its other queue has to wait for ``right``."""
    made = world(
        cohort("r", {"default": {"cpu": 8}}),
        cohort("left", parent="r"),
        cohort("right", parent="r"),
        queue("l1", 0, "left"),
        queue("l2", 0, "left"),
        queue("r1", 0, "right"),
        policy=FAIR,
    )
    found = order(made, coming("l1", 2, name="l1"), coming("l2", 2, name="l2"), coming("r1", 3, name="r1"))
    assert found == ["l1", "r1", "l2"]


def test_queues_without_cohort_take_part_once():
    made = world(queue("a", 1, ""), queue("b", 1, ""), policy=FAIR)
    assert sorted(order(made, coming("a", 1, name="x"), coming("b", 1, name="y"))) == ["x", "y"]


def test_a_queue_within_its_quota_beats_a_borrower_for_the_last_room():
    made = world(queue("a", 2), queue("b", 2), *units("a", 1), policy=FAIR)
    made.put(coming("b", 3, name="borrower", created="2026-01-01T09:00:00Z"), coming("a", 1, name="modest"))
    assert [step.key.name for step in made.cycle().admissions] == ["modest"]
    assert made.message("ns/borrower") == "Workload no longer fits after processing another workload"
