"""Real Kueue and ours in one federation, each way: dispatched, preempted, lost and back, finished, deleted.

Asked for by FEDHUB_TEST_KUEUE=1: building Kueue takes six CPU minutes, once, and a federation of three control planes
two to four minutes.
"""

from pathlib import Path

import pytest

from tests.realcluster import mixed_federation
from tests.realcluster.kueue import Kueue
from tests.realcluster.mixed_federation import FIRST, MANAGER, SECOND, MixedFederation, condition, job, until
from worker_agent.api.resource_type import JOBS, MULTIKUEUE_CLUSTERS

pytestmark = pytest.mark.timeout(1500)


async def test_our_hub_over_workers_that_run_kueue(tmp_path: Path, peer: Kueue) -> None:
    async with mixed_federation.started(tmp_path, peer) as world:
        for worker in (FIRST, SECOND):
            await world.change_hands(worker, to_kueue=True)
        await _lives(world)


async def test_our_agents_under_a_manager_that_runs_kueue(tmp_path: Path, peer: Kueue) -> None:
    async with mixed_federation.started(tmp_path, peer) as world:
        await world.change_hands(MANAGER, to_kueue=True)
        await _lives(world)


async def _lives(world: MixedFederation) -> None:
    await world.preemptible()
    await _dispatched_and_finished(world)
    await _evicted_by_a_local_job_of_its_worker(world)
    await _evicted_by_an_urgent_job_of_the_manager(world)
    await _worker_lost_and_back(world)
    await _deleted(world)


async def _dispatched_and_finished(world: MixedFederation) -> None:
    await world.submit(MANAGER, job("short", 10, on_manager=True))
    await until(lambda: world.runs_on("short"), "short runs on a worker")
    await world.finish("short")
    await until(lambda: world.complete("short"), "short is Complete on the manager")


async def _evicted_by_a_local_job_of_its_worker(world: MixedFederation) -> None:
    """It is dispatched anew and runs on the other worker."""
    await world.submit(MANAGER, job("meek", 60, on_manager=True))
    first = await until(lambda: world.runs_on("meek"), "meek runs on a worker")
    await world.submit(first, job("local", 60, on_manager=False, urgent=True))
    await until(lambda: world.running_pods(first, "local"), "the urgent local job runs")
    other = SECOND if first == FIRST else FIRST
    await until(lambda: world.running_pods(other, "meek"), "meek runs on the other worker")
    await until(lambda: _stopped_on(world, first, "meek"), f"meek has left {first}")


async def _evicted_by_an_urgent_job_of_the_manager(world: MixedFederation) -> None:
    await world.set_quota(MANAGER, 100)
    await world.submit(MANAGER, job("pushy", 60, on_manager=True, urgent=True))
    await until(lambda: world.runs_on("pushy"), "the urgent job runs")
    evicted = condition(await world.workload_of(MANAGER, "meek"), "Evicted")
    assert (evicted["status"], evicted["reason"]) == ("True", "Preempted")
    # Its quota is free, and the urgent one may start elsewhere, before its copy is gone from its worker.
    for worker in (FIRST, SECOND):
        await until(lambda worker=worker: _stopped_on(world, worker, "meek"), f"meek has left {worker}")
    await world.clients[MANAGER].delete(JOBS, "pushy", "training")
    await until(lambda: world.runs_on("meek"), "meek runs again")


async def _stopped_on(world: MixedFederation, worker: str, name: str) -> bool:
    return not await world.running_pods(worker, name)


async def _worker_lost_and_back(world: MixedFederation) -> None:
    """The job is kept where it is while the worker may come back, and ends there."""
    worker = await world.runs_on("meek")
    (before,) = await world.running_pods(worker, "meek")
    await world.lose(worker)
    await until(lambda: _connected(world, worker, "False"), f"{worker} is not connected")
    await world.give_back(worker)
    await until(lambda: _connected(world, worker, "True"), f"{worker} is connected again")
    (after,) = await world.running_pods(worker, "meek")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    await world.finish("meek")
    await until(lambda: world.complete("meek"), "meek is Complete on the manager")


async def _connected(world: MixedFederation, worker: str, status: str) -> bool:
    found = await world.get(MANAGER, MULTIKUEUE_CLUSTERS, worker)
    return bool(condition(found, "Active").get("status") == status)


async def _deleted(world: MixedFederation) -> None:
    await world.submit(MANAGER, job("gone", 10, on_manager=True))
    await until(lambda: world.runs_on("gone"), "gone runs on a worker")
    for cluster in (MANAGER, FIRST, SECOND):
        for found in await world.all(cluster, JOBS):
            if cluster == MANAGER or found["metadata"]["name"] == "local":
                await world.clients[cluster].delete(JOBS, found["metadata"]["name"], "training")
    await until(world.nothing_left, "no Job, Workload or pod is left anywhere")
