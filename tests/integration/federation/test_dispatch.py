"""Jobs go from a manager to the workers where they fit, run there, and come home finished."""

from collections import Counter

import pytest

from tests import cluster_choice
from tests.integration.federation.world import (
    finish_job,
    is_complete,
    job,
    running,
    runs_on,
    until,
    workload_of,
)
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import CLUSTER_QUEUES, EVENTS, JOBS, LOCAL_QUEUES, MULTIKUEUE_CONFIGS, WORKLOADS


async def test_a_job_runs_on_the_one_worker_where_it_fits_and_comes_home_finished():
    async with running(small=2, big=8) as world:
        await world.manager.create(job("train", cpu=3))
        assert await until(lambda: runs_on(world, "train"), "the job runs somewhere") == "big"
        found = await until(lambda: workload_of(world, "train"), "there is a workload")
        message = dispatched(found)["message"]
        assert message.startswith("big: fits now in default; small: impossible: ")
        await finish_job(world.workers["big"], "train")
        await until(lambda: is_complete(world.manager, "train"), "the manager's job is complete")
        await until(lambda: nothing_left(world), "the worker is cleaned up")


async def test_jobs_fill_the_workers_by_what_fits_and_no_copy_is_wasted():
    async with running(a=4, b=8) as world:
        # What fits a worker that has not reported yet is sent to the other, waits there, and moves: a copy more.
        for worker in world.workers:
            await until(
                lambda w=worker: hub_knows(world, w, "clustercapacities", 1), f"the hub has the report of {worker}"
            )
        await world.manager.create(*[job(f"train-{number}", cpu=2) for number in range(6)])
        places = [await until(lambda n=n: runs_on(world, f"train-{n}"), f"job {n} runs") for n in range(6)]
        assert Counter(places) == {"a": 2, "b": 4}
        assert created_copies(world) == 6


@pytest.mark.skipif(cluster_choice.chosen() == cluster_choice.OLDEST, reason="managers before 1.32 start no such Job")
async def test_a_job_that_fits_is_nominated_in_the_write_that_gives_it_quota():
    async with running(a=4, b=8) as world:
        await world.manager.create(job("first", cpu=2))
        await until(lambda: local_job_started(world, "first"), "the queues are active")
        seen = []
        world.hub.objects.workloads.add_handler(lambda event: seen.append(event.new))
        await world.manager.create(job("second", cpu=2))
        await until(lambda: local_job_started(world, "second"), "the manager's job is started")
        of_second = [found for found in seen if found.metadata.name.startswith("job-second")]
        with_quota = next(found for found in of_second if found.is_true(names.QUOTA_RESERVED))
        assert with_quota.status.nominated_cluster_names
        assert not with_quota.status.cluster_name


async def test_a_job_that_fits_nowhere_is_not_sent_anywhere_and_says_why():
    async with running(a=4, b=4) as world:
        await world.manager.create(job("train", cpu=6))
        found = await until(lambda: judged(world, "train"), "the hub has judged it")
        assert dispatched(found)["reason"] == "NoCluster"
        assert "a: impossible" in dispatched(found)["message"]
        assert "b: impossible" in dispatched(found)["message"]
        assert created_copies(world) == 0


async def test_a_waiting_job_starts_where_room_appears():
    async with running(a=4, b=4) as world:
        await world.manager.create(job("first", cpu=3), job("second", cpu=3))
        places = {name: await until(lambda n=name: runs_on(world, n), f"{name} runs") for name in ("first", "second")}
        assert set(places.values()) == {"a", "b"}
        # Quota is free on the manager (8 - 6 = 2), but no worker has two cpus left.
        await world.manager.create(job("third", cpu=2))
        await until(lambda: judged(world, "third"), "the hub has judged it")
        assert await runs_on(world, "third") == ""
        await finish_job(world.workers[places["second"]], "second")
        assert await until(lambda: runs_on(world, "third"), "the third runs") == places["second"]


