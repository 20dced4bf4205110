"""The fence in a whole federation on virtual time: who may run a job while a worker is out of contact."""

import asyncio
import itertools
from datetime import timedelta

import pytest

from tests.faults import script, virtual_loop
from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER, completed, is_true, runs
from tests.faults.script import WORKERS, Script
from tests.faults.world import World
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, JOBS, MULTIKUEUE_CLUSTERS, WORKLOADS
from worker_agent.controllers.fence import Fence
from worker_agent.engine import fencing
from worker_agent.kube.client import PatchType

LOST = timedelta(seconds=60)
ORIGIN = {names.MULTIKUEUE_ORIGIN_LABEL: "multikueue"}
STOPPED, GOING = ({"spec": {"stopPolicy": policy}} for policy in ("Hold", "None"))
ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"


def federation(test, *, keep, dispatcher="fedhub.dev/capacity-aware", elect=False):
    """Runs ``test(world)`` on a federation whose programs work; ``elect`` lets hubs choose who leads."""

    async def run():
        told = Script(1, (), dispatcher, keep, {}, dict.fromkeys(script.PROGRAMS, 0.0), LOST, elect=elect)
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


async def show_active(world, active, name="train"):
    """What the manager's Job tells of its pods when its worker goes away: nobody mirrors them from then on."""
    status = {"active": active, "ready": active}
    await world.clients[MANAGER].patch(
        JOBS, name, NAMESPACE, {"status": status}, patch_type=PatchType.MERGE, subresource="status"
    )


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


def test_only_what_the_last_leader_sent_is_started():
    async def story(world):
        await world.kill("hub")
        world.start("hub")
        await asyncio.sleep(20)
        await world.kill("hub")  # nobody tidies up now
        for name, term in (("early", "1"), ("late", "2")):
            await _send(world, "w1", name, term)
        await asyncio.sleep(30)
        for name in ("early", "late"):
            assert is_true(world.stored("w1", "workloads", Key(NAMESPACE, name)), names.ADMITTED)
        assert (places(world, "early"), places(world, "late")) == ([], ["w1"])

    federation(story, keep=True)


async def _send(world, worker, name, term, **also):
    """Copy and job arrive at the worker as a leader in this term sends them."""
    job = submitted(name, cpu=1, seconds=900.0, priority=0)
    del job["spec"]["managedBy"]
    stamped = {names.DISPATCH_TERM_ANNOTATION: term, **also}
    annotations = {**stamped, names.PREBUILT_WORKLOAD: name}
    job["metadata"] |= {"annotations": annotations, "labels": {"kueue.x-k8s.io/queue-name": "lq", **ORIGIN}}
    await world.clients[worker].create(JOBS, job, NAMESPACE)
    template = world.stored(worker, "jobs", Key(NAMESPACE, name))["spec"]["template"]
    labelled = {**template, "metadata": {**template["metadata"], "labels": {"batch.kubernetes.io/job-name": name}}}
    pod_set = {"name": "main", "count": 1, "template": labelled}
    copy = {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {"name": name, "labels": ORIGIN, "annotations": stamped},
        "spec": {"queueName": "lq", "podSets": [pod_set]},
    }
    await world.clients[worker].create(WORKLOADS, copy, NAMESPACE)


def test_a_leader_that_does_not_know_it_lost_starts_nothing_more():
    async def story(world):
        for worker in WORKERS:
            world.lines[f"hub>{worker}"].stall()  # what the first leader sends is still on its way
        await world.clients[MANAGER].create(JOBS, submitted("train", cpu=1, seconds=900.0, priority=0), NAMESPACE)
        await asyncio.sleep(3)
        assert places(world) == []
        world.start_another_hub("hub-2")
        await asyncio.sleep(20)
        (place,) = places(world)
        for worker in WORKERS:
            world.lines[f"hub>{worker}"].heal()
        await asyncio.sleep(60)
        assert places(world) == [place]
        job = world.stored(place, "jobs", Key(NAMESPACE, "train"))
        assert value_at(job, "metadata.annotations", {})[names.DISPATCH_TERM_ANNOTATION] == "2"

    federation(story, keep=True)


@pytest.mark.parametrize("dispatcher", ["fedhub.dev/capacity-aware", ALL_AT_ONCE])
def test_two_hubs_at_once_run_every_job_once(dispatcher):
    async def story(world):
        world.start_another_hub("hub-2")
        jobs = [f"job-{number}" for number in range(6)]
        for name in jobs:
            await world.clients[MANAGER].create(JOBS, submitted(name, cpu=2, seconds=5.0, priority=0), NAMESPACE)
            await asyncio.sleep(3)
        await asyncio.sleep(120)
        assert dict(world.model.completions) == dict.fromkeys(jobs, 1)
        assert all(completed(world.stored(MANAGER, "jobs", Key(NAMESPACE, name))) for name in jobs)

    federation(story, keep=True, dispatcher=dispatcher)


