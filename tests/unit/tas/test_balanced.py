"""Balanced placement: as even as possible over as few domains as needed."""

import pytest

from tests.unit.tas.small_topology import H, place, pods, room

E11B = "b1/r1/n1=20 b1/r1/n2=10 b1/r2/n3=15 b1/r2/n4=15"


@pytest.mark.parametrize(
    ("nodes", "count", "slices", "expected"),
    [
        pytest.param("b1/r1/n1=15 b1/r1/n2=13 b1/r1/n3=10", 23, "", "n1:12 n2:11", id="two of three hosts"),
        pytest.param(E11B, 22, "", "n3:11 n4:11", id="the evener rack"),
        pytest.param(E11B, 20, "", "n1:20", id="one host is enough"),
        pytest.param("b1/r1/n1=15 b1/r2/n2=15", 25, "", "n1:13 n2:12", id="over racks"),
        pytest.param(
            "b1/r1/n1=15 b1/r2/n2=15 b1/r3/n3=15 b1/r3/n4=15", 25, f"{H}*5", "n3:15 n4:10", id="slices stay whole"
        ),
        pytest.param(
            "b1/r1/n1=10 b1/r1/n2=5 b1/r2/n3=5 b1/r2/n4=5 b1/r2/n5=5", 15, "", "n3:5 n4:5 n5:5", id="no room left over"
        ),
        pytest.param("b1/r1/n1=8 b1/r2/n2=8", 10, "rack*2", "n1:8 n2:2", id="not at the level of inner slices"),
    ],
)
def test_preferred_rack(nodes: str, count: int, slices: str, expected: str) -> None:
    assert place(room(nodes), pods(count, preferred="rack", slices=slices), balanced=True) == {"main": expected}


def test_hosts_of_a_rack() -> None:
    nodes = room("b1/r1/n1=5 b1/r1/n2=5 b1/r2/n3=3")
    assert place(nodes, pods(7, preferred=H), balanced=True) == {"main": "n1:4 n2:3"}


@pytest.mark.parametrize(("balanced", "expected"), [(True, "n1:6 n2:4"), (False, "n1:8 n2:2")])
def test_slices_in_a_block(balanced: bool, expected: str) -> None:
    ask = pods(10, preferred="block", slices="rack*2")
    assert place(room("b1/r1/n1=8 b1/r2/n2=8"), ask, balanced=balanced) == {"main": expected}


def test_pruning_counts_without_inner_layers() -> None:
    ask = pods(3, preferred="block", slices=f"rack*3 {H}*3")
    assert place(room("b1/r1/n1=4 b2/r2/n2=3"), ask, balanced=True) == {"main": "n2:3"}


def test_with_a_leader() -> None:
    asks = [pods(1, "l", group="g", preferred="rack"), pods(6, "w", group="g", preferred="rack")]
    nodes = room("b1/r1/n1=4 b1/r1/n2=4 b1/r1/n3=4")
    assert place(nodes, *asks, balanced=True) == {"l": "n1:1", "w": "n1:3 n2:3"}
