"""Where pods fit, and why they do not."""

import pytest

from hub.local.simulation.placement import Demand, Room, Unschedulable, is_schedulable
from tests.unit.simulation.objects import node, pod, pod_spec

TAINT = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]


def room(*nodes: object) -> Room:
    made = Room()
    for one in nodes:
        made.put_node(one)  # type: ignore[arg-type]
    return made


def choose(made: Room, **spec: object) -> str:
    choice = made.choose(Demand.of(pod_spec(**spec)))  # type: ignore[arg-type]
    return choice.message if isinstance(choice, Unschedulable) else choice


def test_the_emptiest_node_is_chosen():
    assert choose(room(node("small", "2"), node("large", "64"))) == "large"


def test_what_is_placed_is_taken_and_given_back():
    made = room(node("n", "4"))
    made.place("u1", "n", Demand.of(pod_spec("3")).requests)
    assert choose(made, cpu="2") == "0/1 nodes are available: 1 Insufficient cpu."
    assert made.lift("u1")
    assert choose(made, cpu="2") == "n"
    assert not made.lift("u1")


def test_a_pod_placed_twice_counts_once():
    made = room(node("n", "4"))
    for _ in range(3):
        made.place("u1", "n", Demand.of(pod_spec("3")).requests)
    assert choose(made, cpu="1") == "n"


def test_pods_may_come_before_their_node_and_survive_its_update():
    made = Room()
    made.place("u1", "n", Demand.of(pod_spec("3")).requests)
    made.put_node(node("n", "4"))
    assert "Insufficient" in choose(made, cpu="2")
    made.put_node(node("n", "8"))
    assert choose(made, cpu="5") == "n"
    assert "Insufficient" in choose(made, cpu="6")


def test_selectors_taints_and_cordons_are_heeded():
    made = room(
        node("plain"),
        node("tainted", taints=TAINT),
        node("cordoned", unschedulable=True),
        node("gpu", labels={"gpu": "a100"}),
    )
    assert choose(made, nodeSelector={"gpu": "a100"}) == "gpu"
    assert choose(made, nodeSelector={"gpu": "h100"}) == (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "2 node(s) didn't match Pod's node affinity/selector."
    )


def test_a_toleration_opens_a_tainted_node():
    made = room(node("tainted", taints=TAINT))
    assert choose(made) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    assert choose(made, tolerations=[{"key": "gpu", "operator": "Exists"}]) == "tainted"


def test_required_affinity_is_heeded():
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    made = room(node("a", "64", labels={"zone": "a"}), node("b", labels={"zone": "b"}))
    assert choose(made, affinity=affinity) == "b"


def test_a_resource_the_node_does_not_have():
    resources = {"requests": {"nvidia.com/gpu": "1"}}
    message = choose(room(node("n")), containers=[{"name": "c", "resources": resources}])
    assert message == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


def test_a_node_that_does_not_answer_gets_no_pods():
    assert choose(room(node("n", ready="Unknown"))) == "0/1 nodes are available: 1 node(s) were not ready."


def test_no_nodes_at_all():
    assert choose(Room()) == "no nodes available to schedule pods"


@pytest.mark.parametrize(
    ("spec", "waits"),
    [
        ({}, True),
        ({"nodeName": "n"}, False),
        ({"schedulingGates": [{"name": "g"}]}, False),
        ({"schedulerName": "mine"}, False),
    ],
)
def test_which_pods_wait(spec: dict[str, object], waits: bool):
    assert is_schedulable(pod("a", "Pending") | {"spec": spec}) == waits


def test_ending_and_ended_pods_do_not_wait():
    assert not is_schedulable(pod("a", "Pending", deleting=True) | {"spec": {}})
    assert not is_schedulable(pod("a", "Failed") | {"spec": {}})
