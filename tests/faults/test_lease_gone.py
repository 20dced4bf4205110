"""Somebody deletes a hub's Lease on a worker: one that is gone is one that is not renewed."""

import asyncio

import pytest

from hub.engine.fencing import FenceTiming
from tests.faults.test_fence import LOST, federation, places, started
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import LEASES
from worker_agent.engine import fencing
from worker_agent.kube.errors import ApiError

TIMING = FenceTiming.derived(LOST)
LEASE = TIMING.lease.total_seconds()
POLL = TIMING.poll.total_seconds()
NAME = fencing.lease_name("multikueue")
SPACE = "kueue-system"
STOPPING_SECONDS = 3.0


async def delete_lease(world, worker):
    await world.clients[worker].delete(LEASES, NAME, SPACE)


def lease_on(world, worker):
    found = world.servers[worker].core.state.get("coordination.k8s.io/leases", SPACE, NAME)
    return found and found.document()


def copy_on(world, worker):
    (copy,) = (each for each in world.all(worker, "workloads"))
    return copy


async def restart(world, program):
    await world.kill(program)
    world.start(program)


def test_a_job_that_stops_with_contact_stops_when_its_hub_is_lost_and_its_lease_deleted():
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].cut()
        await delete_lease(world, place)
        await asyncio.sleep(LEASE + POLL + STOPPING_SECONDS)
        assert places(world) == []
        await asyncio.sleep(LOST.total_seconds())
        assert places(world) == [other]

    federation(story, keep=False)


@pytest.mark.parametrize("after", [0.0, LEASE / 4])
def test_an_agent_that_starts_after_the_deletion_counts_afresh(after):
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].cut()
        await delete_lease(world, place)
        await asyncio.sleep(after)
        await restart(world, f"agent-{place}")
        await asyncio.sleep(LEASE - 2)
        assert places(world) == [place]
        await asyncio.sleep(POLL + 2 + STOPPING_SECONDS)
        assert places(world) == []
        await asyncio.sleep(LOST.total_seconds())
        assert places(world) == [other]

    federation(story, keep=False)


def test_a_copy_says_how_long_the_lease_is_that_it_stops_by():
    async def story(world):
        place, _ = await started(world)
        told = value_at(copy_on(world, place), "metadata.annotations", {})
        assert told[names.LEASE_SECONDS_ANNOTATION] == f"{LEASE:.0f}"

    federation(story, keep=False)


def test_what_stays_put_is_not_told_how_long_the_lease_is():
    async def story(world):
        place, _ = await started(world)
        assert names.LEASE_SECONDS_ANNOTATION not in copy_on(world, place)["metadata"]["annotations"]

    federation(story, keep=True)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_hub_in_contact_makes_its_lease_anew_and_nothing_is_hurt(restarted):
    async def story(world):
        place, _ = await started(world)
        for _ in range(5):
            await delete_lease(world, place)
            if restarted:
                await restart(world, f"agent-{place}")
            await asyncio.sleep(TIMING.renewal + 1)
            assert value_at(lease_on(world, place), "spec.leaseTransitions", 0) == 1
            await asyncio.sleep(2 * LEASE)
            assert places(world) == [place]
        copy = copy_on(world, place)
        assert value_at(copy, "spec.active", True)
        assert world.model.ran["train"] == {place}

    federation(story, keep=False)


def test_what_stays_put_goes_on_without_a_lease():
    async def story(world):
        place, _ = await started(world)
        world.lines[f"hub>{place}"].cut()
        await delete_lease(world, place)
        await asyncio.sleep(600)
        assert places(world) == [place]

    federation(story, keep=True)


def test_a_new_hub_takes_a_higher_term_where_the_lease_is_gone():
    async def story(world):
        place, _ = await started(world)
        await world.kill("hub")
        await delete_lease(world, place)
        world.start("hub")
        await asyncio.sleep(10)
        assert value_at(lease_on(world, place), "spec.leaseTransitions", 0) == 2
        await asyncio.sleep(2 * LEASE)
        assert places(world) == [place]

    federation(story, keep=False)


def test_a_lease_that_cannot_be_read_counts_as_not_renewed():
    async def story(world):
        place, _ = await started(world)
        world.lines[f"hub>{place}"].cut()
        forbid_reads_of_leases(world, place)
        await asyncio.sleep(LEASE + POLL + STOPPING_SECONDS)
        assert places(world) == []

    federation(story, keep=False)


def forbid_reads_of_leases(world, worker):
    line = world.lines[f"agent-{worker}>{worker}"]
    inner = line.request

    async def request(request):
        if "/leases" in request.path:
            raise ApiError(403, "Forbidden", "by test")
        return await inner(request)

    line.request = request


def test_a_copy_that_cannot_be_stopped_keeps_nobody_from_stopping_the_next():
    async def story(world):
        world.lines["hub>w2"].cut()
        await asyncio.sleep(1)
        for name in ("first", "second"):
            place, _ = await started(world, name)
            assert place == "w1"
        refused = {copy["metadata"]["name"] for copy in world.all(place, "workloads") if "first" in str(copy)}
        line = world.lines[f"agent-{place}>{place}"]
        inner = line.request

        async def request(request):
            if request.method == "PATCH" and any(f"{name}/status" in request.path for name in refused):
                raise ApiError(422, "Invalid", "by test")
            return await inner(request)

        line.request = request
        world.lines[f"hub>{place}"].cut()
        await asyncio.sleep(LEASE + POLL + STOPPING_SECONDS)
        assert (places(world, "first"), places(world, "second")) == ([place], [])
        line.request = inner
        await asyncio.sleep(POLL + STOPPING_SECONDS)
        assert places(world, "first") == []

    federation(story, keep=False)
