"""What a cluster reports, and the physical room rebuilt from it."""

from typing import Any

import msgspec
import pytest

from tests.builders import admitted, cluster_queue, flavor, node, pod_set, single_queue, workload
from tests.conformance.engine_objects import decode
from tests.engine_world import EngineWorld
from worker_agent.api.cluster_capacity import ClusterCapacity
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import capacity, flavor_report, node_sizes
from worker_agent.engine.capacity import PhysicalRoom
from worker_agent.engine.node_sizes import NodeSizes
from worker_agent.engine.physical_room import Demand, FreeNodes
from worker_agent.engine.policy import DEFAULT, Policy

GPU = "nvidia.com/gpu"


def report(world: EngineWorld) -> Document:
    return capacity.report(world.state, world.policy, world.now, ["batch/job"])


def room(world: EngineWorld) -> PhysicalRoom:
    return PhysicalRoom(decode({"status": report(world)}, ClusterCapacity))


def pod(name: str, on: str, cpu: int, phase: str = "Running", owner: str = "") -> Document:
    owners = [{"uid": owner, "controller": True}] if owner else []
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "ownerReferences": owners},
        "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]},
        "status": {"phase": phase},
    }


def free(world: EngineWorld, name: str) -> int:
    return world.state.catalog.nodes.nodes[name].free["cpu"]


def machines(count: int, **fields: Any) -> list[Document]:
    return [node(f"n{number}", **{"cpu": 8, "memory": "32Gi", "pods": 110, **fields}) for number in range(count)]


def test_quota_and_demand_are_reported_by_queue() -> None:
    world = EngineWorld([*single_queue(cpu=4, cohort="c"), cluster_queue("lender", cohort="c", cpu=6)])
    world.put(admitted("a", cpu=1), workload("w", cpu=99, count=2))
    queue = next(entry for entry in report(world)["clusterQueues"] if entry["name"] == "q")
    assert (queue["pendingWorkloads"], queue["demand"], queue["cohort"]) == (1, {"cpu": "198"}, "c")
    assert queue["quotas"] == [
        {
            "flavor": "default",
            "resource": "cpu",
            "nominal": "4",
            "used": "1",
            "reserved": "1",
            "borrowable": "6",
        }
    ]


def test_equal_nodes_are_one_vector() -> None:
    world = EngineWorld([*machines(5), *single_queue()])
    world.put(pod("p", "n0", 3))
    vectors = report(world)["flavors"][0]["freeNodes"]
    assert [(vector["free"]["cpu"], vector["count"]) for vector in vectors] == [("8", 4), ("5", 1)]


def test_ended_pods_and_deleted_pods_hold_nothing() -> None:
    world = EngineWorld([*machines(1), *single_queue()])
    world.put(pod("p", "n0", 3), pod("q", "n0", 3))
    world.put(pod("p", "n0", 3, phase="Succeeded"))
    assert free(world, "n0") == 5000
    world.state.delete_pod(Key("ns", "q"))
    assert free(world, "n0") == 8000


def test_pods_seen_before_their_node_count() -> None:
    world = EngineWorld(single_queue())
    world.put(pod("p", "n0", 3))
    world.put(*machines(1))
    assert free(world, "n0") == 5000


def sizes_of(world: EngineWorld) -> NodeSizes:
    return NodeSizes(decode({"status": report(world)}, ClusterCapacity))