def test_a_removed_cluster_is_cleared_before_its_jobs_go_elsewhere():
    async def story(world):
        place, other = await started(world)
        await world.clients[MANAGER].delete(MULTIKUEUE_CLUSTERS, place)
        await asyncio.sleep(30)
        assert places(world) == [other]
        assert world.ours(place) == []

    federation(story, keep=True)


@pytest.mark.parametrize("keep", [True, False])
def test_a_workload_that_its_user_deletes_does_not_set_its_job_free_while_its_worker_is_out_of_contact(keep):
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].cut()
        await asyncio.sleep(1)
        await world.clients[MANAGER].delete(WORKLOADS, world.workload_of("train")["metadata"]["name"], NAMESPACE)
        await asyncio.sleep(120)
        assert places(world) == [place if keep else other]
        world.lines[f"hub>{place}"].heal()
        await asyncio.sleep(150)
        assert len(places(world)) == 1

    federation(story, keep=keep)


def test_a_workload_that_its_user_deletes_is_made_anew_once_its_job_has_stopped_elsewhere():
    async def story(world):
        await started(world)
        before = world.workload_of("train")["metadata"]
        await world.clients[MANAGER].delete(WORKLOADS, before["name"], NAMESPACE)
        await asyncio.sleep(4)
        assert world.workload_of("train")["metadata"]["uid"] != before["uid"]
        assert len(places(world)) == 1

    federation(story, keep=True)


def lease_reads(monkeypatch):
    """The instants of the agents' reads of the hub's lease from now on."""
    found, get = [], Fence._get

    async def seen(self, origin):
        found.append(self._clock.monotonic())
        return await get(self, origin)

    monkeypatch.setattr(Fence, "_get", seen)
    return found


def test_the_lease_is_read_once_for_a_start_and_then_once_a_poll(monkeypatch):
    async def story(world):
        reads = lease_reads(monkeypatch)
        await world.clients[MANAGER].create(JOBS, submitted("train", cpu=1, seconds=900.0, priority=0), NAMESPACE)
        await asyncio.sleep(1)
        assert len(places(world)) == len(reads) == 1
        await asyncio.sleep(60)
        gaps = [later - earlier for earlier, later in itertools.pairwise(reads)]
        assert len(gaps) >= 10
        assert max(gaps) <= fencing.DEFAULT_POLL_SECONDS

    federation(story, keep=False)


def test_the_lease_is_not_read_for_a_job_that_is_not_admitted(monkeypatch):
    async def story(world):
        reads = lease_reads(monkeypatch)
        await world.kill("hub")
        await world.clients["w1"].patch(CLUSTER_QUEUES, "cq", "", STOPPED, patch_type=PatchType.MERGE)
        await _send(world, "w1", "late", "1")
        await asyncio.sleep(5)
        assert reads == []
        await world.clients["w1"].patch(CLUSTER_QUEUES, "cq", "", GOING, patch_type=PatchType.MERGE)
        await asyncio.sleep(5)
        assert (places(world, "late"), len(reads)) == (["w1"], 1)

    federation(story, keep=True)


def test_a_lease_is_as_old_as_a_watch_knows_it_to_be_however_long_nobody_has_read_it():
    async def story(world):
        await world.kill("hub")
        await asyncio.sleep(60)
        await _send(world, "w1", "late", "1", **{names.ON_CONTACT_LOST_ANNOTATION: names.STOP_ON_CONTACT_LOST})
        await asyncio.sleep(10)
        assert places(world, "late") == []
        copy = world.stored("w1", "workloads", Key(NAMESPACE, "late"))
        assert copy["spec"]["active"] is False

    federation(story, keep=False)


def test_a_copy_that_is_told_to_stop_when_it_holds_quota_already_is_stopped_too():
    async def story(world):
        await world.kill("hub")
        await _send(world, "w1", "late", "1")
        await asyncio.sleep(5)
        assert places(world, "late") == ["w1"]
        body = {"metadata": {"annotations": {names.ON_CONTACT_LOST_ANNOTATION: names.STOP_ON_CONTACT_LOST}}}
        await world.clients["w1"].patch(WORKLOADS, "late", NAMESPACE, body, patch_type=PatchType.MERGE)
        await asyncio.sleep(60)
        assert places(world, "late") == []

    federation(story, keep=True)
