"""What takes minutes to days, and what must hold however often the agent is killed; on virtual time."""

import asyncio
import random

import pytest

from tests.integration.agent.test_preemption import priority_class
from tests.integration.agent.virtual import Cluster
from worker_agent.api.resource_type import WORKLOAD_PRIORITY_CLASSES
from worker_agent.kube.clock import Clock
from worker_agent.kube.faults import Fault, FaultPlan, FaultyTransport
from worker_agent.kube.transport import Request, Response

pytestmark = pytest.mark.looptime

FAULTS = {
    Fault.DELAY: 0.1,
    Fault.REFUSED: 0.03,
    Fault.LOST_ANSWER: 0.03,
    Fault.CUT: 0.03,
    Fault.CONFLICT: 0.03,
    Fault.GONE: 0.01,
    Fault.TOO_MANY: 0.01,
    Fault.SERVER_ERROR: 0.02,
    Fault.DUPLICATE: 0.03,
}


async def test_many_jobs_take_turns_in_a_small_queue():
    async with Cluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4")
        watching = asyncio.create_task(cluster.watch_cpu())
        for number in range(12):
            await cluster.submit(f"j{number}", cpu="2")
        jobs = await cluster.until_all_complete()
        watching.cancel()
    assert cluster.runs() == {j["metadata"]["uid"]: 1 for j in jobs}
    assert cluster.most_cpu == 4


class Refused(FaultyTransport):
    """Remembers what the server refused."""

    def __init__(self, before: FaultyTransport, clock: Clock) -> None:
        super().__init__(before, clock, FaultPlan())
        self.refused: list[tuple[str, str, int]] = []

    async def request(self, request: Request) -> Response:
        answer = await super().request(request)
        if answer.status >= 400 and request.method != "GET":
            self.refused.append((request.method, request.path, answer.status))
        return answer


async def test_a_preempted_job_costs_no_write_that_is_refused():
    """An API server takes no change of the template of a Job whose pods are still active."""
    async with Cluster() as cluster:
        cluster.agent_faults = seen = Refused(cluster.agent_faults, cluster.clock)
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4", preemption={"withinClusterQueue": "LowerPriority"})
        for name, value in (("low", 1), ("high", 100)):
            await cluster.client.create(WORKLOAD_PRIORITY_CLASSES, priority_class(name, value))
        await asyncio.sleep(1)
        await cluster.submit("low", "3", 100, {"kueue.x-k8s.io/priority-class": "low"})
        await asyncio.sleep(5)
        await cluster.submit("high", "3", 20, {"kueue.x-k8s.io/priority-class": "high"})
        await cluster.until_condition("low", "Requeued", "Preempted")
        await cluster.until_all_complete()
    assert seen.refused == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("faults", [{}, FAULTS], ids=["calm", "faulty"])
async def test_killed_agent_loses_nothing_and_gives_nothing_twice(seed, faults):
    chance = random.Random(seed)
    async with Cluster(seed=seed) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4")
        watching = asyncio.create_task(cluster.watch_cpu())
        cluster.agent_faults.plan.chances = faults
        for number in range(15):
            await cluster.submit(f"j{number}", cpu=str(chance.randrange(1, 4)), run_seconds=chance.randrange(4))
            if chance.random() < 0.5:
                await asyncio.sleep(chance.random())
                await cluster.kill_agent()
                cluster.start_agent()
        jobs = await cluster.until_all_complete()
        watching.cancel()
    assert cluster.runs() == {j["metadata"]["uid"]: 1 for j in jobs}
    assert cluster.most_cpu <= 4


async def test_pods_that_never_come_up_cost_the_place_and_back_off():
    strategy = {"backoff_base_seconds": 100, "backoff_limit_count": 2}
    waiting = {"timeout": "5m", "requeuing_strategy": strategy}
    async with Cluster(wait_for_pods_ready=waiting) as cluster:
        cluster.start_agent()
        await cluster.queue("4")
        await cluster.submit("stuck")
        await cluster.until_condition("stuck", "Evicted", "PodsReadyTimeout")
        evicted_at = asyncio.get_running_loop().time()
        assert 300 <= evicted_at < 303
        await cluster.until_condition("stuck", "Requeued", "BackoffFinished")
        assert 98 <= asyncio.get_running_loop().time() - evicted_at < 103
        deactivated = await cluster.until_condition("stuck", "Evicted", "DeactivatedDueToRequeuingLimitExceeded")
        assert "exceeding the maximum number of re-queuing retries" in deactivated["message"]
        workload = await cluster.workload("stuck")
    assert workload["spec"]["active"] is False
    assert "requeueState" not in workload["status"]


async def test_finished_workloads_go_after_their_retention():
    async with Cluster(object_retention_policies={"workloads": {"after_finished": "1h"}}) as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4")
        await cluster.submit("short")
        await cluster.until_condition("short", "Finished", "Succeeded")
        finished_at = asyncio.get_running_loop().time()
        async with asyncio.timeout(4000):
            while await cluster.workload("short"):  # noqa: ASYNC110 - time is virtual
                await asyncio.sleep(5)
        assert 3590 <= asyncio.get_running_loop().time() - finished_at <= 3610
        assert (await cluster.job("short"))["status"]["succeeded"] == 1
