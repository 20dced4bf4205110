"""Why no place was found, word by word."""

import pytest

from tests.unit.tas.small_topology import T1, H, place, pods, room

DEFAULT = 'topology "default"'


@pytest.mark.parametrize(
    ("nodes", "request_", "expected"),
    [
        pytest.param(T1, {"required": "rack", "count": 5}, "allows to fit only 4 out of 5 pod(s)", id="too many"),
        pytest.param(
            T1,
            {"required": "rack", "count": 3, "cpu": 3},
            'doesn\'t allow to fit any of 3 pod(s). Total nodes: 4; excluded: resource "cpu": 4',
            id="too big",
        ),
        pytest.param(
            "b1/r1/n1=3 b1/r1/n2=1 b1/r2/n3=2",
            {"unconstrained": True, "count": 7},
            "allows to fit only 6 out of 7 pod(s)",
            id="unconstrained",
        ),
        pytest.param(
            "b1/r1/n1=3 b1/r1/n2=3",
            {"required": "block", "slices": f"{H}*2", "count": 6},
            "allows to fit only 2 out of 3 slice(s)",
            id="slices",
        ),
        pytest.param(
            "b1/r1/n1=3 b1/r1/n2=3",
            {"required": "rack", "slices": f"rack*6 {H}*2", "count": 6},
            f"doesn't allow to fit; 0/1 slice(s) fit on level rack; 2/3 slice(s) fit on level {H}",
            id="layers",
        ),
        pytest.param(
            "b1/r1/n1=3 b1/r1/n2=1 b1/r2/n3=3 b1/r2/n4=1",
            {"required": "block", "slices": f"rack*4 {H}*2", "count": 8},
            f"doesn't allow to fit; 0/2 slice(s) fit on level rack; 2/4 slice(s) fit on level {H}",
            id="layers over racks",
        ),
        pytest.param(
            "b1/r1/n1=10p0 b1/r1/n2=10p0",
            {"required": "rack", "count": 5},
            'doesn\'t allow to fit any of 5 pod(s). Total nodes: 2; excluded: resource "pods": 2',
            id="no pods",
        ),
    ],
)
def test_no_room(nodes: str, request_: dict[str, object], expected: str) -> None:
    assert place(room(nodes), pods(**request_)) == {"main": f"{DEFAULT} {expected}"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"unconstrained": False}, "topology level not specified"),
        ({"required": "zone"}, "no requested topology level: zone"),
        ({"required": "rack", "slices": "zone*2"}, "no requested topology level for slices: zone"),
        ({"required": "rack", "slices": "block*2"}, "podset slice topology block is above the podset topology rack"),
        (
            {"required": "block", "slices": f"{H}*4 rack*2"},
            f"additional slice layer topology rack must be at a lower level than {H}",
        ),
        (
            {"required": "block", "slices": f"rack*4 {H}*3"},
            "additional slice layer size 3 must evenly divide parent layer size 4",
        ),
        (
            {"required": "block", "slices": "rack*4 zone*2"},
            "no requested topology level for additional slice layer: zone",
        ),
    ],
)
def test_requests_that_do_not_suit_the_topology(request_: dict[str, object], expected: str) -> None:
    assert place(room("b1/r1/n1=8"), pods(4, **request_)) == {"main": expected}  # type: ignore[arg-type]


def test_no_nodes() -> None:
    assert place(room(""), pods(1, required="rack")) == {"main": "no topology domains at level: rack"}


def test_taints_and_selectors_are_told_by_the_first_reason() -> None:
    nodes = room("b1/r1/n1=2 b1/r1/n2=1 b1/r2/n3=4", taints={"n1": "v"}, labels={"n3": {"zone": "a"}})
    expected = 'Total nodes: 3; excluded: nodeSelector: 2, taint "gpu=v:NoSchedule": 1'
    told = place(nodes, pods(3, required="rack", selector={"zone": "b"}))
    assert told == {"main": f"{DEFAULT} doesn't allow to fit any of 3 pod(s). {expected}"}


def test_nodes_without_room_are_told_beside_tainted_ones() -> None:
    nodes = room("b1/r1/n1=2 b1/r1/n2=1 b1/r2/n3=3", taints={"n2": "v"})
    expected = 'Total nodes: 3; excluded: resource "cpu": 1, taint "gpu=v:NoSchedule": 1'
    assert place(nodes, pods(2, cpu=3, required="rack")) == {
        "main": f"{DEFAULT} allows to fit only 1 out of 2 pod(s). {expected}"
    }


def test_room_that_placed_pods_use_counts_unless_they_are_thought_away() -> None:
    nodes = room("b1/r1/n1=2 b1/r1/n2=2", used="n1=2")
    told = place(nodes, pods(4, required="rack"))["main"]
    assert told == f'{DEFAULT} allows to fit only 2 out of 4 pod(s). Total nodes: 2; excluded: resource "cpu": 1'
    assert place(nodes, pods(4, required="rack"), empty=True) == {"main": "n1:2 n2:2"}


def test_an_overcommitted_node_holds_nothing() -> None:
    assert place(room("b1/r1/n1=2 b1/r1/n2=3", used="n1=5"), pods(3, required="rack")) == {"main": "n2:3"}


def test_pods_that_ask_for_nothing_still_count() -> None:
    assert place(room("b1/r1/n1=3p2"), pods(2, cpu=0, required="rack")) == {"main": "n1:2"}


def test_the_number_of_pods_limits_a_node() -> None:
    assert place(room("b1/r1/n1=10p2 b1/r1/n2=10p3"), pods(5, required="rack")) == {"main": "n1:2 n2:3"}
