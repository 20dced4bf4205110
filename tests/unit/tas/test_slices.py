"""Slices: groups of pods that share a domain, on one or several levels."""

import pytest

from tests.unit.tas.small_topology import H, place, pods, room

E08 = "b1/r1/n1=4 b1/r2/n2=4 b2/r1/n3=4"


@pytest.mark.parametrize(
    ("nodes", "slices", "count", "expected"),
    [
        pytest.param("b1/r1/n1=3 b1/r2/n2=2 b1/r3/n3=5", "rack*2", 6, "n2:2 n3:4", id="most slices, then least pods"),
        pytest.param("b1/r1/n1=3 b1/r1/n2=3 b1/r2/n3=2", f"{H}*2", 6, "n1:2 n2:2 n3:2", id="hosts"),
        pytest.param("b1/r1/n1=5 b1/r2/n2=4 b1/r3/n3=4", "rack*2", 4, "n2:4", id="least pods among equals"),
        pytest.param("b1/r1/n1=3 b1/r1/n2=3 b1/r2/n3=2", f"{H}*2", 5, "n1:2 n2:2", id="surplus pods stay without"),
        pytest.param(
            "b1/r1/n1=3 b1/r1/n2=3 b1/r1/n3=2 b1/r2/n4=8", f"rack*4 {H}*2", 8, "n4:8", id="two layers round down"
        ),
    ],
)
def test_slices_in_a_block(nodes: str, slices: str, count: int, expected: str) -> None:
    assert place(room(nodes), pods(count, required="block", slices=slices)) == {"main": expected}


def test_below_the_slice_level_the_smallest_hosts_come_first() -> None:
    nodes = room("b1/r1/n1=2 b1/r1/n2=2 b1/r1/n3=4")
    assert place(nodes, pods(4, required="rack", slices="rack*4")) == {"main": "n1:2 n2:2"}


@pytest.mark.parametrize(
    ("nodes", "count", "expected"),
    [
        pytest.param(E08, 4, "n3:4", id="the fullest block"),
        pytest.param(E08, 10, "n1:4 n2:4 n3:2", id="over blocks"),
        pytest.param("b1/r1/n1=3 b1/r1/n2=1", 2, "n1:1 n2:1", id="within a rack"),
    ],
)
def test_slices_alone_are_unconstrained_from_the_top(nodes: str, count: int, expected: str) -> None:
    assert place(room(nodes), pods(count, slices="rack*2")) == {"main": expected}


def test_preferred_slices_spread_over_blocks() -> None:
    nodes = room("b1/r1/n1=2 b1/r2/n2=2 b2/r3/n3=3")
    assert place(nodes, pods(6, preferred="block", slices="rack*2")) == {"main": "n1:2 n2:2 n3:2"}


def test_layers_are_filled_whole() -> None:
    nodes = room("b1/r1/n1=4 b1/r1/n2=4 b1/r2/n3=2 b1/r2/n4=2 b1/r2/n5=2 b1/r2/n6=2")
    assert place(nodes, pods(8, preferred="block", slices=f"rack*4 {H}*2")) == {"main": "n1:4 n2:4"}


def test_fewer_pods_than_a_slice_place_only_the_leader() -> None:
    workers = pods(1, "w", group="g", required="rack", slices="rack*2")
    leader = pods(1, "l", group="g", required="rack", slices="rack*2")
    assert place(room("b1/r1/n1=3"), workers, leader) == {"w": "", "l": "n1:1"}
