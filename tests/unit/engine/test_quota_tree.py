"""Quota arithmetic in the cohort tree (spec/engine 6)."""

import pytest

from tests.builders import cluster_queue, cohort, flavor, quota
from tests.engine_world import EngineWorld
from worker_agent.api.document import Document
from worker_agent.engine import hierarchy
from worker_agent.engine import quota as arithmetic
from worker_agent.engine.resources import UNLIMITED, minus, plus, quota_amount, text
from worker_agent.engine.state import ClusterState

FR = ("default", "units")


def queue(name: str, nominal: int, parent: str = "", **limits: int) -> Document:
    return cluster_queue(name, {"default": {"units": quota(nominal, **limits)}}, cohort=parent)


def group(name: str, nominal: int, parent: str = "", **limits: int) -> Document:
    return cohort(name, {"default": {"units": quota(nominal, **limits)}}, parent=parent)


def tree(*objects: Document, **usage: int) -> ClusterState:
    state = EngineWorld([flavor(), *objects]).state
    for name, amount in usage.items():
        state.add_usage(state.cluster_queues[name], {FR: amount})
    return state


def available(state: ClusterState) -> dict[str, int]:
    return {name: arithmetic.exposed(node, FR) for name, node in state.hierarchy.queues.items()}


def potential(state: ClusterState) -> dict[str, int]:
    return {name: arithmetic.potential_available(node, FR) for name, node in state.hierarchy.queues.items()}


LIMITED = (group("c", 10), queue("q1", 10, "c"), queue("q2", 10, "c", borrowing=2), queue("q3", 10, "c", lending=5))


def test_limits_bound_what_a_queue_could_ever_use() -> None:
    assert potential(tree(*LIMITED)) == {"q1": 35, "q2": 12, "q3": 40}


def test_usage_beyond_the_kept_part_is_taken_from_the_cohort() -> None:
    state = tree(*LIMITED, q1=20, q2=10, q3=6)
    assert state.hierarchy.cohorts["c"].usage == {FR: 31}
    assert available(state) == {"q1": 4, "q2": 2, "q3": 4}


def test_what_is_never_lent_stays_available_to_its_owner() -> None:
    groups = (group("root", 0), group("left", 10, "root"), group("right", 10, "root"))
    objects = (*groups, queue("a", 10, "left"), queue("b", 10, "right", lending=0))
    assert potential(tree(*objects)) == {"a": 30, "b": 40}
    assert available(tree(*objects, a=10, b=5)) == {"a": 20, "b": 25}


def test_over_admission_spills_over_to_queues_that_neither_lend_nor_borrow() -> None:
    state = tree(group("c", 10), queue("q1", 10, "c"), queue("q2", 10, "c", borrowing=0, lending=0), q1=31)
    assert state.hierarchy.cohorts["c"].usage == {FR: 31}
    assert arithmetic.available(state.hierarchy.queues["q1"], FR) == -11
    assert available(state) == {"q1": 0, "q2": 0}


def test_removing_usage_gives_back_what_lies_in_the_cohort_first() -> None:
    state = tree(queue("q", 10, "c", lending=4), queue("o", 5, "c"), q=8)
    assert state.hierarchy.cohorts["c"].usage == {FR: 2}
    assert available(state) == {"q": 7, "o": 7}
    arithmetic.remove_all(state.hierarchy.queues["q"], {FR: 3}, state.journal)
    assert state.hierarchy.cohorts["c"].usage == {}
    assert state.hierarchy.queues["q"].usage == {FR: 5}


def test_lending_limits_hold_at_every_level() -> None:
    objects = (group("root", 0), group("left", 0, "root", lending=5), group("right", 0, "root"))
    state = tree(
        *objects,
        queue("l1", 10, "left", lending=5),
        queue("l2", 10, "left"),
        queue("r", 0, "right"),
        queue("x", 0, "root"),
    )
    assert available(state) == {"l1": 20, "l2": 15, "r": 5, "x": 5}


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [("f1", 0, (1, True)), ("f2", 0, (2, True)), ("f3", 0, (3, False)), ("f1", 4, (3, False))],
)
def test_the_lowest_subtree_that_fits_gives_the_borrowing_level(
    wanted: str, used: int, expected: tuple[int, bool]
) -> None:
    def holding(name: str, of: str, parent: str = "") -> Document:
        return cohort(name, {of: {"units": 4}}, parent=parent)

    objects = (holding("three", "f3"), holding("two", "f2", "three"), holding("one", "f1", "two"))
    names = ("default", "f1", "f2", "f3")
    queues = (cluster_queue("q", {n: {"units": 0} for n in names}, cohort="one"), queue("other", 0, "two"))
    state = EngineWorld([*map(flavor, names), *objects, *queues]).state
    state.add_usage(state.cluster_queues["q"], {(wanted, "units"): used})
    node = state.hierarchy.queues["q"]
    assert hierarchy.lowest_subtree_that_fits(node, (wanted, "units"), 4) == expected


def test_a_queue_without_cohort_is_at_level_zero() -> None:
    state = tree(queue("q", 4))
    assert hierarchy.lowest_subtree_that_fits(state.hierarchy.queues["q"], FR, 9) == (0, False)


def test_an_inactive_queue_does_not_raise_the_level_but_lends_its_quota() -> None:
    stopped = queue("idle", 5, "c")
    stopped["spec"]["stopPolicy"] = "Hold"
    state = EngineWorld([stopped]).state
    cohort_node = state.hierarchy.cohorts["c"]
    assert hierarchy.height(cohort_node) == 0
    assert cohort_node.subtree == {FR: 5}


def test_a_queue_below_a_cycle_of_cohorts_is_not_schedulable() -> None:
    state = tree(group("a", 1, "b"), group("b", 1, "a"), queue("q", 1, "a"))
    assert not state.schedulable(state.cluster_queues["q"])
    state.delete_cohort("b")
    assert state.schedulable(state.cluster_queues["q"])


def test_usage_of_a_queue_below_a_cycle_counts_when_the_cycle_is_gone() -> None:
    state = tree(group("a", 1, "b"), group("b", 1, "a"), queue("q", 1, "a"), q=3)
    state.delete_cohort("b")
    assert state.hierarchy.cohorts["a"].usage == {FR: 3}


def test_an_implicit_cohort_disappears_with_its_last_child() -> None:
    state = tree(queue("q", 1, "c"))
    assert "c" in state.hierarchy.cohorts
    state.delete_cluster_queue("q")
    assert "c" not in state.hierarchy.cohorts


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (plus(UNLIMITED, -5), UNLIMITED),
        (minus(UNLIMITED, 5), UNLIMITED),
        (minus(5, UNLIMITED), -(2**63)),
        (minus(UNLIMITED, UNLIMITED), 0),
        (plus(2**63 - 1, 1), 2**63 - 1),
        (minus(-(2**63), 1), -(2**63)),
        (quota_amount("memory", "8Ei"), UNLIMITED),
        (quota_amount("cpu", "9e15"), 9 * 10**18),
    ],
)
def test_amounts_saturate(found: int, expected: int) -> None:
    assert found == expected


def test_unlimited_is_printed_as_such() -> None:
    assert text("cpu", UNLIMITED) == "<unlimited>"
