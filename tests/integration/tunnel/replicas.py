"""Several replicas of a hub behind one address, as behind a Service, and workers whose agents dial it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hub.app import configuration, roles
from hub.app.configuration import AgentService
from hub.app.hub import Hub
from hub.local import layout
from hub.settings import HubSettings
from tests import api_servers
from tests.balancer import Balancer
from tests.integration.federation.world import CLOCK, SETTINGS, SYSTEM, Switch, until
from tests.integration.tunnel.world import DialledFederation
from worker_agent.api.resource_type import LEASES
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.client import PatchType
from worker_agent.settings import LeaderElection

ELECTION = LeaderElection(**SETTINGS["leader_election"], retry_period=timedelta(seconds=0.5))
"""Who leads is killed by the test, and by nothing else: a lease lapses when the test says so."""


class ReplicatedFederation(DialledFederation):
    """``hubs`` by name; they have the Balancer's address in common."""

    def __init__(self, servers: list[Any], quota: dict[str, int]) -> None:
        super().__init__(servers, quota)
        self.balancer = Balancer(in_turn=True)
        self.hubs: dict[str, Hub] = {}
        self._switches: dict[str, Switch] = {}
        self._ports: dict[str, int] = {}

    def start_replica(self, name: str) -> None:
        settings, federation = configuration.resolve(HubSettings(**SETTINGS | {"leader_election": ELECTION}))
        switch = self._switches[name] = Switch(api_servers.as_program(self.manager.server, roles.HUB))
        agent = Agent(settings, Surroundings(switch, CLOCK, webhooks=False, identity=name))
        (port,) = layout.free_ports(1)
        served = AgentService("127.0.0.1", port, (self.address,))
        self.hubs[name] = Hub(agent, replace(federation, batch_period=0.05, agents=served), transport=self._transport)
        self._ports[name] = port
        self.balancer.ports.append(port)
        self._start(name, agent)

    async def kill(self, name: str) -> None:
        """Nothing more of it reaches anybody, and its lease lapses soon."""
        self._switches[name].cut.set()
        _, task = self._tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.balancer.ports.remove(self._ports.pop(name))
        del self.hubs[name]
        lapsing = {"spec": {"leaseDurationSeconds": 1}}
        await self.manager.client.patch(LEASES, ELECTION.resource_name, SYSTEM, lapsing, patch_type=PatchType.MERGE)

    def leader(self) -> str:
        """Name of the replica that leads; empty while none does."""
        return next((name for name, hub in self.hubs.items() if hub.agent.leader == name), "")

    def linked(self, worker: str) -> set[str]:
        """Replicas that hold a link of this worker's agent."""
        return {name for name, hub in self.hubs.items() if hub.door.links.current(worker) is not None}

    async def served(self) -> None:
        for hub in self.hubs.values():
            await hub.door.listener.serving.wait()


@contextlib.asynccontextmanager
async def replicated(*names: str, **workers: int) -> AsyncIterator[ReplicatedFederation]:
    """Replicas of these names, the first of which leads, and one worker per keyword, of so many cpus."""
    async with api_servers.in_memory(1 + len(workers)) as servers:
        world = ReplicatedFederation(servers, workers)
        await world.balancer.start()
        world.port = world.balancer.port
        try:
            await world.install()
            world.start_replica(names[0])
            await until(lambda: world.leader() == names[0], f"{names[0]} leads")
            for name in names[1:]:
                world.start_replica(name)
            for name in workers:
                world.start_worker(name)
                await world.join(name)
            yield world
        finally:
            await world.stop_all()
            await world.balancer.stop()


__all__ = ["ReplicatedFederation", "replicated"]
