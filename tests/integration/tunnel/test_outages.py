"""Connections that break: the agent dials again, nothing is lost, and no replica of the hub stands alone."""

import asyncio
from dataclasses import replace

import pytest

from hub.app import configuration, roles
from hub.app.configuration import AgentService
from hub.app.hub import Hub
from hub.local import layout
from hub.settings import HubSettings
from tests import api_servers
from tests.integration.federation.world import finish_job, is_complete, job, runs_on, until
from tests.integration.tunnel.world import CLOCK, SYSTEM, DialledFederation, dialled
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.transport import Request
from worker_agent.settings import LeaderElection
from worker_agent.tunnel.identity import IdentityStore


async def cut(world: DialledFederation) -> None:
    """Breaks the connections of the agent, once they stand."""
    links = world.hub.door.links
    link = await until(lambda: links.current("east"), "a link stands")
    for session in list(link.sessions.values()):
        session.end()
    await until(lambda: links.current("east") is not link, "the hub notices")


async def test_jobs_survive_connections_that_break_all_the_time():
    async with dialled(east=8) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        names = [f"train-{number}" for number in range(4)]
        for name in names:
            await cut(world)
            await world.manager.create(job(name))
            await until(lambda name=name: runs_on(world, name), f"{name} runs")
            await cut(world)
            await finish_job(world.workers["east"], name)
        for name in names:
            await until(lambda name=name: is_complete(world.manager, name), f"{name} is complete")
        assert world.hub.door.meeting("east") > 2 * len(names)


async def test_hub_that_comes_back_is_dialled_again():
    async with dialled(east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        await world.manager.create(job("train"))
        await until(lambda: runs_on(world, "train"), "the job runs")
        await world.stop("hub")
        await until(lambda: not world.services["east"].linked, "the agent notices")
        await finish_job(world.workers["east"], "train")
        world.start()
        await until(lambda: is_complete(world.manager, "train"), "the end is mirrored")


async def test_one_connection_of_a_link_does_not_stay_without_the_other():
    async with dialled(east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        link = world.hub.door.links.current("east")
        sessions = list(link.sessions.values())
        sessions[0].end()
        await until(lambda: world.hub.door.links.current("east") not in (None, link), "a new link stands")
        with pytest.raises(ConnectionError):
            await sessions[1].request(Request("GET", "/api/v1/namespaces"))


async def test_agent_dials_every_replica_of_the_hub():
    async with dialled(east=4) as world:
        (port,) = layout.free_ports(1)
        settings, federation = configuration.resolve(
            HubSettings(
                wait_for_pods_ready=None,
                leader_election=LeaderElection(leader_elect=True, resource_namespace=SYSTEM),
            )
        )
        transport = api_servers.as_program(world.manager.server, roles.HUB)
        second = Agent(settings, Surroundings(transport, CLOCK, webhooks=False, identity="second"))
        service = AgentService("127.0.0.1", port, (f"https://127.0.0.1:{port}",))
        replica = Hub(second, replace(federation, agents=service))
        stop = asyncio.Event()
        running = asyncio.create_task(second.run(stop))
        try:
            store = IdentityStore(world.workers["east"].client, SYSTEM)
            identity = await store.load()
            await store.save(replace(identity, hubs=(*identity.hubs, f"https://127.0.0.1:{port}")))
            await until(lambda: len(world.services["east"].linked) == 2, "both are linked")
            # The agent knows of a link a moment before the hub does, which still answers the connection.
            await until(lambda: replica.door.links.current("east") is not None, "the new replica knows it, too")
            answer = await replica.door.transport("east").request(Request("GET", "/api/v1/namespaces/ns"))
            assert answer.status == 200
            await answer.close()
        finally:
            stop.set()
            await running
