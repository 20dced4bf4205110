"""Jobs go from a manager to the workers where they fit, run there, and come home finished."""

from tests.integration.federation.world import finish_job, job, running, runs_on, until
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import JOBS, WORKLOADS


async def test_a_job_runs_on_the_one_worker_where_it_fits_and_comes_home_finished():
    async with running(small=2, big=8) as world:
        await world.manager.create(job("train", cpu=3))
        assert await until(lambda: runs_on(world, "train"), "the job runs somewhere") == "big"
        await finish_job(world.workers["big"], "train")
        await until(lambda: is_complete(world, "train"), "the manager's job is complete")
        await until(lambda: nothing_left(world), "the worker is cleaned up")


async def is_complete(world, name):
    found = await world.manager.get(JOBS, name)
    return any(c["type"] == "Complete" and c["status"] == "True" for c in value_at(found, "status.conditions", []))


async def nothing_left(world):
    return not any([await cluster.all(JOBS) + await cluster.all(WORKLOADS) for cluster in world.workers.values()])
