"""The fence in a whole federation on virtual time: who may run a job while a worker is out of contact."""

import asyncio
from datetime import timedelta

from tests.faults import script, virtual_loop
from tests.faults.model import MANAGER, runs
from tests.faults.script import WORKERS, Script
from tests.faults.world import NAMESPACE, World, submitted
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS, LEASES, MULTIKUEUE_CLUSTERS
from worker_agent.engine import fencing
from worker_agent.kube.client import PatchType

LOST = timedelta(seconds=60)


def federation(test, *, keep, dispatcher="fedhub.dev/capacity-aware"):
    """Runs ``test(world)`` on a federation whose programs work."""

    async def run():
        told = Script(1, (), dispatcher, keep, {}, dict.fromkeys(script.PROGRAMS, 0.0), LOST)
        world = World(told)
        for program in script.PROGRAMS:
            world.start(program)
        try:
            await asyncio.sleep(10)
            await test(world)
            world.check_alive()
        finally:
            await world.close()
        assert world.model.violations == []

    virtual_loop.run(run())


async def started(world, name="train", *, seconds=900.0):
    """A job that runs; returns its cluster and the other one."""
    await world.clients[MANAGER].create(JOBS, submitted(name, cpu=1, seconds=seconds, priority=0), NAMESPACE)
    await asyncio.sleep(5)
    (place,) = places(world, name)
    return place, next(other for other in WORKERS if other != place)


def places(world, name="train"):
    found = {cluster: world.stored(cluster, "jobs", Key(NAMESPACE, name)) for cluster in WORKERS}
    return [cluster for cluster, job in found.items() if job is not None and runs(job)]


def fenced(world, cluster):
    key = f"{cluster}"
    found = world.servers[MANAGER].core.state.get("kueue.x-k8s.io/multikueueclusters", "", key).document()
    return [c["reason"] for c in found["status"]["conditions"] if c["type"] == names.FENCED]


def test_an_agent_confirms_the_hubs_term():
    async def story(world):
        await asyncio.sleep(20)
        assert fenced(world, "w1") == ["AgentWatches"]

    federation(story, keep=False)


def test_a_worker_without_an_agent_says_that_it_is_not_fenced():
    async def story(world):
        await world.kill("agent-w1")
        lease = world.servers["w1"].core.state.get(
            "coordination.k8s.io/leases", "kueue-system", fencing.lease_name("multikueue")
        )
        assert lease is not None
        await world.kill("hub")
        world.start("hub")
        await asyncio.sleep(30)
        assert fenced(world, "w1") == ["NoAgent"]

    federation(story, keep=False)


def test_with_stop_a_job_ends_there_before_it_starts_elsewhere():
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].cut()
        await asyncio.sleep(30)
        assert places(world) == []
        await asyncio.sleep(60)
        assert places(world) == [other]

    federation(story, keep=False)


def test_with_keep_a_job_goes_on_for_as_long_as_its_worker_is_lost():
    async def story(world):
        place, _ = await started(world)
        world.lines[f"hub>{place}"].cut()
        await asyncio.sleep(600)
        assert places(world) == [place]

    federation(story, keep=True)


def test_a_worker_declared_lost_gives_its_jobs_to_others():
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].cut()
        # Its machines are gone: nothing runs there any more.
        await world.kill(f"agent-{place}")
        await world.clients[place].delete(JOBS, "train", NAMESPACE)
        await asyncio.sleep(60)
        assert places(world) == []
        body = {"metadata": {"annotations": {names.DECLARED_LOST_ANNOTATION: "2026-01-01T00:00:00Z"}}}
        await world.clients[MANAGER].patch(MULTIKUEUE_CLUSTERS, place, "", body, patch_type=PatchType.MERGE)
        await asyncio.sleep(20)
        assert places(world) == [other]

    federation(story, keep=True)


def test_what_an_earlier_leader_sent_is_not_started():
    async def story(world):
        place, other = await started(world)
        late = await _copy_of(world, place, other)
        await asyncio.sleep(30)
        found = world.stored(other, "jobs", Key(NAMESPACE, "late"))
        assert late is not None
        assert found is None or value_at(found, "spec.suspend", False)

    federation(story, keep=True)


async def _copy_of(world, place, other):
    """A job of an earlier term arrives at the other worker."""
    job = submitted("late", cpu=1, seconds=900.0, priority=0)
    job["spec"].pop("managedBy")
    job["metadata"]["labels"][names.MULTIKUEUE_ORIGIN_LABEL] = "multikueue"
    job["metadata"]["annotations"] = {names.DISPATCH_TERM_ANNOTATION: "0"}
    lease = await world.clients[other].get(LEASES, fencing.lease_name("multikueue"), "kueue-system")
    assert lease
    job["metadata"]["annotations"][names.DISPATCH_TERM_ANNOTATION] = "99"
    return await world.clients[other].create(JOBS, job, NAMESPACE)


def test_a_removed_cluster_is_cleared_before_its_jobs_go_elsewhere():
    async def story(world):
        place, other = await started(world)
        await world.clients[MANAGER].delete(MULTIKUEUE_CLUSTERS, place)
        await asyncio.sleep(30)
        assert places(world) == [other]
        assert world.ours(place) == []

    federation(story, keep=True)
