"""What the simulated autoscaler answers, and which nodes come and go."""

from typing import Any

import pytest

from hub.local.simulation import autoscaling
from hub.local.simulation.autoscaling import AddNode, Answer, AutoscalerView, Decision, RemoveNode
from hub.local.simulation.placement import Demand
from hub.local.simulation.shape import AUTOSCALED, AutoscalerRules, NodeGroup
from tests.unit.simulation.objects import NOW, at, node, pod, pod_spec, true
from worker_agent.api.document import Document
from worker_agent.api.timestamps import rfc3339

GROW = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
CHECK = autoscaling.CHECK_CAPACITY
BURST = NodeGroup("burst", 0, {"cpu": "4"}, max_count=2)
RULES = AutoscalerRules(accept_seconds=5, provision_seconds=10, booking_seconds=60, idle_seconds=30)


def request(
    *conditions: Document, count: int = 2, kind: str = GROW, name: str = "w-room-1", age: float = 5
) -> Document:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": rfc3339(at(-age))},
        "spec": {"provisioningClassName": kind, "podSets": [{"count": count, "podTemplateRef": {"name": "t"}}]},
        "status": {"conditions": list(conditions)},
    }


def decide(
    *requests: Document, nodes: Any = (), pods: Any = (), cpu: str = "3", rules: AutoscalerRules = RULES, **view: Any
) -> Decision:
    demand = Demand.of(pod_spec(cpu))
    seen = AutoscalerView(requests, pods, nodes, lambda pod: demand, lambda key: demand, **view)
    return autoscaling.decide(seen, (BURST,), rules, NOW)


def told(decided: Decision) -> list[tuple[str, str, str]]:
    return [(c.type, c.status, c.reason) for s in decided.steps if isinstance(s, Answer) for c in s.conditions]


def burst(number: int) -> Any:
    return node(f"burst-{number}", labels={AUTOSCALED: "burst"})


def test_a_new_request_waits_its_while():
    decided = decide(request(age=2))
    assert (decided.steps, decided.look_again) == ([], at(3))


def test_a_request_that_fits_into_the_groups_is_accepted_with_an_expected_time():
    decided = decide(request())
    assert told(decided) == [("Accepted", "True", "Accepted"), ("Provisioned", "False", "NodesAreAdded")]
    assert decided.look_again == at(10)


def test_a_request_that_can_never_fit_is_refused():
    decided = decide(request(count=3))
    assert told(decided) == [("Failed", "True", "OutOfResources")]
    assert "room was found for 2 of 3 pods" in decided.steps[0].conditions[0].message


def test_nodes_come_when_their_time_has_come_and_then_the_room_is_there():
    accepted = request(true("Accepted", since=-10))
    steps = decide(accepted).steps
    assert [(s.group.name, s.number) for s in steps if isinstance(s, AddNode)] == [("burst", 0), ("burst", 1)]
    (answer,) = decide(accepted, nodes=[burst(0), burst(1)]).steps
    assert (answer.conditions[0].type, answer.details) == ("Provisioned", {"nodeGroup": "burst"})


def test_what_is_promised_to_one_is_not_promised_to_another():
    first = request(true("Accepted", since=-1), name="a-room-1", age=9)
    assert told(decide(first, request(name="b-room-1"))) == [("Failed", "True", "OutOfResources")]


def test_room_among_the_nodes_there_are_is_found_without_new_ones():
    accepted = request(true("Accepted"), kind=CHECK)
    assert told(decide(accepted, nodes=[node("n", "8")])) == [("Provisioned", "True", "Provisioned")]
    assert told(decide(accepted, nodes=[node("n", "4")])) == [("Provisioned", "False", "CapacityIsNotFound")]


def test_room_that_is_not_found_in_time_fails_the_request():
    accepted = request(true("Accepted", since=-600), kind=CHECK)
    assert told(decide(accepted)) == [("Failed", "True", "CapacityIsNotFound")]


def test_booked_room_is_not_given_to_others_until_the_booking_ends():
    booked = request(true("Accepted"), true("Provisioned", since=-59), name="a-room-1", kind=CHECK)
    other = request(true("Accepted"), name="b-room-1", kind=CHECK)
    assert told(decide(booked, other, nodes=[node("n", "8")])) == [("Provisioned", "False", "CapacityIsNotFound")]
    ended = request(true("Accepted"), true("Provisioned", since=-60), name="a-room-1", kind=CHECK)
    assert told(decide(ended, nodes=[node("n", "8")])) == [("BookingExpired", "True", "BookingExpired")]


def test_a_pod_of_the_request_uses_up_its_share_of_the_booking():
    booked = request(true("Accepted"), true("Provisioned"), name="a-room-1", kind=CHECK)
    other = request(true("Accepted"), name="b-room-1", kind=CHECK, count=1)
    marked = pod("p", annotations={"autoscaling.x-k8s.io/consume-provisioning-request": "a-room-1"})
    decided = decide(booked, other, nodes=[node("n-0", "9")], pods=[marked])
    assert told(decided) == [("Provisioned", "True", "Provisioned")]


def test_the_first_attempts_may_be_refused():
    rules = AutoscalerRules(accept_seconds=5, refuse_attempts=1)
    assert told(decide(request(), rules=rules)) == [("Failed", "True", "Refused")]
    assert told(decide(request(name="w-room-2"), rules=rules))[0] == ("Accepted", "True", "Accepted")


@pytest.mark.parametrize(("since", "goes"), [({}, False), ({"burst-0": at(-29)}, False), ({"burst-0": at(-30)}, True)])
def test_an_added_node_goes_when_it_has_stood_empty_for_a_while(since, goes):
    decided = decide(nodes=[burst(0), node("fixed")], idle_since=since)
    assert decided.steps == ([RemoveNode("burst-0")] if goes else [])
    assert set(decided.idle_since) == {"burst-0"}


def test_a_node_with_pods_or_booked_room_stays():
    booked = request(true("Accepted"), true("Provisioned"), count=1)
    decided = decide(booked, nodes=[burst(0)], idle_since={"burst-0": at(-99)})
    assert decided.steps == []
    running = pod("p")
    running["spec"]["nodeName"] = "burst-0"
    assert decide(nodes=[burst(0)], pods=[running], idle_since={"burst-0": at(-99)}).steps == []
