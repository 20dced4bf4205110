"""A leader and its workers share a domain; the leader costs the room that it takes."""

import pytest

from tests.unit.tas.small_topology import place, pods, room


@pytest.mark.parametrize(
    ("nodes", "level", "leader_cpu", "count", "expected"),
    [
        pytest.param(
            "b1/r1/n1=3 b1/r1/n2=3 b1/r2/n3=4", "required rack", 2, 3, ("n1:1", "n1:1 n2:2"), id="one rack for both"
        ),
        pytest.param(
            "b1/r1/n1=2 b1/r2/n2=3 b2/r3/n3=4", "preferred rack", 1, 6, ("n3:1", "n2:3 n3:3"), id="spread over blocks"
        ),
        pytest.param("b1/r1/n1=2 b1/r2/n2=3", "preferred rack", 3, 2, ("n2:1", "n1:2"), id="leader alone on a host"),
        pytest.param("b1/r1/n1=1 b1/r1/n2=3", "required rack", 1, 3, ("n2:1", "n1:1 n2:2"), id="bigger host leads"),
        pytest.param(
            "b1/r1/n1=4 b1/r2/n2=3 b1/r2/n3=3",
            "preferred rack",
            2,
            7,
            ("n1:1", "n1:2 n2:3 n3:2"),
            id="leader where it does no harm",
        ),
    ],
)
def test_leader_and_workers(nodes: str, level: str, leader_cpu: int, count: int, expected: tuple[str, str]) -> None:
    kind, label = level.split()
    leader = pods(1, "l", cpu=leader_cpu, group="g", **{kind: label})
    workers = pods(count, "w", group="g", **{kind: label})
    assert place(room(nodes), leader, workers) == dict(zip("lw", expected, strict=True))


def test_of_two_equal_pod_sets_the_second_leads() -> None:
    first = pods(1, "a", cpu=2, group="g", required="rack")
    second = pods(1, "b", group="g", required="rack")
    assert place(room("b1/r1/n1=2 b1/r1/n2=2"), first, second) == {"a": "n2:1", "b": "n1:1"}


def test_the_refusal_counts_without_the_leader() -> None:
    leader = pods(1, "l", cpu=2, group="g", required="rack")
    workers = pods(3, "w", group="g", required="rack")
    told = place(room("b1/r1/n1=2 b1/r1/n2=2 b1/r2/n3=4"), leader, workers)
    assert set(told.values()) == {'topology "default" allows to fit only 4 out of 3 pod(s)'}


def test_no_host_can_take_the_leader() -> None:
    leader = pods(1, "l", cpu=3, group="g", required="rack")
    workers = pods(2, "w", group="g", required="rack")
    told = place(room("b1/r1/n1=2 b1/r1/n2=2"), leader, workers)
    assert told["l"] == told["w"] == 'topology "default" allows to fit only 4 out of 2 pod(s)'


def test_pod_sets_without_a_group_follow_each_other() -> None:
    asks = [pods(3, name, required="rack") for name in "ab"]
    assert place(room("b1/r1/n1=4 b1/r1/n2=3"), *asks) == {"a": "n2:3", "b": "n1:3"}


def test_later_pod_sets_see_what_earlier_ones_take() -> None:
    found = place(room("b1/r1/n1=4 b1/r1/n2=3"), pods(5, "a", required="rack"), pods(3, "b", required="rack"))
    refusal = 'topology "default" allows to fit only 2 out of 3 pod(s). Total nodes: 2; excluded: resource "cpu": 1'
    assert found == {"a": "n1:4 n2:1", "b": refusal}
