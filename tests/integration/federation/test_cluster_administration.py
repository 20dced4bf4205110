"""Workers taken out of a federation and back: cordon, drain, declare lost."""

import pytest

from hub.app import cluster_administration as administration
from hub.app.cluster_administration import Refused, UnknownCluster, View
from tests.integration.federation.world import Federation, finish_job, is_complete, job, running, runs_on, until
from worker_agent.api.resource_type import JOBS, MULTIKUEUE_CLUSTERS, WORKLOADS


async def view(world: Federation) -> View:
    return await View.read(world.manager.client)


async def active(world: Federation, name: str) -> bool:
    found = await world.manager.get(MULTIKUEUE_CLUSTERS, name)
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return any(each["type"] == "Active" and each["status"] == "True" for each in conditions)


async def test_drained_worker_gives_its_job_to_another():
    async with running(east=4, west=4) as world:
        for name in ("east", "west"):
            await until(lambda name=name: active(world, name), f"{name} is Active")
        await world.manager.create(job("train", cpu=2))
        first = await until(lambda: runs_on(world, "train"), "the job runs")
        now = await view(world)
        (resident,) = now.residents(first)
        other = ({"east", "west"} - {first}).pop()
        assert (resident.job, resident.runs, resident.elsewhere) == ("Job/train", True, (other,))
        assert await administration.cordon(now, first, cordoned=True)
        assert await administration.move(world.manager.client, first, resident)

        async def moved() -> bool:
            return await runs_on(world, "train") == other

        await until(moved, "the job runs elsewhere")
        await finish_job(world.workers[other], "train")
        await until(lambda: is_complete(world.manager, "train"), "it ends there")

        async def left() -> bool:
            return await world.workers[first].get(JOBS, "train") is None

        await until(left, "nothing of it stays where it was")
        assert (await view(world)).residents(first) == []


async def test_cordon_keeps_new_work_out_until_it_is_lifted():
    async with running(east=4) as world:
        await until(lambda: active(world, "east"), "the worker is Active")
        assert await administration.cordon(await view(world), "east", cordoned=True)
        assert not await administration.cordon(await view(world), "east", cordoned=True)
        await world.manager.create(job("train"))
        await until(lambda: world.manager.all(WORKLOADS), "the job is queued")

        async def says_cordoned() -> bool:
            (found,) = await world.manager.all(WORKLOADS)
            conditions = (found.get("status") or {}).get("conditions") or []
            return any("cordoned" in each["message"] for each in conditions)

        await until(says_cordoned, "the Workload says why it waits")
        assert await administration.cordon(await view(world), "east", cordoned=False)
        await until(lambda: runs_on(world, "train"), "it goes there at once")


async def test_move_leaves_alone_what_changed_meanwhile():
    async with running(east=4, west=4) as world:
        await until(lambda: active(world, "east"), "the worker is Active")
        await world.manager.create(job("train", cpu=2))
        first = await until(lambda: runs_on(world, "train"), "the job runs")
        (resident,) = (await view(world)).residents(first)
        other = ({"east", "west"} - {first}).pop()
        assert not await administration.move(world.manager.client, other, resident)


async def test_worker_in_contact_cannot_be_declared_lost():
    async with running(east=4) as world:
        await until(lambda: active(world, "east"), "the worker is Active")
        with pytest.raises(Refused, match="fedhub cluster drain east"):
            await administration.declare_lost(await view(world), "east")


async def test_unknown_worker_is_named_with_those_there_are():
    async with running(start_hub=False, east=4) as world:
        with pytest.raises(UnknownCluster, match="there are: east"):
            await administration.cordon(await view(world), "west", cordoned=True)
