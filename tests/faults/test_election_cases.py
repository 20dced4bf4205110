"""Who leads among hubs, when names and leases are not what they should be: never two at once."""

import asyncio
import contextlib

import pytest

from hub.controllers.dispatch_term import LEASE_NAME
from tests.faults.federation import LEADERSHIP
from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER
from tests.faults.test_fence import federation, places
from worker_agent.api.resource_type import JOBS, LEASES
from worker_agent.kube.errors import NotFound


async def with_another(world, identity):
    """A second hub of that name; returns both."""
    first = world.hub
    world.identities["hub-2"] = identity
    world.start_another_hub("hub-2")
    return first, world.hub


async def leaders(hubs, seconds):
    """Who led last; at no time both."""
    for _ in range(int(seconds / 0.25)):
        leading = [hub for hub in hubs if hub.agent.election.is_leader]
        assert len(leading) <= 1
        await asyncio.sleep(0.25)
    return leading


async def delete(world, cluster, namespace, name):
    with contextlib.suppress(NotFound):
        await world.clients[cluster].delete(LEASES, name, namespace)


def test_of_two_hubs_with_one_name_one_leads():
    async def story(world):
        first, second = await with_another(world, "hub")
        assert await leaders((first, second), 30) == [first]
        world.lines["hub>manager"].stall()
        assert await leaders((first, second), 30) == [second]
        world.lines["hub>manager"].heal()
        await world.clients[MANAGER].create(JOBS, submitted("train", cpu=1, seconds=20.0, priority=0), NAMESPACE)
        assert second in await leaders((first, second), 15)
        assert len(places(world)) == 1
        await leaders((first, second), 60)
        assert dict(world.model.completions) == {"train": 1}

    federation(story, keep=False, elect=True)


@pytest.mark.parametrize("identity", ["hub", "hub-2"])
def test_a_lease_that_is_deleted_makes_no_second_leader(identity):
    async def story(world):
        hubs = await with_another(world, identity)
        await leaders(hubs, 10)
        for name in (LEADERSHIP[1], LEASE_NAME):
            for _ in range(5):
                await delete(world, MANAGER, "kueue-system", name)
                await leaders(hubs, 3.3)
        await leaders(hubs, 20)

    federation(story, keep=False, elect=True)