async def test_a_worker_that_says_no_is_left_for_the_next():
    async with running(a=8, b=4) as world:
        await world.manager.create(job("warm", cpu=1))
        await until(lambda: runs_on(world, "warm"), "the hub knows the workers")
        # The queue stops between the hub's decision and the worker's.
        await world.workers["a"].patch(CLUSTER_QUEUES, "cq", {"spec": {"stopPolicy": "Hold"}})
        await world.manager.create(job("train", cpu=2))
        assert await until(lambda: runs_on(world, "train"), "the job runs") == "b"


async def test_a_worker_without_the_local_queue_is_passed_over():
    async with running(a=8, b=4) as world:
        await world.workers["a"].client.delete(LOCAL_QUEUES, "lq", "ns")
        await until(lambda: hub_knows(world, "a", "localqueues", 0), "the hub has noticed")
        await world.manager.create(job("train", cpu=2))
        assert await until(lambda: runs_on(world, "train"), "the job runs") == "b"
        found = await workload_of(world, "train")
        assert "a: LocalQueue ns/lq does not exist there" in dispatched(found)["message"]


async def test_deleting_the_job_takes_its_copy_along():
    async with running(a=4) as world:
        await world.manager.create(job("train", cpu=2))
        await until(lambda: runs_on(world, "train"), "the job runs")
        await world.manager.client.delete(JOBS, "train", "ns")
        await until(lambda: nothing_left(world), "the worker is cleaned up")


async def test_a_job_leaves_a_cluster_that_left_the_configuration_before_it_runs_elsewhere():
    async with running(a=4, b=4) as world:
        await world.manager.create(job("train", cpu=2))
        old = await until(lambda: runs_on(world, "train"), "the job runs")
        new = "b" if old == "a" else "a"
        counts = []

        async def moved():
            # The new one first: what is there can only have come when the other was gone.
            held = [name for name in (new, old) if await world.workers[name].get(JOBS, "train") is not None]
            counts.append(len(held))
            return held == [new] and await runs_on(world, "train") == new

        await world.manager.patch(MULTIKUEUE_CONFIGS, "all", {"spec": {"clusters": [new]}})
        await until(moved, "the job runs elsewhere")
        assert max(counts) == 1
        assert not await world.workers[old].all(WORKLOADS)


async def test_a_job_of_somebody_else_in_the_way_is_told_on_the_workload():
    async with running(a=4) as world:
        other = job("train", cpu=1)
        del other["metadata"]["labels"]
        await world.workers["a"].create(other)
        await world.manager.create(job("train", cpu=2))
        (warning,) = await until(lambda: warnings_of(world), "the user is told")
        assert warning["reason"] == "MultiKueue"
        assert warning["note"].startswith("remote object is not owned by MultiKueue: ")
        assert warning["note"].endswith('on Job "ns/train"')


async def warnings_of(world):
    found = await world.manager.all(EVENTS)
    return [event for event in found if event["type"] == "Warning" and event["regarding"]["kind"] == "Workload"]


async def nothing_left(world):
    return not any([await cluster.all(JOBS) + await cluster.all(WORKLOADS) for cluster in world.workers.values()])


async def judged(world, name):
    found = await workload_of(world, name)
    return found if found is not None and dispatched(found) else None


def dispatched(workload):
    conditions = value_at(workload, "status.conditions", [])
    return next((condition for condition in conditions if condition["type"] == names.DISPATCHED), None)


def hub_knows(world, worker, plural, count):
    link = world.hub.clients.link(worker)
    if link is None:
        return False
    return any(r.plural == plural and len(informer) == count for r, informer in link.watches.all() if informer.synced)


def created_copies(world):
    links = world.hub.clients.connected().values()
    return sum(link.client.writes["create", "workloads", ""] for link in links)


async def local_job_started(world, name):
    found = await world.manager.get(JOBS, name)
    return found is not None and not found["spec"]["suspend"]
