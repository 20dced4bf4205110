"""The agent ends at some moment and another one takes over: from objects alone it goes on where the first stopped."""

import pytest

from tests.integration.agent.world import world
from worker_agent.api.resource_type import JOBS, WORKLOADS


@pytest.fixture
async def idle(tmp_path):
    async with world(tmp_path) as made:
        yield made


async def test_reservation_is_known_after_a_restart_and_not_given_twice(idle):
    await idle.start_agent()
    await idle.queue()
    await idle.submit("first")
    await idle.started("first")
    await idle.kill_agent()
    await idle.start_agent()
    await idle.submit("second")
    await idle.condition("second", "QuotaReserved", "False", "WaitingForQuota")
    await idle.finish("first")
    await idle.started("second")


async def test_job_that_ended_meanwhile_frees_its_quota(idle):
    await idle.start_agent()
    await idle.queue()
    await idle.submit("first")
    await idle.started("first")
    await idle.submit("second")
    await idle.condition("second", "QuotaReserved", "False", "WaitingForQuota")
    await idle.kill_agent()
    await idle.finish("first")
    await idle.start_agent()
    await idle.condition("first", "Finished", "True", "Succeeded")
    await idle.started("second")


async def test_job_deleted_meanwhile_takes_its_workload_along(idle):
    await idle.start_agent()
    await idle.queue()
    await idle.submit("first")
    await idle.started("first")
    await idle.kill_agent()
    await idle.user.delete(JOBS, "first", "default")
    await idle.start_agent()

    async def gone():
        return await idle.all(WORKLOADS, "default") == []

    await idle.until(gone, "the workload goes")


async def test_graceful_stop_writes_the_last_events(idle):
    await idle.start_agent()
    await idle.queue()
    await idle.submit("one")
    await idle.started("one")
    await idle.stop_agent()
    assert await idle.events("Started")
    assert not await idle.events("CreatedWorkload"), "superfluous once the job has started"
