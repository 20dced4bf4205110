"""Pods of topology requests go to the domains asked for, and to new ones when a node fails; on virtual time."""

import asyncio
from collections import Counter

import pytest

from hub.local.simulation.cluster import ALL_PARTS, Part
from tests.integration.agent.topology_world import BLOCK, HOST, RACK, TopologyCluster, index, rack
from worker_agent.api.resource_type import NODES, PODS
from worker_agent.kube.client import PatchType

pytestmark = pytest.mark.looptime

REQUIRED_RACK = {"kueue.x-k8s.io/podset-required-topology": RACK}
PREFERRED_BLOCK = {"kueue.x-k8s.io/podset-preferred-topology": BLOCK}


def nodes_of(pods):
    return {number: pod["spec"]["nodeName"] for number, pod in pods.items()}


async def test_pods_of_a_required_rack_run_in_one_rack_by_rank():
    async with TopologyCluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 6, REQUIRED_RACK)
        pods = await cluster.running("train", 6)
        places = await cluster.domains("train")
    placed = nodes_of(pods)
    assert len({name.rpartition("-")[0] for name in placed.values()}) == 1
    assert Counter(placed.values()) == places
    assert [placed[number] for number in range(6)] == sorted(placed.values())
    assert all(pod["spec"]["nodeSelector"][HOST] == pod["spec"]["nodeName"] for pod in pods.values())


async def test_a_job_that_asks_for_nothing_is_placed_all_the_same():
    async with TopologyCluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 3)
        pods = await cluster.running("train", 3)
        assert Counter(nodes_of(pods).values()) == await cluster.domains("train")
    assert pods[0]["metadata"]["annotations"]["kueue.x-k8s.io/podset-unconstrained-topology"] == "true"


async def test_a_late_pod_takes_the_place_of_the_one_before_it():
    async with TopologyCluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 6, REQUIRED_RACK)
        before = await cluster.running("train", 6)
        await cluster.delete_pod(before[2])

        async def replaced():
            now = await cluster.running("train", 6)
            return now if now[2]["metadata"]["uid"] != before[2]["metadata"]["uid"] else None

        after = await cluster.until(replaced, "pod 2 runs again")
    assert nodes_of(after) == nodes_of(before)


@pytest.mark.parametrize("how", ["removed", "silent", "tainted"])
async def test_of_64_pods_only_that_of_the_failed_node_moves(how):
    async with TopologyCluster(rack("b1", "r1", 66, "1", "host")) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 64, REQUIRED_RACK)
        before = await cluster.running("train", 64)
        lost = before[17]
        node = lost["spec"]["nodeName"]
        await _fail(cluster, how, node, lost)

        async def moved():
            found = await cluster.running("train", 64)
            return found if found[17]["metadata"]["uid"] != lost["metadata"]["uid"] else None

        after = await cluster.until(moved, "the pod of the failed node runs elsewhere")
        workload = await cluster.workload("train")
        assert Counter(nodes_of(after).values()) == await cluster.domains("train")
        assert await cluster.events("SecondPassFailed") == []
    assert node not in nodes_of(after).values()
    assert "unhealthyNodes" not in workload["status"]
    assert {n: p["metadata"]["uid"] for n, p in after.items() if n != 17} == {
        n: p["metadata"]["uid"] for n, p in before.items() if n != 17
    }


async def _fail(cluster, how, node, pod):
    if how == "removed":
        await cluster.client.delete(NODES, node)
        return
    if how == "silent":
        await cluster.set_node_ready(node, "Unknown")
    else:
        await cluster.taint(node, {"key": "broken", "effect": "NoExecute"})
    # What the taint eviction of a real control plane does.
    await cluster.delete_pod(pod)


async def test_a_failed_node_without_replacement_evicts_at_once():
    async with TopologyCluster(rack("b1", "r1", 2, "1"), rack("b1", "r2", 2, "1")) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 2, REQUIRED_RACK)
        pods = await cluster.running("train", 2)
        node = pods[1]["spec"]["nodeName"]
        await cluster.client.delete(NODES, node)
        told = await cluster.event("EvictedDueToNodeFailures")
        after = await cluster.running("train", 2)
    assert told == f"Workload was evicted as there was no replacement for unhealthy node(s): {node}"
    assert {name.rpartition("-")[0] for name in nodes_of(after).values()} == {"b1-r2"}


async def test_two_failed_nodes_evict():
    async with TopologyCluster(rack("b1", "r1", 4, "1"), rack("b1", "r2", 4, "1")) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 3, PREFERRED_BLOCK)
        pods = await cluster.running("train", 3)
        first, second = (pods[number]["spec"]["nodeName"] for number in (0, 1))
        await cluster.client.delete(NODES, first)
        await cluster.client.delete(NODES, second)
        told = await cluster.event("EvictedDueToNodeFailures")
        after = await cluster.running("train", 3)
    assert told.startswith("Workload eviction triggered due to multiple TAS assigned node failures, including: ")
    assert not {first, second} & set(nodes_of(after).values())


