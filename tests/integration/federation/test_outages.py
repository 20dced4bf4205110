"""Hubs and workers that go away and come back: nothing is lost, nothing runs twice."""

from datetime import timedelta

from hub.engine.remote_group import SyncPolicy
from tests.integration.federation.world import (
    finish_job,
    is_complete,
    job,
    running,
    runs_on,
    until,
    workload_of,
)
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import JOBS, MULTIKUEUE_CLUSTERS, WORKLOADS


async def test_a_new_hub_goes_on_where_the_old_one_stopped():
    async with running(a=4, b=4) as world:
        await world.manager.create(job("runs", cpu=2))
        place = await until(lambda: runs_on(world, "runs"), "the job runs")
        await world.stop("hub")
        await world.manager.create(job("waits", cpu=4))
        await finish_job(world.workers[place], "runs")
        world.start_hub()
        await until(lambda: is_complete(world.manager, "runs"), "the finish is mirrored")
        await until(lambda: runs_on(world, "waits"), "the job of the meantime runs")


async def test_a_workload_deleted_while_no_hub_ran_is_collected():
    async with running(a=4, start_hub=False) as world:
        world.start_hub(gc_interval=0.2)
        await world.manager.create(job("train", cpu=2))
        await until(lambda: runs_on(world, "train"), "the job runs")
        await world.stop("hub")
        await world.manager.client.delete(JOBS, "train", "ns")
        found = await workload_of(world, "train")
        if found is not None:
            await world.manager.patch(WORKLOADS, found["metadata"]["name"], {"metadata": {"finalizers": None}})
        world.start_hub(gc_interval=0.2)
        await until(lambda: empty(world.workers["a"]), "the orphans are collected")


async def test_a_lost_worker_says_so_and_its_job_goes_on_after_contact():
    async with running(a=4) as world:
        await world.manager.create(job("train", cpu=2))
        await until(lambda: runs_on(world, "train"), "the job runs")
        world.workers["a"].switch.cut.set()
        await until(lambda: active(world, "a", "False"), "the cluster is inactive")
        await finish_job(world.workers["a"], "train")
        world.workers["a"].switch.cut.clear()
        world.hub.clients.entries["a"].contact = world.hub.clients.entries["a"].contact.with_new_configuration()
        world.hub.clusters.controller.enqueue("a")
        await until(lambda: is_complete(world.manager, "train"), "the finish comes through")


async def test_a_worker_lost_for_too_long_loses_the_job_to_another():
    async with running(a=4, b=4, start_hub=False) as world:
        await world.manager.create(on_contact_lost("Stop"))
        world.start_hub(sync=SyncPolicy(worker_lost_timeout=timedelta(seconds=1)))
        await world.manager.create(job("train", cpu=2))
        place = await until(lambda: runs_on(world, "train"), "the job runs")
        other = "b" if place == "a" else "a"
        world.workers[place].switch.cut.set()
        await until(lambda: is_unsuspended(world.workers[other], "train"), "the job runs elsewhere")


async def test_by_default_a_job_stays_with_its_lost_worker():
    async with running(a=4, b=4, start_hub=False) as world:
        world.start_hub(sync=SyncPolicy(worker_lost_timeout=timedelta(seconds=0.2)))
        await world.manager.create(job("train", cpu=2))
        place = await until(lambda: runs_on(world, "train"), "the job runs")
        other = world.workers["b" if place == "a" else "a"]
        world.workers[place].switch.cut.set()
        await until(lambda: active(world, place, "False"), "the cluster is inactive")
        await world.manager.create(job("next", cpu=1))
        await until(lambda: is_unsuspended(other, "next"), "the hub has gone on for a while")
        assert await other.get(JOBS, "train") is None


async def test_one_dead_worker_delays_no_other():
    async with running(a=4, b=4, start_hub=False) as world:
        world.workers["a"].switch.cut.set()
        world.start_hub()
        await world.manager.create(*[job(f"train-{number}", cpu=1) for number in range(4)])
        for number in range(4):
            assert await until(lambda n=number: runs_on(world, f"train-{n}"), f"job {number} runs") == "b"


def on_contact_lost(what):
    metadata = {"name": "default"}
    spec = {"onContactLost": what}
    return {"apiVersion": "fedhub.dev/v1alpha1", "kind": "DispatchPolicy", "metadata": metadata, "spec": spec}


async def empty(cluster):
    return not await cluster.all(JOBS) + await cluster.all(WORKLOADS)


async def active(world, name, status):
    found = await world.manager.get(MULTIKUEUE_CLUSTERS, name)
    return any(c["type"] == "Active" and c["status"] == status for c in value_at(found, "status.conditions", []))


async def is_unsuspended(cluster, name):
    found = await cluster.get(JOBS, name)
    return found is not None and not value_at(found, "spec.suspend", False)
