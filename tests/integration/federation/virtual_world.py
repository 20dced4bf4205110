"""A federation of any shape on virtual time: the real hub and agents over servers in this process, hours in moments."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from hub.app import configuration
from hub.app.hub import Hub
from hub.clusters.credentials import Credential
from hub.local.apiserver import bootstrap
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.store import Event
from hub.local.objects import resource_of
from hub.local.simulation.operators import definitions
from hub.settings import HubSettings
from tests.faults import virtual_loop
from tests.faults.federation import COMMON
from tests.faults.lines import Line
from tests.faults.players import JobPlayer
from tests.faults.world import START, SeenServer
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import NODES, ResourceType
from worker_agent.app import configuration as agent_configuration
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import LoopClock
from worker_agent.kube.faults import FaultPlan
from worker_agent.kube.transport import Transport
from worker_agent.settings import AgentSettings

MANAGER = "manager"
HUB_ALONE = ("multi_kueue", "federation")
"""Settings that an agent does not take."""


class VirtualWorld:
    """``clusters`` gives each cluster's objects, the manager's among them; ``settings`` are those of all programs.

    ``job_kinds`` are defined where asked for. ``lines`` lead from the hub to each cluster; ``commits`` are all writes.
    """

    def __init__(
        self, clusters: Mapping[str, Iterable[Document]], settings: Mapping[str, Any], *, job_kinds: bool = False
    ) -> None:
        self.clock = LoopClock(START, 1)
        self._job_kinds = job_kinds
        self.commits: list[tuple[float, str, Event]] = []
        self.servers = {name: self._server(name) for name in clusters}
        self.clients = {name: Client(InProcessTransport(server), self.clock) for name, server in self.servers.items()}
        self.lines = {
            name: Line(InProcessTransport(server), self.clock, FaultPlan({})) for name, server in self.servers.items()
        }
        self._objects = clusters
        self._settings: dict[str, Any] = {**COMMON, **settings}
        self._hub_settings: dict[str, Any] = {name: self._settings.pop(name, {}) for name in HUB_ALONE}
        self._players = {
            name: JobPlayer(self.clients[name], self.clock, lambda job: None) for name in clusters if name != MANAGER
        }
        self.agents: dict[str, Agent] = {}
        """Of the workers."""
        self._programs: list[asyncio.Task[None]] = []

    def _server(self, cluster: str) -> SeenServer:
        core = Core(new_state(random.Random(cluster).randbytes, 1), SchemaRegistry(), Authenticator({}))
        bootstrap.fill(core, (*crds.documents(), *(definitions.documents() if self._job_kinds else ())), START)
        server = SeenServer(core, self.clock)
        server.on_commit = lambda event: self._committed(cluster, event)
        return server

    def _committed(self, cluster: str, event: Event) -> None:
        self.commits.append((self.clock.monotonic(), cluster, event))
        if event.store == "batch/jobs" and cluster != MANAGER:
            old, new = (each.document() if each is not None else None for each in (event.old, event.new))
            self._players[cluster].observe(old, new)

    async def create(self, cluster: str, *documents: Document) -> None:
        for document in documents:
            namespace = document["metadata"].get("namespace", "")
            await self.clients[cluster].create(resource_of(document), document, namespace)

    async def start(self) -> None:
        for name, documents in self._objects.items():
            await self.create(name, *documents)
            if name != MANAGER:
                untainted = {"spec": {"taints": None}}
                await self.clients[name].patch(NODES, "node", "", untainted, patch_type=PatchType.MERGE)
                settings = agent_configuration.resolve(AgentSettings(**self._settings))
                self.agents[name] = Agent(settings, self._surroundings(name))
                self._run(self.agents[name])
        agent_settings, federation = configuration.resolve(HubSettings(**{**self._settings, **self._hub_settings}))
        agent = Agent(agent_settings, self._surroundings(MANAGER))
        Hub(agent, replace(federation, threaded=False), transport=self._transport)
        self._run(agent)

    def _surroundings(self, cluster: str) -> Surroundings:
        transport = self.lines[MANAGER] if cluster == MANAGER else InProcessTransport(self.servers[cluster])
        return Surroundings(transport, self.clock, threaded=False, webhooks=False)

    def _run(self, agent: Agent) -> None:
        self._programs.append(asyncio.create_task(agent.run(asyncio.Event())))

    def _transport(self, credential: Credential) -> Transport:
        content = (credential.kubeconfig or b"").decode()
        return next(self.lines[name] for name in self.servers if f"{name}.example" in content)

    async def close(self) -> None:
        for program in self._programs:
            program.cancel()
        outcomes = await asyncio.gather(*self._programs, return_exceptions=True)
        for server in self.servers.values():
            await server.stop()
        for outcome in outcomes:
            if outcome is not None and not isinstance(outcome, asyncio.CancelledError):
                raise outcome

    async def patch(
        self, cluster: str, resource: ResourceType, name: str, body: Document, subresource: str = ""
    ) -> None:
        client = self.clients[cluster]
        await client.patch(resource, name, "ns", body, patch_type=PatchType.MERGE, subresource=subresource)

    # Reading

    def objects(self, cluster: str, store: str) -> list[Document]:
        found = self.servers[cluster].core.state.collection(store).objects
        return [stored.document() for stored in found.values()]

    def running_jobs(self, cluster: str) -> list[Document]:
        jobs = self.objects(cluster, "batch/jobs")
        return [job for job in jobs if not value_at(job, "spec.suspend", False) and not _ended(job)]


def _ended(job: Document) -> bool:
    return any(each["type"] in ("Complete", "Failed") for each in value_at(job, "status.conditions", []))


def play(world: VirtualWorld, story: Callable[[VirtualWorld], Awaitable[None]]) -> None:
    """``story(world)`` on virtual time, with all programs running."""

    async def run() -> None:
        await world.start()
        try:
            await asyncio.sleep(10)
            await story(world)
        finally:
            await world.close()

    virtual_loop.run(run())
