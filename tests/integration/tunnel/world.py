"""A federation whose workers dial in: real TLS and WebSockets on loopback, servers and programs in one process."""

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from hub.app import enrolling
from hub.app.configuration import AgentService
from hub.local import layout
from hub.local.real import accounts
from tests import api_servers
from tests.integration.federation.world import CLOCK, SETTINGS, SYSTEM, Cluster, Federation, federation, node, queues
from worker_agent.api.document import Document
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS, NODES
from worker_agent.app import configuration as agent_configuration
from worker_agent.app import hub_tunnel
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.settings import AgentSettings
from worker_agent.tunnel import joining
from worker_agent.tunnel.joining import Invitation, Joined
from worker_agent.tunnel.service import TunnelService

HOUR = timedelta(hours=1)


class DialledFederation(Federation):
    """Workers are reached through their agents alone."""

    def __init__(self, servers: list[Any], quota: dict[str, int]) -> None:
        super().__init__(servers, quota)
        (self.port,) = layout.free_ports(1)
        self.services: dict[str, TunnelService] = {}
        self.agents: dict[str, Agent] = {}
        self.agent_changes: dict[str, Any] = {}

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def install(self) -> None:
        await self.manager.create(*queues(cpu=sum(self.quota.values()), checks=["mk"]))
        await self.manager.create(*federation(*self.workers)[:2])
        for name, cluster in self.workers.items():
            await cluster.create(*queues(cpu=self.quota[name]), node(cpu=self.quota[name]))
            await cluster.patch(NODES, "node", {"spec": {"taints": None}})

    def start(self, *, validity: timedelta = HOUR, **changes: Any) -> None:
        """The hub, serving agents."""
        self.start_hub(agents=AgentService("127.0.0.1", self.port, (self.address,), validity, 2.0), **changes)

    def start_worker(self, name: str) -> None:
        settings = agent_configuration.resolve(AgentSettings(**SETTINGS | self.agent_changes))
        transport = api_servers.as_program(self.workers[name].server, accounts.MEMBER)
        agent = Agent(settings, Surroundings(transport, CLOCK, webhooks=False))
        service = hub_tunnel.attach(agent)
        assert service is not None
        self.services[name] = service
        self.agents[name] = agent
        self._start(name, agent)

    async def served(self) -> None:
        """Waits until agents can connect."""
        assert self.hub is not None
        assert self.hub.door is not None
        await self.hub.door.listener.serving.wait()

    async def invited(self, name: str, lifetime: timedelta = HOUR) -> Invitation:
        found = await enrolling.invite(self.manager.client, SYSTEM, name, lifetime)
        return Invitation(found.agent, (self.address,), found.token.text, found.pin)

    async def join(self, name: str) -> Joined:
        await self.served()
        return await joining.join(self.workers[name].client, SYSTEM, await self.invited(name), CLOCK.now())

    async def active(self, name: str) -> Document:
        """The condition Active of a worker, as its status and reason; empty while there is none."""
        found = await self.manager.get(MULTIKUEUE_CLUSTERS, name)
        conditions = ((found or {}).get("status") or {}).get("conditions") or []
        return next((c for c in conditions if c["type"] == "Active"), {})

    async def is_active(self, name: str) -> bool:
        return (await self.active(name)).get("status") == "True"

    async def has_reason(self, name: str, reason: str) -> bool:
        return (await self.active(name)).get("reason") == reason


@contextlib.asynccontextmanager
async def dialled(
    *,
    validity: timedelta = HOUR,
    joined: bool = True,
    hub_changes: dict[str, Any] | None = None,
    agent_changes: dict[str, Any] | None = None,
    **workers: int,
) -> AsyncIterator[DialledFederation]:
    """A hub and one worker per keyword, of so many cpus; ``joined`` workers have enrolled."""
    async with api_servers.in_memory(1 + len(workers)) as servers:
        world = DialledFederation(servers, workers)
        world.agent_changes = agent_changes or {}
        await world.install()
        try:
            world.start(validity=validity, **(hub_changes or {}))
            for name in workers:
                world.start_worker(name)
                if joined:
                    await world.join(name)
            yield world
        finally:
            await world.stop_all()


__all__ = ["CLOCK", "SYSTEM", "Cluster", "DialledFederation", "dialled"]
