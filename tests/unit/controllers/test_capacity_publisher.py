"""When a ClusterCapacity is written."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.unit.kube.fake_server import clock
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_CAPACITIES
from worker_agent.controllers.capacity_publisher import INTERVAL_SECONDS, USE_SECONDS, CapacityPublisher
from worker_agent.engine.intents import ApplyStatus

pytestmark = pytest.mark.looptime


class Cluster:
    """An agent's surroundings: what its engine says of the cluster, and what has been written of it."""

    def __init__(self):
        self.used, self.free, self.flavors = "0", "4", ["default"]
        self.written = []
        self.stored = None
        self._tell = None

    # As the engine
    def add_view_handler(self, handler):
        self._tell = handler

    async def ask(self, question):
        quota = {"flavor": "default", "resource": "cpu", "nominal": "4", "used": self.used, "reserved": self.used}
        queue = {"name": "q", "active": True, "pendingWorkloads": 0, "quotas": [quota]}
        flavors = [{"flavor": name, "freeNodes": [{"free": {"cpu": self.free}}]} for name in self.flavors]
        now = asyncio.get_running_loop().time()
        return {"reportedAt": str(now), "clusterQueues": [queue], "flavors": flavors}

    # As the known objects
    def informer(self, resource):
        return self

    def keys(self):
        return [Key("", name) for name in self.flavors]

    def document(self, resource, key):
        return self.stored

    # As the applier
    async def apply(self, intents):
        for intent in intents:
            assert intent.resource == CLUSTER_CAPACITIES
            if isinstance(intent, ApplyStatus):
                self.written.append(round(asyncio.get_running_loop().time(), 1))
                self.stored = {"metadata": {"name": "this"}, "status": intent.fields}

    def becomes(self, **what):
        for name, value in what.items():
            setattr(self, name, value)
        self._tell(None)


@asynccontextmanager
async def reporting():
    """Ten seconds after its first report."""
    cluster = Cluster()
    running = asyncio.create_task(CapacityPublisher(cluster, cluster, cluster, clock(), ["batch/job"]).run())
    await asyncio.sleep(10)
    try:
        yield cluster
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_room_is_told_at_once_and_then_at_most_every_few_seconds():
    async with reporting() as cluster:
        cluster.becomes(free="3", used="1")
        await asyncio.sleep(1)
        cluster.becomes(free="2", used="2")
        await asyncio.sleep(1)
        cluster.becomes(free="1", used="3")
        await asyncio.sleep(30)
        assert cluster.written == [0.0, 10.0, 10.0 + INTERVAL_SECONDS]


async def test_what_comes_and_goes_in_between_is_not_told():
    async with reporting() as cluster:
        cluster.becomes(free="3", used="1")
        await asyncio.sleep(1)
        cluster.becomes(free="2", used="2")
        await asyncio.sleep(1)
        cluster.becomes(free="3", used="1")
        await asyncio.sleep(30)
        assert cluster.written == [0.0, 10.0]


async def test_the_use_of_quotas_alone_is_told_less_often():
    async with reporting() as cluster:
        for used in range(20):
            cluster.becomes(used=str(used))
            await asyncio.sleep(2)
        await asyncio.sleep(60)
        assert cluster.written == [0.0, USE_SECONDS, 2 * USE_SECONDS]
        assert cluster.stored["status"]["clusterQueues"][0]["quotas"][0]["used"] == "19"


async def test_the_use_of_quotas_is_told_together_with_room():
    async with reporting() as cluster:
        cluster.becomes(used="1")
        await asyncio.sleep(1)
        cluster.becomes(free="3")
        await asyncio.sleep(60)
        assert cluster.written == [0.0, 10.0 + INTERVAL_SECONDS]
        assert cluster.stored["status"]["clusterQueues"][0]["quotas"][0]["used"] == "1"


async def test_a_new_flavor_is_told_soon():
    async with reporting() as cluster:
        cluster.becomes(free="3")
        await asyncio.sleep(1)
        cluster.becomes(flavors=["default", "spot"])
        await asyncio.sleep(30)
        assert cluster.written == [0.0, 10.0, 11.2]


async def test_the_use_that_follows_from_told_room_is_told_soon():
    """A hub counts what has ended as room of its own until a report after the one that may count it."""
    async with reporting() as cluster:
        cluster.becomes(free="3")
        await asyncio.sleep(2)
        cluster.becomes(used="1")
        await asyncio.sleep(1)
        cluster.becomes(used="2")
        await asyncio.sleep(60)
        assert cluster.written == [0.0, 10.0, 10.0 + INTERVAL_SECONDS]
        cluster.becomes(used="3")
        await asyncio.sleep(1)
        cluster.becomes(used="4")
        await asyncio.sleep(60)
        assert len(cluster.written) == 5
