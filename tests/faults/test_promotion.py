"""A leader dies while a worker is out of contact: who leads next counts that outage by what it saw itself.

Two replicas and a short election on virtual time. The model of the histories sees every commit: two running copies of
one job, or a job that ends twice, are violations.
"""

import asyncio

import pytest

from tests.faults.manifests import NAMESPACE
from tests.faults.model import MANAGER, completed
from tests.faults.script import WORKERS
from tests.faults.test_failover_cases import until
from tests.faults.test_fence import ALL_AT_ONCE, LOST, federation, places, started
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.kube.client import PatchType

JOB_SECONDS = 900.0
PROMOTION_SECONDS = 10
"""The lease of the election lasts 4 s."""
DISPATCHERS = ["fedhub.dev/capacity-aware", ALL_AT_ONCE]


def replicas(test, *, keep=False, dispatcher=DISPATCHERS[0]):
    """Runs ``test(world)`` on a federation of which ``hub`` leads and ``hub-2`` follows."""

    async def with_follower(world):
        world.start_another_hub("hub-2")
        await asyncio.sleep(5)
        await test(world)

    federation(with_follower, keep=keep, dispatcher=dispatcher, elect=True)


def out_of_reach(world, place, *hubs):
    for hub in hubs:
        world.lines[f"{hub}>{place}"].cut()


def back(world, place):
    for hub in ("hub", "hub-2"):
        world.lines[f"{hub}>{place}"].heal()


async def looked_at(world):
    """Something about the manager's Workload changes, so that whoever leads decides about it now."""
    name = world.workload_of("train")["metadata"]["name"]
    body = {"metadata": {"annotations": {"example.com/looked": "at"}}}
    await world.clients[MANAGER].patch(WORKLOADS, name, NAMESPACE, body, patch_type=PatchType.MERGE)


async def ends_once(world, place):
    """With the worker back, the job ends; nothing of it is left anywhere, and it ran once to its end."""
    back(world, place)
    await asyncio.sleep(JOB_SECONDS + 600)
    assert completed(world.stored(MANAGER, "jobs", Key(NAMESPACE, "train")))
    assert dict(world.model.completions) == {"train": 1}
    assert [world.ours(worker) for worker in WORKERS] == [[], []]


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
@pytest.mark.parametrize("out_seconds", [0, 20, 55])
def test_the_next_leader_counts_an_outage_from_when_it_saw_it(out_seconds, dispatcher):
    """The first one was about to give the worker up, or had just lost it."""

    async def story(world):
        place, other = await started(world, seconds=JOB_SECONDS)
        out_of_reach(world, place, "hub", "hub-2")
        await asyncio.sleep(out_seconds)
        await world.kill("hub")
        await asyncio.sleep(LOST.total_seconds())
        assert other not in places(world)  # what the first counted is worth nothing to the second
        assert await until(lambda: places(world) == [other], 2 * LOST.total_seconds()) > 0
        await ends_once(world, place)

    replicas(story, dispatcher=dispatcher)


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_a_follower_that_never_reached_the_worker_counts_from_its_promotion(dispatcher):
    async def story(world):
        place, other = await started(world, seconds=JOB_SECONDS)
        out_of_reach(world, place, "hub-2")
        await asyncio.sleep(3 * LOST.total_seconds())  # the leader is in contact all the time
        await world.kill("hub")
        promoted_within = await until(lambda: places(world) == [], LOST.total_seconds())
        assert promoted_within < LOST.total_seconds()  # its agent stops it: nobody renews
        assert await until(lambda: places(world) == [other], 2 * LOST.total_seconds()) > LOST.total_seconds() / 2
        await ends_once(world, place)

    replicas(story, dispatcher=dispatcher)


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_a_worker_that_is_back_before_its_time_gets_its_job_again(dispatcher):
    async def story(world):
        place, _ = await started(world, seconds=JOB_SECONDS)
        out_of_reach(world, place, "hub", "hub-2")
        await asyncio.sleep(5)
        await world.kill("hub")
        await asyncio.sleep(PROMOTION_SECONDS + LOST.total_seconds() / 2)
        await ends_once(world, place)

    replicas(story, dispatcher=dispatcher)


def test_with_keep_a_job_stays_with_its_lost_worker_whoever_leads():
    async def story(world):
        place, _ = await started(world, seconds=3 * JOB_SECONDS)
        out_of_reach(world, place, "hub", "hub-2")
        await asyncio.sleep(20)
        await world.kill("hub")
        await asyncio.sleep(JOB_SECONDS)
        assert places(world) == [place]
        back(world, place)
        await asyncio.sleep(2 * JOB_SECONDS + 600)
        assert dict(world.model.completions) == {"train": 1}

    replicas(story, keep=True)


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_a_wall_clock_that_is_set_makes_no_outage_longer_or_shorter(seconds, dispatcher):
    async def story(world):
        place, other = await started(world, seconds=JOB_SECONDS)
        out_of_reach(world, place, "hub", "hub-2")
        await world.kill("hub")
        await asyncio.sleep(PROMOTION_SECONDS)
        world.set_clock("hub-2", seconds)
        await looked_at(world)
        assert await until(lambda: places(world) == [other], 2 * LOST.total_seconds()) > LOST.total_seconds() / 2
        await ends_once(world, place)

    replicas(story, dispatcher=dispatcher)
