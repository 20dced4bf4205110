"""Two replicas: one leads, the other takes over when it is asked to or when the first is gone."""

import asyncio
import contextlib

import pytest

from tests.integration.agent.world import world
from worker_agent.api.resource_type import LEASES, NAMESPACES
from worker_agent.app import configuration
from worker_agent.app.agent import Agent, LeadershipLost, Surroundings
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import AlreadyExists
from worker_agent.settings import AgentSettings


class Replicas:
    def __init__(self, cluster):
        self.cluster = cluster
        self.running = {}
        self.agents = {}

    async def start(self, name):
        # Long enough for a machine that stands still: leases change hands here because they are given back or taken.
        timing = {"lease_duration": "120s", "renew_deadline": "100s", "retry_period": "100ms"}
        settings = AgentSettings(leader_election=timing)
        surroundings = Surroundings(
            self.cluster.connected(), SystemClock(), identity=name, webhooks=False, threaded=False
        )
        agent = self.agents[name] = Agent(configuration.resolve(settings), surroundings)
        stop = asyncio.Event()
        self.running[name] = (asyncio.create_task(agent.run(stop)), stop)
        await agent.ready.wait()

    async def stop(self, name):
        task, stop = self.running.pop(name)
        stop.set()
        await task

    async def holder(self):
        leases = [lease["spec"].get("holderIdentity") for lease in await self.cluster.all(LEASES, "kueue-system")]
        return leases[0] if leases else ""

    async def until_led_by(self, name):
        async def led():
            return await self.holder() == name

        await self.cluster.until(led, f"{name} leads")


@pytest.fixture
async def replicas(tmp_path):
    async with world(tmp_path) as cluster:
        with contextlib.suppress(AlreadyExists):  # real clusters have it from the start
            await cluster.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}}
            )
        made = Replicas(cluster)
        yield made
        for name in list(made.running):
            await made.stop(name)


async def test_follower_takes_over_when_the_leader_stops(replicas):
    cluster = replicas.cluster
    await replicas.start("a")
    await replicas.until_led_by("a")
    await replicas.start("b")
    await cluster.queue()
    await cluster.submit("first")
    await cluster.condition("first", "Admitted", "True")
    assert replicas.agents["b"].engine.work.cycles == 0
    await replicas.stop("a")
    await replicas.until_led_by("b")
    await cluster.submit("second")
    await cluster.condition("second", "QuotaReserved", "False", "WaitingForQuota")


async def test_leader_that_lost_its_lease_ends(replicas):
    await replicas.start("a")
    await replicas.until_led_by("a")
    name = (await replicas.cluster.all(LEASES, "kueue-system"))[0]["metadata"]["name"]
    stolen = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 60}}
    await replicas.cluster.patch(LEASES, name, "kueue-system", stolen)
    task, _ = replicas.running.pop("a")
    with pytest.raises(LeadershipLost):
        await asyncio.wait_for(task, 90)
