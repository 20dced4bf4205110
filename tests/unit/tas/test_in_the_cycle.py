"""Places inside the cycle: flavors that suit, races, preemption, nodes that fail, nodes that come."""

from typing import Any

import pytest

from tests.builders import admission_check, cluster_queue, flavor, local_queue, namespace, node, pod_set, workload
from tests.engine_world import EngineWorld
from tests.unit.tas.small_topology import H
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.plan import Evict, Plan, Preempt, SecondPassFailed
from worker_agent.engine.policy import Policy
from worker_agent.engine.tas import topology_assignment
from worker_agent.engine.tas.rules import TopologyRules

RACK = {"required": "rack"}


def host(name: str, rack: str = "r1", cpu: int = 2, pool: str = "a") -> Document:
    document = node(name, labels={"rack": rack, H: name, "pool": pool}, cpu=cpu, pods=10)
    document["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return document


def topology(*levels: str) -> Document:
    return {
        "kind": "Topology",
        "metadata": {"name": "topo"},
        "spec": {"levels": [{"nodeLabel": level} for level in levels or ("rack", H)]},
    }


def tas_flavor(name: str = "tas", pool: str = "a") -> Document:
    return flavor(name, labels={"pool": pool}, topologyName="topo")


def world(*nodes: Document, queues: tuple[Document, ...] = (), policy: Policy | None = None) -> EngineWorld:
    listed = queues or (cluster_queue("q", {"tas": {"cpu": 100}}),)
    objects = [namespace(), *nodes, tas_flavor(), topology(), *listed]
    objects += [local_queue(q["metadata"]["name"], q["metadata"]["name"]) for q in listed]
    return EngineWorld(objects, policy or Policy())


def job(name: str, count: int = 1, queue: str = "q", request: Document | None = None, **fields: Any) -> Document:
    asked = pod_set(count=count, topologyRequest=RACK if request is None else request)
    return workload(name, asked, queue=queue, **fields)


def place(where: EngineWorld, name: str) -> str:
    admission = where.workload(Key("ns", name)).get("status", {}).get("admission")
    if admission is None:
        return ""
    found = topology_assignment.decode(admission["podSetAssignments"][0].get("topologyAssignment"))
    return " ".join(f"{domain.values[-1]}:{domain.pods}" for domain in found.domains) if found else "nowhere"


def steps(plan: Plan, kind: type) -> list[str]:
    return [step.key.name for step in plan if isinstance(step, kind)]


def fail(where: EngineWorld, name: str, failed: str) -> Plan:
    """A node of an admitted workload fails, and it gets its second pass."""
    document = where.workload(Key("ns", name))
    document["status"]["unhealthyNodes"] = [{"name": failed}]
    where.put(document)
    where.advance(1)
    return where.cycle()


def test_pods_get_the_tightest_rack() -> None:
    where = world(host("n1"), host("n2"), host("n3", "r2"))
    where.put(job("w", 2))
    where.cycle()
    assert place(where, "w") == "n3:2"


def test_two_heads_do_not_share_a_place() -> None:
    queues = tuple(cluster_queue(name, {"tas": {"cpu": 100}}) for name in ("x", "y"))
    where = world(host("n1"), host("n2", "r2"), queues=queues)
    where.put(job("a", 2, "x"), job("b", 2, "y"))
    where.cycle()
    assert {place(where, "a"), place(where, "b")} == {"n1:2", "n2:2"}


def test_without_recomputation_the_loser_waits_for_the_next_cycle() -> None:
    queues = tuple(cluster_queue(name, {"tas": {"cpu": 100}}) for name in ("x", "y"))
    where = world(host("n1"), host("n2", "r2"), queues=queues, policy=Policy(recompute_topology=False))
    where.put(job("a", 2, "x"), job("b", 2, "y"))
    where.cycle()
    assert sorted((place(where, "a"), place(where, "b"))) == ["", "n1:2"]
    where.cycle()
    assert sorted((place(where, "a"), place(where, "b"))) == ["n1:2", "n2:2"]


def test_a_full_topology_makes_victims_although_quota_is_ample() -> None:
    queue = cluster_queue("q", {"tas": {"cpu": 100}}, preemption={"withinClusterQueue": "LowerPriority"})
    where = world(host("n1"), queues=(queue,))
    where.put(job("low", 2, priority=1))
    where.cycle()
    where.put(job("high", 2, priority=9))
    assert steps(where.cycle(), Preempt) == ["low"]


def test_an_impossible_place_is_told() -> None:
    where = world(host("n1"))
    where.put(job("w", 3))
    where.cycle()
    assert where.reason("ns/w") == "TopologyPlacementFailed"
    assert 'topology "topo" allows to fit only 2 out of 3 pod(s)' in where.message("ns/w")


def test_a_failed_flavor_gives_the_next_one_its_turn() -> None:
    queue = cluster_queue("q", {"tas": {"cpu": 100}, "other": {"cpu": 100}})
    where = world(host("n1"), host("n2", cpu=4, pool="b"), queues=(queue,))
    where.put(tas_flavor("other", "b"))
    where.put(job("w", 4))
    where.cycle()
    assert place(where, "w") == ""
    where.cycle()
    assert place(where, "w") == "n2:4"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"required": "zone"}, 'Flavor "tas" does not contain the requested level'),
        ({"required": "rack", "podSetSliceRequiredTopology": "zone"}, "does not contain the requested level"),
        ({"unconstrained": False}, 'Flavor "tas" does not contain the requested level'),
    ],
)
def test_flavors_without_the_level_are_left_out(request_: Document, expected: str) -> None:
    where = world(host("n1"))
    where.put(job("w", request=request_))
    where.cycle()
    assert expected in where.message("ns/w")