def test_the_largest_nodes_are_told_whatever_runs_on_them() -> None:
    cordoned = node("large", cpu=64, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    cordoned["spec"]["unschedulable"] = True
    world = EngineWorld([node("small", cpu=2), cordoned, node("gpus", **{"cpu": 4, GPU: 8}), *single_queue()])
    world.put(pod("p", "large", 60))
    sizes = [vector["free"] for vector in report(world)["flavors"][0]["largestNodes"]]
    assert sorted((size.get("cpu"), size.get(GPU, "0")) for size in sizes) == [("4", "8"), ("64", "0")]


def test_what_the_largest_node_cannot_hold_is_ruled_out() -> None:
    sizes = sizes_of(EngineWorld([*machines(2), *single_queue()]))
    assert sizes.holds({"cpu": 8000}, "default")
    assert not sizes.holds({"cpu": 8001}, "default")
    assert sizes.holds({"cpu": 8001}, "unknown")


def test_a_flavor_without_nodes_rules_nothing_out() -> None:
    assert sizes_of(EngineWorld([flavor("f", labels={"kind": "a"}), *machines(1)])).holds({"cpu": 10**6}, "f")


def test_many_sizes_are_merged_upwards() -> None:
    world = EngineWorld([flavor("f"), *(node(f"n{i}", cpu=i + 1, memory=f"{20 - i}Gi") for i in range(12))])
    assert len(report(world)["flavors"][0]["largestNodes"]) == node_sizes.MOST
    assert all(sizes_of(world).holds({"cpu": (i + 1) * 1000, "memory": (20 - i) << 30}, "f") for i in range(12))
    assert not sizes_of(world).holds({"cpu": 13000}, "f")


def test_only_ready_nodes_with_the_flavors_labels_belong_to_it() -> None:
    world = EngineWorld([flavor("a", labels={"kind": "a"}), *machines(1)])
    cordoned = node("n2", labels={"kind": "a"}, cpu=8)
    cordoned["spec"]["unschedulable"] = True
    broken = node("n3", labels={"kind": "a"}, cpu=8)
    broken["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    world.put(node("n1", labels={"kind": "a"}, cpu=8), cordoned, broken)
    assert report(world)["flavors"][0]["nodes"] == 1


def test_foreign_taints_keep_a_node_out_declared_ones_do_not() -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    world = EngineWorld([flavor("plain"), flavor("gpu", nodeTaints=[taint]), node("n", taints=[taint], cpu=8)])
    assert {entry["flavor"]: entry["nodes"] for entry in report(world)["flavors"]} == {"plain": 0, "gpu": 1}


def test_a_gang_needs_its_pods_on_nodes_not_only_a_sum() -> None:
    found = room(EngineWorld([*machines(3), *single_queue()]))
    assert found.fits({"cpu": 8000}, 3, "default")
    assert not found.fits({"cpu": 6000}, 4, "default")
    assert not found.fits({"cpu": 12000}, 1, "default")


def test_a_resource_that_no_node_has_fits_nowhere() -> None:
    assert not room(EngineWorld([*machines(3), *single_queue()])).fits({GPU: 1}, 1, "default")


def test_the_number_of_pods_per_node_is_bounded() -> None:
    found = room(EngineWorld([*machines(1, pods=3), *single_queue()]))
    assert found.fits({"cpu": 1}, 3, "default")
    assert not found.fits({"cpu": 1}, 4, "default")


def test_the_largest_gang_of_what_waits_is_told() -> None:
    world = EngineWorld([*machines(2), *single_queue(cpu=100)])
    world.put(workload("w", cpu=3))
    assert report(world)["flavors"][0]["largestGangs"] == [{"requests": {"cpu": "3"}, "count": 4}]


def test_pods_promised_to_a_fresh_admission_are_placed_until_they_are_bound() -> None:
    fresh = admitted("w", cpu=8, metadata={"labels": {"kueue.x-k8s.io/job-uid": "job"}})
    for condition in fresh["status"]["conditions"]:
        condition["lastTransitionTime"] = "2026-01-01T11:59:55Z"
    world = EngineWorld([*machines(2), *single_queue(cpu=100), fresh])
    assert not room(world).fits({"cpu": 8000}, 2, "default")
    world.put(pod("p", "n0", 8, owner="job"))
    assert room(world).fits({"cpu": 8000}, 1, "default")
    world.advance(60)
    world.state.delete_pod(Key("ns", "p"))
    assert room(world).fits({"cpu": 8000}, 2, "default")


def test_topology_levels_report_their_domains() -> None:
    racks = [node(f"n{i}", labels={"tas": "yes", "rack": f"r{i // 2}"}, cpu=4) for i in range(4)]
    world = EngineWorld([*racks, flavor("f", labels={"tas": "yes"}, topologyName="t")])
    world.put({"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}]}})
    level = report(world)["flavors"][0]["levels"][0]
    assert level["nodeLabel"] == "rack"
    assert level["domains"] == [{"free": {"cpu": "8"}, "count": 2}]


def test_an_unreported_flavor_refuses_nothing() -> None:
    assert PhysicalRoom(None).fits({"cpu": 1}, 1, "default")
    assert room(EngineWorld([*machines(1), *single_queue()])).fits({"cpu": 10**6}, 9, "unknown")


def test_pod_sets_of_one_workload_share_the_room() -> None:
    found = PhysicalRoom.of({"f": [FreeNodes({"cpu": 10}, 2)]})
    assert found.fits_all([Demand({"cpu": 6}, 2, "f"), Demand({"cpu": 4}, 2, "f")])
    assert not found.fits_all([Demand({"cpu": 6}, 2, "f"), Demand({"cpu": 5}, 1, "f")])


def test_what_is_left_after_pods_were_placed() -> None:
    left = PhysicalRoom.of({"f": [FreeNodes({"cpu": 10}, 3)]}).after([Demand({"cpu": 4}, 3, "f")])
    assert left is not None
    assert sorted((vector.free["cpu"], vector.count) for vector in left.vectors("f")) == [(2, 1), (6, 1), (10, 1)]


def test_merged_vectors_claim_only_what_all_have() -> None:
    vectors = [FreeNodes({"cpu": 9, GPU: 1}, 1), FreeNodes({"cpu": 8, GPU: 4}, 2), FreeNodes({"cpu": 1, GPU: 0}, 1)]
    assert flavor_report.coarsened(vectors, 2) == [FreeNodes({"cpu": 8, GPU: 1}, 3), FreeNodes({"cpu": 1, GPU: 0}, 1)]


def test_a_large_cluster_stays_within_the_budget() -> None:
    nodes = [node(f"n{i}", cpu=f"{1000 + i}m", memory=f"{i + 1}Mi", pods=110) for i in range(2000)]
    queues = [cluster_queue(f"q{i}", {"default": {"cpu": 4, "memory": "1Gi"}}, cohort="c") for i in range(400)]
    world = EngineWorld([*nodes, flavor(), *queues])
    assert len(msgspec.json.encode(report(world))) <= capacity.BUDGET


def test_the_policy_hash_tells_policies_apart() -> None:
    assert capacity.policy_hash(DEFAULT) == capacity.policy_hash(Policy())
    assert capacity.policy_hash(DEFAULT) != capacity.policy_hash(Policy(fair_sharing=True))


def test_switches_off_their_default_are_listed() -> None:
    world = EngineWorld(single_queue(), Policy(partial_admission=False))
    assert report(world)["policy"]["switches"] == {"partial_admission": "False"}


def test_no_switches_are_told_where_all_are_at_their_default() -> None:
    assert "switches" not in report(EngineWorld(single_queue()))["policy"]


def test_a_report_reads_as_a_cluster_capacity() -> None:
    world = EngineWorld([*machines(2), *single_queue()])
    world.put(workload("w", pod_set(requests={GPU: 1, "memory": "1Gi"})))
    status = decode({"status": report(world)}, ClusterCapacity).status
    assert status.engine_version == capacity.ENGINE_VERSION
    assert status.integrations == ["batch/job"]


def test_leaves_are_told_before_fine_histograms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "BUDGET", 8_000)
    host = "kubernetes.io/hostname"
    labels = {"tas": "yes", "rack": "r"}
    nodes = [node(f"n{i}", labels={**labels, host: f"n{i:03}"}, cpu=i + 1) for i in range(80)]
    for found in nodes:
        found["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    world = EngineWorld([*nodes, flavor("f", labels={"tas": "yes"}, topologyName="t")])
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": host}]
    world.put({"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": levels}})
    found = report(world)
    (told,) = found["flavors"]
    assert len(msgspec.json.encode(found)) <= capacity.BUDGET
    assert len(told["leaves"]["runs"]) == 80
    assert len(told["freeNodes"]) < 64
