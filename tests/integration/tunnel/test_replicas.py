"""Several replicas of the hub behind one address: agents hold a link to each, and the one that leads uses its own."""

import time
from dataclasses import replace

import pytest

from hub.app import enrolling
from tests.balancer import Balancer
from tests.integration.federation.world import finish_job, is_complete, job, runs_on, until
from tests.integration.tunnel.replicas import ReplicatedFederation, replicated
from tests.integration.tunnel.world import SYSTEM
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.kube.transport import Request
from worker_agent.tunnel import joining
from worker_agent.tunnel.identity import IdentityStore

FAIL_OVER_SECONDS = 60.0
"""It takes two or three on a machine with time for us."""


async def status(world: ReplicatedFederation, replica: str, path: str) -> int:
    """Of a request that this replica sends to the worker."""
    answer = await world.hubs[replica].door.transport("east").request(Request("GET", path))
    await answer.close()
    return answer.status


async def uses_link_to(world: ReplicatedFederation, replica: str) -> bool:
    """Whether the cluster is Active, and by whose link."""
    active = await world.active("east")
    return active.get("status") == "True" and active["message"].endswith(f"holds to {replica}")


def failed(world: ReplicatedFederation, replica: str) -> float:
    registry = world.hubs[replica].metrics.registry
    return registry.get_sample_value("fedhub_tunnel_requests_total", {"agent": "east", "code": "failed"}) or 0.0


async def test_another_replica_takes_over_and_every_job_runs_once():
    async with replicated("a", "b", "c", east=4) as world:
        await until(lambda: uses_link_to(world, "a"), "the cluster says which link is used")
        await world.manager.create(job("before"))
        await until(lambda: runs_on(world, "before"), "a job runs")
        await until(lambda: world.linked("east") == {"a", "b", "c"}, "the agent holds a link to every replica")
        assert [name for name in "bc" if world.hubs[name].clients.connected()] == []
        killed = time.monotonic()
        await world.kill("a")
        await world.manager.create(job("after"))
        await until(lambda: runs_on(world, "after"), "the next job runs")
        seconds = time.monotonic() - killed
        leader = world.leader()
        print(f"next job {seconds:.1f} s after the leader was killed, {world.balancer.connections} dials")
        assert seconds < FAIL_OVER_SECONDS
        assert failed(world, leader) == 0
        await until(lambda: world.services["east"].leader == leader, "the agent knows the new leader")
        await until(lambda: uses_link_to(world, leader), "the cluster says that another link is used")
        for name in ("before", "after"):
            await finish_job(world.workers["east"], name)
        for name in ("before", "after"):
            await until(lambda name=name: is_complete(world.manager, name), f"{name} is complete")
        assert len(await world.manager.all(WORKLOADS)) == 2


@pytest.mark.embedded  # of the API servers it asks nothing that the others do not
async def test_agent_that_holds_no_link_yet_finds_the_leader():
    async with replicated("a", "b", east=4) as world:
        await world.stop("east")
        await world.kill("a")
        world.start_worker("east")
        await until(lambda: uses_link_to(world, "b"), "the worker is Active")


@pytest.mark.embedded  # of the API servers it asks nothing that the others do not
async def test_a_new_certificate_replaces_every_link_and_the_allow_list_holds_on_each():
    async with replicated("a", "b", east=4) as world:
        await until(lambda: world.linked("east") == {"a", "b"}, "the agent holds a link to every replica")
        before = {name: hub.door.links.current("east") for name, hub in world.hubs.items()}
        store = IdentityStore(world.workers["east"].client, SYSTEM)
        uid = await joining.cluster_uid(world.workers["east"].client)
        await store.save(await joining.renewed(await store.load(), uid))

        def replaced() -> bool:
            links = {name: hub.door.links.current("east") for name, hub in world.hubs.items()}
            assert None not in links.values()
            return all(links[name] is not before[name] for name in links)

        await until(replaced, "both links are new")
        assert [await status(world, name, "/api/v1/namespaces/ns") for name in "ab"] == [200, 200]
        assert [await status(world, name, "/api/v1/namespaces/ns/secrets") for name in "ab"] == [403, 403]
        assert [failed(world, name) for name in "ab"] == [0, 0]


@pytest.mark.embedded  # of the API servers it asks nothing that the others do not
async def test_a_withdrawn_agent_loses_every_link():
    async with replicated("a", "b", east=4) as world:
        await until(lambda: world.linked("east") == {"a", "b"}, "the agent holds a link to every replica")
        await enrolling.withdraw(world.manager.client, SYSTEM, "east")
        await until(lambda: not world.linked("east"), "no replica holds a link")


@pytest.mark.embedded  # of the API servers it asks nothing that the others do not
async def test_two_addresses_of_the_same_replicas_make_no_more_links():
    async with replicated("a", "b", east=4) as world:
        await until(lambda: world.linked("east") == {"a", "b"}, "the agent holds a link to every replica")
        before = {name: hub.door.links.current("east") for name, hub in world.hubs.items()}
        second = Balancer(ports=world.balancer.ports, in_turn=True)
        await second.start()
        try:
            store = IdentityStore(world.workers["east"].client, SYSTEM)
            identity = await store.load()
            await store.save(replace(identity, hubs=(*identity.hubs, f"https://127.0.0.1:{second.port}")))
            await until(lambda: second.connections > 3, "the second address is dialled")
        finally:
            await second.stop()
        assert {name: hub.door.links.current("east") for name, hub in world.hubs.items()} == before
