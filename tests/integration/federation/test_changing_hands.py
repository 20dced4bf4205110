"""A worker's agent is taken away while the hub is connected: dispatch goes on as to a worker that never had one."""

import pytest

from tests.integration.federation import world
from tests.integration.federation.world import until
from worker_agent.api.document import get
from worker_agent.api.resource_type import CLUSTER_CAPACITIES, CUSTOM_RESOURCE_DEFINITIONS

DEFINITION = f"{CLUSTER_CAPACITIES.plural}.{CLUSTER_CAPACITIES.group}"


@pytest.mark.embedded
async def test_worker_whose_reports_are_no_longer_served_is_dispatched_to():
    async with world.running(only=4) as federation:
        await federation.manager.create(world.job("before", cpu=1))
        await until(lambda: world.runs_on(federation, "before"), "a job runs")
        await federation.stop("only")
        await federation.workers["only"].client.delete(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION)
        await federation.manager.create(world.job("after", cpu=1))

        async def sent():
            workload = await world.workload_of(federation, "after")
            clusters = get(workload, "status.nominatedClusterNames")
            return clusters or [name for name in [get(workload, "status.clusterName")] if name]

        assert await until(sent, "a job is sent to it") == ["only"]
