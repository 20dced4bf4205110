"""Faults of topology placement: B67, B68. Whole agents on virtual time."""

import asyncio

import pytest

from tests.integration.agent.topology_world import RACK, TopologyCluster, rack
from worker_agent.api.resource_type import NODES
from worker_agent.kube.transport import Request, Response, Transport

pytestmark = pytest.mark.looptime

REQUIRED_RACK = {"kueue.x-k8s.io/podset-required-topology": RACK}
RESTARTS = 10


class LateKinds:
    """Holds back everything about nodes and topologies for a second."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def request(self, request: Request) -> Response:
        if request.path.endswith(("/nodes", "/topologies")):
            await asyncio.sleep(1.0)
        return await self._transport.request(request)

    async def close(self) -> None:
        await self._transport.close()


async def test_b67_usage_is_known_before_anything_is_placed_after_a_restart():
    async with TopologyCluster(rack("b1", "r1", 2, "2")) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue()
        await cluster.train("a", 2, REQUIRED_RACK, cpu="1")
        await cluster.running("a", 2)
        taken = set(await cluster.domains("a"))
        assert len(taken) == 1
        free = ({"b1-r1-0", "b1-r1-1"} - taken).pop()
        await cluster.cordon(free, True)
        await cluster.train("b", 1, REQUIRED_RACK, cpu="2")
        cluster.agent_faults = LateKinds(cluster.agent_faults)
        for _ in range(RESTARTS):
            await cluster.kill_agent()
            cluster.start_agent()
            for _ in range(40):
                await asyncio.sleep(0.1)
                assert "admission" not in (await cluster.workload("b")).get("status", {})
        await cluster.cordon(free, False)
        await cluster.running("b", 1)
        assert set(await cluster.domains("b")) == {free}


@pytest.mark.parametrize("spare", [1, 2])
async def test_b68_a_lost_pod_stays_in_its_rack_or_the_job_moves_as_a_whole(spare):
    racks = [rack("b1", "r1", 2, "1", "r1-host"), rack("b1", "r10", spare, "1", "r10-host")]
    async with TopologyCluster(*racks) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.topology_queue(levels=(RACK, "kubernetes.io/hostname"))
        await cluster.until(lambda: cluster.has_nodes(2 + spare), "all nodes are there")
        if spare == 2:
            # Only the first rack has room while the job starts.
            await cluster.cordon("r10-host-1", True)
        await cluster.train("j", 2, REQUIRED_RACK)
        await cluster.running("j", 2)
        assert set(await cluster.domains("j")) == {"r1-host-0", "r1-host-1"}
        if spare == 2:
            await cluster.cordon("r10-host-1", False)
        await cluster.client.delete(NODES, "r1-host-1")
        places = []
        for _ in range(600):
            await asyncio.sleep(0.1)
            admission = (await cluster.workload("j"))["status"].get("admission")
            if admission is not None:
                places.append(frozenset(await cluster.domains("j")))
        assert await cluster.events("EvictedDueToNodeFailures")
    mixed = [place for place in places if len({name.rpartition("-host")[0] for name in place}) > 1]
    assert mixed == []
    assert admission is None if spare == 1 else places[-1] == {"r10-host-0", "r10-host-1"}