async def test_an_agent_started_anew_ungates_what_the_last_one_left():
    async with TopologyCluster() as cluster:
        cluster.parts = frozenset({Part.NODES})
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 6, REQUIRED_RACK)
        await cluster.until_condition("train", "Admitted", "Admitted")
        await cluster.kill_agent()
        await cluster.kill()
        cluster.parts = ALL_PARTS
        cluster.simulate()
        gated = await cluster.until_pods(lambda pods: len(pods) == 6)
        assert all(pod["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}] for pod in gated)
        cluster.start_agent()
        pods = await cluster.running("train", 6)
        assert Counter(nodes_of(pods).values()) == await cluster.domains("train")
    assert {index(pod) for pod in pods.values()} == set(range(6))


async def test_a_pod_that_waits_for_a_tainted_node_is_ended_and_placed_anew():
    async with TopologyCluster(rack("b1", "r1", 3, "1")) as cluster:
        cluster.parts = ALL_PARTS - {Part.SCHEDULER}
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 2, REQUIRED_RACK)
        pods = await cluster.until_pods(lambda pods: len(pods) == 2 and not any(map(gated, pods)))
        node = pods[0]["spec"]["nodeSelector"][HOST]
        await cluster.taint(node, {"key": "broken", "effect": "NoSchedule"})
        assert await cluster.event("PodTerminatedByKueue") == "Pod terminated by Kueue NodeController due to node taint"
        await cluster.kill()
        cluster.parts = ALL_PARTS - {Part.NODES}
        cluster.simulate()
        after = await cluster.running("train", 2)
        assert Counter(nodes_of(after).values()) == await cluster.domains("train")
    assert node not in nodes_of(after).values()


def gated(pod):
    return bool(pod["spec"].get("schedulingGates"))


@pytest.mark.parametrize("enabled", [True, False])
async def test_pods_that_hang_on_an_unreachable_node_end_by_force_behind_the_gate(enabled):
    allowed = {"kueue.x-k8s.io/safe-to-forcefully-delete": "true"}
    async with TopologyCluster(rack("b1", "r1", 3, "1"), feature_gates={"FailureRecoveryPolicy": enabled}) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("train", 2, {**REQUIRED_RACK, **allowed}, podReplacementPolicy="Failed")
        before = await cluster.running("train", 2)
        node = before[1]["spec"]["nodeName"]
        await cluster.set_node_ready(node, "Unknown")
        await cluster.taint(node, {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"})
        await cluster.delete_pod(before[1])
        began = asyncio.get_running_loop().time()
        if not enabled:
            await asyncio.sleep(600)
            names = [pod["metadata"]["uid"] for pod in await cluster.pods()]
            assert before[1]["metadata"]["uid"] in names
            return
        told = await cluster.event("KueueForcefullyDeleted")
        waited = asyncio.get_running_loop().time() - began
        after = await cluster.running("train", 2)
    assert 90 <= waited < 95, "a grace of 30 s, and a minute"
    assert f"due to unreachable node `{node}`" in told
    assert after[1]["spec"]["nodeName"] != node


async def test_pods_that_no_queue_manages_take_room_and_give_it_back():
    async with TopologyCluster(rack("b1", "r1", 2, "2")) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.until(lambda: cluster.has_nodes(2), "both nodes are there")
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        spec = {"containers": [container], "nodeSelector": {HOST: "b1-r1-0"}, "restartPolicy": "Never"}
        metadata = {"name": "other", "namespace": "default", "annotations": {"fedhub.dev/run-seconds": "100000"}}
        other = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await cluster.client.create(PODS, other, "default")
        await cluster.until_pods(lambda pods: bool(pods[0]["spec"].get("nodeName")))
        await cluster.train("train", 4, REQUIRED_RACK)
        told = await cluster.until_condition("train", "QuotaReserved", "TopologyPlacementFailed")
        assert 'topology "default" allows to fit only 3 out of 4 pod(s)' in told["message"]
        await cluster.client.delete(PODS, "other", "default")
        await cluster.running("train", 4)
        assert await cluster.domains("train") == {"b1-r1-0": 2, "b1-r1-1": 2}


async def test_changed_labels_and_sizes_of_nodes_count_at_once():
    async with TopologyCluster(rack("b1", "r1", 1, "2"), rack("b1", "r2", 1, "2")) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.until(lambda: cluster.has_nodes(2), "both nodes are there")
        await cluster.train("train", 4, REQUIRED_RACK)
        await cluster.until_condition("train", "QuotaReserved", "TopologyPlacementFailed")
        body = {"metadata": {"labels": {RACK: "r1"}}}
        await cluster.client.patch(NODES, "b1-r2-0", "", body, patch_type=PatchType.MERGE)
        pods = await cluster.running("train", 4)
    assert Counter(nodes_of(pods).values()) == {"b1-r1-0": 2, "b1-r2-0": 2}
