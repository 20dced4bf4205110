"""Evictions on either side, and what is left or put back on workers, on virtual time.

Reports of users: B11, B22, B23, B24, B28, B25 (its variants) and B40 in this order.
"""

import asyncio
from dataclasses import dataclass

import pytest

from tests.faults.hand_driven import copy_of, told_of
from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER, completed, is_true, runs
from tests.faults.script import WORKERS
from tests.faults.test_connection_cases import set_active, submit
from tests.faults.test_fence import ALL_AT_ONCE, federation, places, started
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, JOBS, WORKLOADS
from worker_agent.kube.client import PatchType

EXTERNAL = "example.com/dispatcher"
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences")


def condition(workload, type_):
    return next(c for c in value_at(workload, "status.conditions", []) if c["type"] == type_)


async def local_job(world, worker, name, *, cpu):
    """A job that a user of the worker runs there."""
    job = submitted(name, cpu=cpu, seconds=900.0, priority=0)
    del job["spec"]["managedBy"]
    await world.clients[worker].create(JOBS, job, NAMESPACE)


def test_an_eviction_ends_what_was_said_of_dispatch():
    async def story(world):
        await started(world)
        assert condition(world.workload_of("train"), names.DISPATCHED)["status"] == "True"
        await set_active(world, "train", False)
        await asyncio.sleep(10)
        told = condition(world.workload_of("train"), names.DISPATCHED)
        assert (told["status"], told["reason"]) == ("False", "Deactivated")
        assert told["message"].startswith("Previously: w")
        await set_active(world, "train", True)
        await asyncio.sleep(10)
        assert condition(world.workload_of("train"), names.DISPATCHED)["status"] == "True"

    federation(story, keep=True)


@pytest.mark.parametrize("dispatcher", ["fedhub.dev/capacity-aware", ALL_AT_ONCE])
def test_a_job_evicted_by_its_worker_may_run_on_another(dispatcher):
    async def story(world):
        place, other = await started(world)
        said = told_of(world, Said.by)
        pointer = world.workload_of("train")["metadata"]["name"]
        for resource, name, namespace, spec in (
            (CLUSTER_QUEUES, "cq", "", {"stopPolicy": "Hold"}),
            (WORKLOADS, pointer, NAMESPACE, {"active": False}),
        ):
            await world.clients[place].patch(resource, name, namespace, {"spec": spec}, patch_type=PatchType.MERGE)
        longest = await longest_admitted_by_nobody(world, 120)
        assert places(world) == [other]
        assert is_true(world.workload_of("train"), names.ADMITTED)
        assert longest < 3
        retry = next(at for at, each in enumerate(said) if each.check == "Retry")
        evicted = next(at for at, each in enumerate(said) if each.evicted)
        freed = next(at for at, each in enumerate(said) if not each.has_quota)
        assert retry <= evicted < freed
        assert said[-1] == Said("Ready", evicted=False, has_quota=True, admitted=True)
        assert not any(each.evicted and each.admitted for each in said)

    federation(story, keep=True, dispatcher=dispatcher)


async def stop_queue(world, cluster, policy):
    body = {"spec": {"stopPolicy": policy}}
    await world.clients[cluster].patch(CLUSTER_QUEUES, "cq", "", body, patch_type=PatchType.MERGE)


def test_an_eviction_runs_its_course_although_the_queue_of_the_manager_is_held():
    """The quota is not free while pods run, and the cluster is forgotten with it; else the job would wait for ever."""

    async def story(world):
        place, _ = await started(world)
        await stop_queue(world, MANAGER, "Hold")
        await stop_queue(world, place, "HoldAndDrain")
        for _ in range(50):
            await asyncio.sleep(0.1)
            workload = world.workload_of("train")
            assert is_true(workload, names.QUOTA_RESERVED) or places(world) == []
        assert not is_true(workload, names.QUOTA_RESERVED)
        assert not value_at(workload, "status.clusterName", "")
        for cluster in (MANAGER, place):
            await stop_queue(world, cluster, "None")
        await asyncio.sleep(10)
        assert len(places(world)) == 1

    federation(story, keep=True)


@dataclass(frozen=True)
class Said:
    """What the manager's Workload says of itself."""

    check: str
    evicted: bool
    has_quota: bool
    admitted: bool

    @classmethod
    def by(cls, workload):
        conditions = (is_true(workload, type_) for type_ in (names.EVICTED, names.QUOTA_RESERVED, names.ADMITTED))
        return cls(value_at(workload, "status.admissionChecks", [{}])[0].get("state"), *conditions)


async def longest_admitted_by_nobody(world, seconds, name="train"):
    """For how long the manager's Workload was admitted while no worker had admitted a copy."""
    longest = now = 0.0
    for _ in range(int(seconds / 0.5)):
        await asyncio.sleep(0.5)
        copies = [copy_of(world, worker, name) for worker in WORKERS]
        here = is_true(world.workload_of(name), names.ADMITTED)
        now = now + 0.5 if here and not any(copy and is_true(copy, names.ADMITTED) for copy in copies) else 0.0
        longest = max(longest, now)
    return longest


