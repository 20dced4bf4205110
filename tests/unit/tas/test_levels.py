"""Required, preferred and unconstrained requests: which level, which domains, which hosts."""

import pytest

from tests.unit.tas.small_topology import RACKS, T1, H, place, pods, room

E03 = "b1/r1/n1=3 b1/r1/n2=1 b1/r2/n3=3"
E05 = "b1/r1/n1=3 b1/r1/n2=1 b1/r2/n3=2"


@pytest.mark.parametrize(
    ("nodes", "level", "count", "expected"),
    [
        pytest.param(T1, "rack", 3, "n3:1 n4:2", id="tightest rack"),
        pytest.param("b1/r1/n1=5 b1/r1/n2=3 b1/r2/n3=3", H, 3, "n2:3", id="tightest host, first path among equals"),
        pytest.param("b1/r2/a=2 b1/r1/z=2", "rack", 2, "z:2", id="path order, not order of hosts"),
        pytest.param("b1/r1/n1=2 b1/r1/n2=2 b1/r2/n3=3 b2/r3/n4=6", "block", 5, "n4:5", id="tightest block"),
        pytest.param("b1/r1/n1=2 b1/r1/n2=2 b1/r1/n3=4", "rack", 4, "n3:4", id="one host rather than two"),
        pytest.param("b1/r1/n1=2 b1/r1/n1=3", "rack", 5, "n1:5", id="one leaf for one hostname"),
    ],
)
def test_required(nodes: str, level: str, count: int, expected: str) -> None:
    assert place(room(nodes), pods(count, required=level)) == {"main": expected}


@pytest.mark.parametrize(
    ("nodes", "level", "count", "expected"),
    [
        pytest.param(T1, "rack", 5, "n1:2 n2:2 n3:1", id="up to the block"),
        pytest.param(E03, "rack", 6, "n1:3 n3:3", id="hosts are chosen anew from all chosen racks"),
        pytest.param("b1/r1/n1=3 b2/r1/n2=2 b3/r1/n3=4", "rack", 5, "n2:1 n3:4", id="over blocks, the last tightest"),
        pytest.param("b1/r1/n1=4 b1/r2/n2=3 b1/r3/n3=2", "block", 6, "n1:4 n3:2", id="the rest to the tightest rack"),
        pytest.param("b1/r1/n1=2 b1/r1/n2=2 b1/r2/n3=3", H, 4, "n1:2 n2:2", id="from host to rack"),
        pytest.param("b1/r1/n1=3 b1/r2/n2=4 b2/r3/n3=9", "rack", 5, "n3:5", id="the only rack that holds all"),
    ],
)
def test_preferred(nodes: str, level: str, count: int, expected: str) -> None:
    assert place(room(nodes), pods(count, preferred=level)) == {"main": expected}


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(2, "n3:2", id="the smallest host that holds all"),
        pytest.param(4, "n1:1 n2:1 n3:2", id="else the fullest hosts first"),
    ],
)
def test_unconstrained(count: int, expected: str) -> None:
    assert place(room(E05), pods(count, unconstrained=True)) == {"main": expected}


def test_unconstrained_takes_the_emptiest_hosts_without_the_mixed_profile() -> None:
    assert place(room(E05), pods(4, unconstrained=True), mixed_profile=False) == {"main": "n1:3 n2:1"}


def test_implied_requests_are_unconstrained() -> None:
    assert place(room(E05), pods(2)) == {"main": "n3:2"}


def test_implied_ties_go_by_path() -> None:
    assert place(room("b1/r1/n2=2 b1/r1/n1=2 b1/r0/n9=2"), pods(1)) == {"main": "n9:1"}


@pytest.mark.parametrize(
    ("nodes", "count", "expected"),
    [
        pytest.param("b1/r1/a=2 b1/r1/a=2 b1/r2/c=3", 6, "b1/r1:4 b1/r2:2", id="nodes of a rack add up"),
    ],
)
def test_topologies_without_hosts(nodes: str, count: int, expected: str) -> None:
    assert place(room(nodes, RACKS), pods(count, preferred="rack")) == {"main": expected}


def test_without_hosts_a_pod_may_span_nodes() -> None:
    assert place(room("b1/r1/a=1 b1/r1/b=1", RACKS), pods(1, cpu=2, unconstrained=True)) == {"main": "b1/r1:1"}


def test_without_hosts_selectors_are_not_asked() -> None:
    ask = pods(2, required="rack", selector={"zone": "q"})
    assert place(room("b1/r1/a=2 b1/r2/b=3", RACKS), ask) == {"main": "b1/r1:2"}
