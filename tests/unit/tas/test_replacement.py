"""Pods of a failed node get a new place; all others stay."""

from tests.unit.tas.small_topology import H, assignment, grown, place, pods, replaced, room
from worker_agent.engine.tas.driver import Situation


def test_on_the_same_node_as_the_rest() -> None:
    nodes = room("b1/r1/n1=2 b1/r1/n2=2 b1/r2/n3=4")
    assert replaced(nodes, "n1:2 nX:1", "nX", pods(3, preferred="rack")) == "n1:3"


def test_a_required_rack_binds_the_replacement() -> None:
    told = replaced(room("b1/r1/n1=2 b1/r2/n3=4", used="n1=2"), "n1:2 nX:1", "nX", pods(3, required="rack"))
    assert told == (
        'topology "default" doesn\'t allow to fit any of 1 pod(s). '
        'Total nodes: 2; excluded: resource "cpu": 1, topologyDomain: 1'
    )


def test_within_the_required_rack() -> None:
    nodes = room("b1/r1/n1=3 b1/r2/n3=4", used="n1=2")
    assert replaced(nodes, "n1:2 nX:1", "nX", pods(3, required="rack")) == "n1:3"


def test_where_nothing_remains_any_rack_will_do() -> None:
    assert replaced(room("b1/r1/n1=3 b1/r2/n3=4"), "nX:4", "nX", pods(4, required="rack")) == "n3:4"


def test_another_lost_node_makes_it_impossible() -> None:
    told = replaced(room("b1/r1/n1=3"), "n1:2 nX:1 nY:1", "nX", pods(4, required="rack"))
    assert told == (
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain nY"
    )


def test_a_broken_slice_is_mended_in_its_rack() -> None:
    nodes = room("b1/r1/n1=2 b1/r1/n2=2 b1/r2/n3=2 b1/r2/n4=4", used="n1=2 n3=2 n4=2")
    ask = pods(8, required="block", slices="rack*4")
    assert replaced(nodes, "n1:2 nX:2 n3:2 n4:2", "nX", ask) == "n1:2 n2:2 n3:2 n4:2"


def test_a_node_that_is_healthy_again_may_be_chosen() -> None:
    nodes = room("b1/r1/n1=4 b1/r1/n2=4", used="n1=2 n2=2")
    assert replaced(nodes, "n1:2 n2:2", "n2", pods(4, unconstrained=True)) == "n1:4"


def test_pods_bound_to_a_host_have_no_other_place() -> None:
    told = replaced(room("b1/r1/n1=4 b1/r1/n2=4"), "n1:1 nX:1", "nX", pods(2, required=H))
    assert told.endswith("Total nodes: 2; excluded: topologyDomain: 2")


def test_unless_hosts_are_all_there_is() -> None:
    assert replaced(room("n1=4 n2=4", (H,)), "n1:1 nX:1", "nX", pods(2, required=H)) == "n1:2"


def test_a_broken_slice_without_level_has_none_to_search() -> None:
    told = replaced(room("b1/r1/n1=4 b1/r1/n2=4"), "n1:1 nX:1", "nX", pods(2, slices="rack*2"))
    assert told == "topology level not specified"


def test_less_than_a_slice_finds_nothing() -> None:
    told = replaced(room("b1/r1/n1=4 b1/r1/n2=4"), "n1:1 nX:1", "nX", pods(2, required="block", slices="rack*3"))
    assert told == "cannot find replacement assignment for unhealthy node: nX"


def test_the_first_failure_ends_the_search() -> None:
    existing = {"a": assignment("n1:1"), "b": assignment("nX:1")}
    asks = [pods(1, name, required="rack") for name in "ab"]
    found = place(room("b1/r1/n1=4 b1/r1/n2=4"), *asks, situation=Situation("nX", existing=existing))
    assert found == {"a": "cannot find replacement assignment for unhealthy node: nX"}


def test_a_pods_own_workload_keeps_its_place() -> None:
    situation = Situation("nX", keeps_assignment=True, existing={"main": assignment("nX:1")})
    assert place(room("b1/r1/n1=4"), pods(1, required="rack"), situation=situation) == {"main": "nX:1"}


def test_elastic_job_grows_around_what_it_has() -> None:
    found = grown(room("n1=4 n2=4", (H,)), pods(5, previous="n1:2 n2:1", unconstrained=True))
    assert found == {"main": "n1:4 n2:1"}


def test_elastic_job_grows_onto_the_host_that_holds_the_rest() -> None:
    found = grown(room("n1=4 n2=2 n3=3", (H,)), pods(6, previous="n1:3", unconstrained=True))
    assert found == {"main": "n1:3 n3:3"}


def test_elastic_job_shrinks_from_the_end() -> None:
    found = grown(room("n1=4 n2=4", (H,)), pods(2, previous="n1:1 n2:3", unconstrained=True))
    assert found == {"main": "n1:1 n2:1"}


def test_elastic_group_keeps_its_leader() -> None:
    leader = pods(1, "l", group="g", previous="n1:1", unconstrained=True)
    workers = pods(4, "w", group="g", previous="n1:2", unconstrained=True)
    assert grown(room("n1=3 n2=4", (H,)), leader, workers) == {"l": "n1:1", "w": "n1:2 n2:2"}


def test_elastic_job_on_a_lost_host_starts_afresh() -> None:
    assert grown(room("n1=3 n2=4", (H,)), pods(3, previous="nZ:3", unconstrained=True)) == {"main": "n1:3"}