def test_flavors_without_topology_do_not_take_topology_requests() -> None:
    where = world(host("n1"), queues=(cluster_queue("q", {"plain": {"cpu": 9}}),))
    where.put(flavor("plain"))
    where.put(job("w"))
    where.cycle()
    assert 'Flavor "plain" does not support TopologyAwareScheduling' in where.message("ns/w")


def test_plain_pods_leave_topology_flavors_alone_where_there_are_others() -> None:
    where = world(host("n1"), queues=(cluster_queue("q", {"tas": {"cpu": 9}, "plain": {"cpu": 9}}),))
    where.put(flavor("plain"))
    where.put(workload("w", queue="q"))
    where.cycle()
    assert place(where, "w") == "nowhere"


def test_plain_pods_are_placed_where_all_flavors_have_a_topology() -> None:
    where = world(host("n1"))
    where.put(workload("w", queue="q"))
    where.cycle()
    assert place(where, "w") == "n1:1"


def test_a_new_node_wakes_what_found_no_place() -> None:
    where = world(host("n1"))
    where.put(job("w", 3))
    where.cycle()
    assert where.parked("q") == ["w"]
    where.put(host("n2", cpu=4))
    where.cycle()
    assert place(where, "w") == "n2:3"


def test_a_heartbeat_wakes_nobody() -> None:
    where = world(host("n1"))
    where.put(job("w", 3))
    where.cycle()
    where.put(host("n1"))
    assert where.parked("q") == ["w"]


def test_only_the_pods_of_a_failed_node_move() -> None:
    where = world(host("n1"), host("n2"), host("n3"))
    where.put(job("w", 4, request={"preferred": "rack"}))
    where.cycle()
    assert place(where, "w") == "n1:2 n2:2"
    fail(where, "w", "n2")
    assert place(where, "w") == "n1:2 n3:2"


def test_without_another_place_the_workload_is_evicted() -> None:
    where = world(host("n1"), host("n2"))
    where.put(job("w", 4, request={"preferred": "rack"}))
    where.cycle()
    plan = fail(where, "w", "n2")
    told = "Workload was evicted as there was no replacement for unhealthy node(s): n2"
    assert [(step.key.name, step.reason, step.message) for step in plan if isinstance(step, Evict)] == [
        ("w", "NodeFailures", told)
    ]


def test_or_waits_with_its_quota_for_longer_and_longer() -> None:
    where = world(host("n1"), host("n2"), policy=Policy(topology=TopologyRules(fail_fast=False)))
    where.put(job("w", 4, request={"preferred": "rack"}))
    where.cycle()
    assert steps(fail(where, "w", "n2"), SecondPassFailed) == ["w"]
    where.advance(1)
    assert not where.cycle().steps
    where.advance(1)
    assert steps(where.cycle(), SecondPassFailed) == ["w"]
    where.put(host("n3"))
    where.advance(4)
    where.cycle()
    assert place(where, "w") == "n1:2 n3:2"


def test_places_are_found_after_provisioning() -> None:
    queue = cluster_queue(
        "q", {"tas": {"cpu": 9}}, admissionChecksStrategy={"admissionChecks": [{"name": "provision"}]}
    )
    where = world(host("n1"), queues=(queue,))
    where.put(admission_check("provision", controller="kueue.x-k8s.io/provisioning-request"))
    where.put(job("w", 2))
    where.cycle()
    admission = where.workload(Key("ns", "w"))["status"]["admission"]["podSetAssignments"][0]
    assert admission["delayedTopologyRequest"] == "Pending"
    assert place(where, "w") == "nowhere"
    document = where.workload(Key("ns", "w"))
    document["status"]["admissionChecks"] = [{"name": "provision", "state": "Ready", "message": ""}]
    where.put(document)
    where.advance(1)
    where.cycle()
    admission = where.workload(Key("ns", "w"))["status"]["admission"]["podSetAssignments"][0]
    assert (admission["delayedTopologyRequest"], place(where, "w")) == ("Ready", "n1:2")


def test_a_write_that_failed_gives_the_old_place_back() -> None:
    where = world(host("n1"), host("n2"), host("n3"))
    where.put(job("w", 4, request={"preferred": "rack"}))
    where.cycle()
    document = where.workload(Key("ns", "w"))
    document["status"]["unhealthyNodes"] = [{"name": "n2"}]
    where.put(document)
    where.advance(1)
    heads = where.state.heads(where.now)
    assert [head.second_pass for head in heads] == [True]
    run_cycle(where.state, heads, where.policy, where.now)
    where.state.forget(Key("ns", "w"), where.now)
    room = where.state.topology.room("tas")
    assert room is not None
    assert room.left[room.resources["cpu"]].tolist() == [0, 0, 2000]


def test_a_new_place_leaves_the_rest_of_the_admission_alone() -> None:
    where = world(host("n1"), host("n2"), host("n3"))
    where.put(job("w", 4, request={"preferred": "rack"}))
    where.cycle()
    document = where.workload(Key("ns", "w"))
    document["status"]["reclaimablePods"] = [{"name": "main", "count": 1}]
    where.put(document)
    fail(where, "w", "n2")
    admitted = where.workload(Key("ns", "w"))["status"]["admission"]["podSetAssignments"][0]
    assert (admitted["count"], admitted["resourceUsage"], place(where, "w")) == (4, {"cpu": "4"}, "n1:2 n3:2")
    assert where.state.cluster_queues["q"].node.usage["tas", "cpu"] == 3000