def test_a_preempted_job_ends_before_the_other_gets_its_quota():
    async def story(world):
        for name in ("low-1", "low-2"):
            await submit(world, name, cpu=4)
        await asyncio.sleep(10)
        urgent = submitted("high", cpu=4, seconds=900.0, priority=100)
        await world.clients[MANAGER].create(JOBS, urgent, NAMESPACE)
        for _ in range(300):
            await asyncio.sleep(0.1)
            high = world.workload_of("high")
            running = sum(bool(places(world, name)) for name in ("low-1", "low-2"))
            assert high is None or not is_true(high, names.QUOTA_RESERVED) or running == 1
        assert len(places(world, "high")) == 1

    federation(story, keep=True)


def test_a_job_made_larger_waits_for_quota_of_its_new_size():
    async def story(world):
        await submit(world, "other", cpu=4)
        await started(world)
        await asyncio.sleep(5)
        body = {"spec": {"parallelism": 8, "completions": 8}}
        with_more = world.clients[MANAGER].patch(JOBS, "train", NAMESPACE, body, patch_type=PatchType.MERGE)
        await asyncio.gather(with_more, return_exceptions=True)
        for _ in range(300):
            await asyncio.sleep(0.1)
            held = [job for worker in WORKERS for job in world.all(worker, "jobs") if runs(job)]
            assert all(value_at(job, "spec.parallelism", 1) == 1 for job in held)

    federation(story, keep=True)


def test_what_comes_back_of_a_finished_job_is_removed_and_changes_nothing():
    async def story(world):
        await submit(world, "train", seconds=10.0)
        await asyncio.sleep(5)
        (place,) = places(world)
        pointer = Key(NAMESPACE, world.workload_of("train")["metadata"]["name"])
        old = [world.stored(place, "workloads", pointer), world.stored(place, "jobs", Key(NAMESPACE, "train"))]
        await asyncio.sleep(30)
        assert world.ours(place) == []
        before = world.workload_of("train")["metadata"]["resourceVersion"]
        await world.kill(f"agent-{place}")  # nothing runs them: the objects alone are back
        for resource, found in zip((WORKLOADS, JOBS), old, strict=True):
            metadata = {k: v for k, v in found["metadata"].items() if k not in OF_THE_SERVER}
            spec = {k: v for k, v in found["spec"].items() if k != "selector"}
            if resource is JOBS:
                spec["suspend"] = True
                spec["template"]["metadata"].pop("labels", None)
            body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
            await world.clients[place].create(resource, body, NAMESPACE)
        await asyncio.sleep(30)
        assert world.ours(place) == []
        assert world.workload_of("train")["metadata"]["resourceVersion"] == before
        assert completed(world.stored(MANAGER, "jobs", Key(NAMESPACE, "train")))

    federation(story, keep=True)


def test_a_job_whose_name_is_taken_in_one_cluster_runs_in_another():
    async def story(world):
        await local_job(world, "w1", "train", cpu=1)
        await asyncio.sleep(5)
        await submit(world, "train")
        await asyncio.sleep(300)
        assert places(world)[-1] == "w2"
        assert [each for each in world.ours("w1")] == []

    federation(story, keep=True)


@pytest.mark.parametrize("twist", ["restart", "evict"])
def test_a_copy_left_behind_an_outage_is_removed_after_it(twist):
    async def story(world):
        await local_job(world, "w1", "one", cpu=4)
        await local_job(world, "w2", "two", cpu=4)
        await asyncio.sleep(5)
        await submit(world, "train")
        await asyncio.sleep(10)
        assert len(world.ours("w1")) == 1
        world.lines["hub>w1"].cut()
        if twist == "evict":
            await set_active(world, "train", False)
        else:
            await world.clients[MANAGER].delete(JOBS, "train", NAMESPACE)
            await asyncio.sleep(5)
            await world.kill("hub")
            world.start("hub")
        await asyncio.sleep(30)
        world.lines["hub>w1"].heal()
        await asyncio.sleep(90)
        assert (world.ours("w1"), world.ours("w2")) == ([], [])

    federation(story, keep=True, dispatcher=ALL_AT_ONCE)


def test_an_outside_dispatcher_owns_its_nomination_again_after_an_eviction():
    async def story(world):
        await submit(world, "train")
        await asyncio.sleep(5)
        await nominate(world, "train", "w1")
        await asyncio.sleep(10)
        assert places(world) == ["w1"]
        assert not nominators(world, "train")
        await set_active(world, "train", False)
        await asyncio.sleep(20)
        assert not nominators(world, "train")
        await set_active(world, "train", True)
        await asyncio.sleep(10)
        assert not nominators(world, "train")
        await nominate(world, "train", "w2")
        await asyncio.sleep(20)
        assert places(world) == ["w2"]
        assert world.ours("w1") == []

    federation(story, keep=True, dispatcher=EXTERNAL)


def nominators(world, name):
    """Whose the nomination is; nobody's while there is none."""
    workload = world.workload_of(name)
    owners = [
        entry["manager"]
        for entry in workload["metadata"]["managedFields"]
        if "f:nominatedClusterNames" in entry["fieldsV1"].get("f:status", {})
    ]
    return owners or value_at(workload, "status.nominatedClusterNames", [])


async def nominate(world, name, cluster):
    """As another program does it: applied under its own name, without force."""
    workload = world.workload_of(name)["metadata"]["name"]
    body = {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {"name": workload, "namespace": NAMESPACE},
        "status": {"nominatedClusterNames": [cluster]},
    }
    await world.clients[MANAGER].apply(
        WORKLOADS, workload, NAMESPACE, body, field_manager="outside", force=False, subresource="status"
    )
