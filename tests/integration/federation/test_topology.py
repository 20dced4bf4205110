"""Topology requests go to the worker that has the asked domain; the manager learns that they have their place."""

import contextlib

from tests import api_servers
from tests.integration.federation.world import (
    API,
    Cluster,
    Federation,
    federation,
    job,
    queues,
    runs_on,
    until,
    workload_of,
)
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import NODES, WORKLOADS

RACK, HOST = "example.com/rack", "kubernetes.io/hostname"
GROUP = {"example.com/group": "tas"}
SHAPES = {"scattered": {"r1": 1, "r2": 1, "r3": 1, "r4": 1}, "compact": {"r1": 2, "r2": 2}}
"""Nodes by rack, of four cpus each."""


def objects(*, cpu: int, checks: tuple[str, ...] = ()) -> list[Document]:
    """As ``queues``, on a flavor with racks."""
    topology = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    flavor = {"nodeLabels": GROUP, "topologyName": "racks"}
    found = [document for document in queues(cpu=cpu, checks=checks) if document["kind"] != "ResourceFlavor"]
    return [
        {"apiVersion": API, "kind": "Topology", "metadata": {"name": "racks"}, "spec": topology},
        {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "default"}, "spec": flavor},
        *found,
    ]


def nodes(racks: dict[str, int]) -> list[Document]:
    amounts = {"cpu": "4", "memory": "64Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"{rack}-{number}", "labels": {**GROUP, RACK: rack, HOST: f"{rack}-{number}"}},
            "status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready]},
        }
        for rack, count in racks.items()
        for number in range(count)
    ]


class TopologyFederation(Federation):
    async def install(self) -> None:
        await self.manager.create(*objects(cpu=32, checks=("mk",)), *federation(*self.workers))
        for name, cluster in self.workers.items():
            made = nodes(SHAPES[name])
            await cluster.create(*objects(cpu=16), *made)
            for node in made:
                # New nodes are tainted as not ready until the node controller has seen them; there is none here.
                await cluster.patch(NODES, node["metadata"]["name"], {"spec": {"taints": None}})


@contextlib.asynccontextmanager
async def running():
    async with api_servers.in_memory(1 + len(SHAPES)) as servers:
        world = TopologyFederation(servers, dict.fromkeys(SHAPES, 16))
        await world.install()
        try:
            for name in SHAPES:
                world.start_worker(name)
            world.start_hub()
            yield world
        finally:
            await world.stop_all()


def asking(level: str, mode: str, pods: int) -> Document:
    document = job("train", cpu=1, parallelism=pods)
    document["spec"]["template"]["metadata"] = {"annotations": {f"kueue.x-k8s.io/podset-{mode}-topology": level}}
    return document


async def assignment(cluster: Cluster) -> Document:
    (workload,) = await cluster.all(WORKLOADS)
    (found,) = value_at(workload, "status.admission.podSetAssignments", [])
    return found


async def test_a_job_that_needs_one_rack_goes_where_there_is_such_a_rack():
    async with running() as world:
        await world.manager.create(asking(RACK, "required", 8))
        assert await until(lambda: runs_on(world, "train"), "the job runs somewhere") == "compact"

        async def settled() -> Document | None:
            found = await workload_of(world, "train")
            (mine,) = value_at(found, "status.admission.podSetAssignments", [{}])
            return mine if mine.get("delayedTopologyRequest") == "Ready" else None

        mine = await until(settled, "the manager knows that its pods have a place")
        there = await assignment(world.workers["compact"])
    assert "topologyAssignment" not in mine
    (part,) = there["topologyAssignment"]["slices"]
    assert part["domainCount"] == 2
    assert part["podCounts"] == {"universal": 4}


async def test_a_job_that_no_rack_can_hold_says_so_of_every_cluster():
    async with running() as world:
        await world.manager.create(asking(RACK, "required", 12))

        async def judged() -> str:
            found = await workload_of(world, "train")
            conditions = value_at(found, "status.conditions", [])
            told = [c["message"] for c in conditions if c["type"] == "fedhub.dev/Dispatched"]
            return told[0] if told and "compact" in told[0] and "scattered" in told[0] else ""

        message = await until(judged, "the hub has judged it")
        assert await runs_on(world, "train") == ""
    assert 'topology "racks" allows to fit only 8 out of 12 pod(s)' in message
    assert 'topology "racks" allows to fit only 4 out of 12 pod(s)' in message
