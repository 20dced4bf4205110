"""Copies and their Workload kept in step, as users of multi-cluster queueing have missed it, on virtual time."""

import asyncio

import pytest

from tests.faults import hand_driven
from tests.faults.hand_driven import copy_of, creations, told_of
from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER, is_true, runs
from tests.faults.script import WORKERS
from tests.faults.test_connection_cases import DISPATCHERS, configure, submit
from tests.faults.test_eviction_cases import local_job
from tests.faults.test_fence import ALL_AT_ONCE, federation, places, started
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    JOBS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from worker_agent.api.timestamps import rfc3339
from worker_agent.kube.client import PatchType

PRIORITY = "kueue.x-k8s.io/priority-class"


def job_of(world, cluster, name="train"):
    return world.stored(cluster, "jobs", Key(NAMESPACE, name))


def identities(world, *workers):
    found = {worker: copy_of(world, worker)["metadata"] for worker in workers}
    return {worker: (metadata["uid"], metadata["creationTimestamp"]) for worker, metadata in found.items()}


async def waiting(world):
    """A job with a copy on each of two full workers."""
    for worker in WORKERS:
        await local_job(world, worker, f"local-{worker}", cpu=4)
    await asyncio.sleep(5)
    await submit(world, "train")
    await asyncio.sleep(10)
    assert all(copy_of(world, worker) for worker in WORKERS)


# A word that comes too early (B13)


def slow_starts(world, seconds):
    """Writes that start a job of the manager take so long."""
    line = world.lines["hub>manager"]
    send = line.request

    async def request(sent):
        if sent.method != "GET" and sent.path.endswith("/jobs/train") and b"suspend" in sent.body:
            await asyncio.sleep(seconds)
        return await send(sent)

    line.request = request


@pytest.mark.parametrize("seconds", [0.0, 5.0], ids=["started at once", "started late"])
def test_pods_told_of_before_the_job_here_is_started_are_told_of_here(seconds):
    async def story(world):
        await configure(world, "w1")
        await hand_driven.take_over(world, "w1")
        slow_starts(world, seconds)
        here_when_told = []

        async def start():
            here_when_told.append(runs(job_of(world, MANAGER)))
            client, merge = world.clients["w1"], PatchType.MERGE
            await client.patch(JOBS, "train", NAMESPACE, {"spec": {"suspend": False}}, patch_type=merge)
            status = {"active": 1, "ready": 1, "startTime": rfc3339(world.clock.now())}
            await client.patch(JOBS, "train", NAMESPACE, {"status": status}, patch_type=merge, subresource="status")

        def hear(kind, old, new):
            if kind == "jobs" and old is None:
                hand_driven.soon(0.02, start)

        hand_driven.on_commit(world, "w1", hear)
        await submit(world, "train")
        await asyncio.sleep(5)
        await hand_driven.say(world, "w1", names.ADMITTED)
        await asyncio.sleep(seconds + 10)
        assert here_when_told == [False] or not seconds
        assert value_at(job_of(world, MANAGER), "spec.suspend") is False
        assert job_of(world, MANAGER)["status"] == job_of(world, "w1")["status"]
        assert job_of(world, MANAGER)["status"]["active"] == 1

    federation(story, keep=True, dispatcher=ALL_AT_ONCE)


# A priority that changes (B14)


async def priority_classes(world):
    for client in world.clients.values():
        for name, value in (("low", 10), ("high", 1000)):
            body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": value}
            await client.create(WORKLOAD_PRIORITY_CLASSES, {**body, "metadata": {"name": name}})


async def relabel(world, class_name):
    body = {"metadata": {"labels": {PRIORITY: class_name}}}
    await world.clients[MANAGER].patch(JOBS, "train", NAMESPACE, body, patch_type=PatchType.MERGE)


async def of_class(world, class_name):
    job = submitted("train", cpu=1, seconds=900.0, priority=0)
    job["metadata"]["labels"][PRIORITY] = class_name
    await world.clients[MANAGER].create(JOBS, job, NAMESPACE)
    await asyncio.sleep(10)


def priority_of(workload):
    return value_at(workload, "spec.priority"), value_at(workload, "spec.priorityClassRef.name")


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
@pytest.mark.parametrize("runs_already", [False, True], ids=["waiting", "running"])
def test_a_new_priority_reaches_the_copies_where_they_stand(runs_already, dispatcher):
    async def story(world):
        await priority_classes(world)
        for worker in () if runs_already else WORKERS:
            await local_job(world, worker, f"local-{worker}", cpu=4)
        await asyncio.sleep(5)
        await of_class(world, "low")
        at = [worker for worker in WORKERS if copy_of(world, worker)]
        assert len(at) == 2 or runs_already or dispatcher == DISPATCHERS[0]
        assert places(world) == (at if runs_already else [])
        assert {priority_of(copy_of(world, worker)) for worker in at} == {(10, "low")}
        before, made = identities(world, *at), creations(world)
        await relabel(world, "high")
        await asyncio.sleep(5)
        assert {priority_of(copy_of(world, worker)) for worker in at} == {(1000, "high")}
        assert identities(world, *at) == before
        assert not made
        assert places(world) == (at if runs_already else [])

    federation(story, keep=True, dispatcher=dispatcher)


# What belongs to the worker (B16)


@pytest.mark.parametrize("runs_already", [False, True], ids=["waiting", "running"])
def test_a_gate_that_a_worker_puts_on_a_copy_stays_there(runs_already):
    async def story(world):
        made = creations(world)
        if runs_already:
            await started(world)
        else:
            await waiting(world)
        at = [worker for worker in WORKERS if copy_of(world, worker)]
        before = identities(world, *at)
        gates = [{"name": "example.com/quiet-hours"}]
        for worker in at:
            name = copy_of(world, worker)["metadata"]["name"]
            body = {"spec": {"preemptionGates": gates}}
            await world.clients[worker].patch(WORKLOADS, name, NAMESPACE, body, patch_type=PatchType.MERGE)
        await asyncio.sleep(30)
        assert identities(world, *at) == before
        assert [value_at(copy_of(world, worker), "spec.preemptionGates") for worker in at] == [gates for _ in at]
        assert {count for (_, kind, _), count in made.items() if kind == "workloads"} == {1}

    federation(story, keep=True, dispatcher=ALL_AT_ONCE)


def test_copies_that_their_workers_deactivate_are_not_made_anew_again_and_again():
    async def story(world):
        await waiting(world)
        made = creations(world)

        async def deactivate(worker):
            name = copy_of(world, worker)["metadata"]["name"]
            body = {"spec": {"active": False}}
            await world.clients[worker].patch(WORKLOADS, name, NAMESPACE, body, patch_type=PatchType.MERGE)

        for _ in range(120):
            for worker in WORKERS:
                copy = copy_of(world, worker)
                if copy and value_at(copy, "spec.active", True):
                    await deactivate(worker)
            await asyncio.sleep(0.25)
        assert sum(made.values()) <= len(WORKERS)
        assert places(world) == []

    federation(story, keep=True, dispatcher=ALL_AT_ONCE)


# A check beside the federation's (B20)


async def with_budget(world):
    """The manager's queue asks the check ``budget`` too, which only a test sets."""
    client, merge = world.clients[MANAGER], PatchType.MERGE
    check = {
        "apiVersion": ADMISSION_CHECKS.api_version,
        "kind": ADMISSION_CHECKS.kind,
        "metadata": {"name": "budget"},
        "spec": {"controllerName": "example.com/budget"},
    }
    await client.create(ADMISSION_CHECKS, check)
    now = rfc3339(world.clock.now())
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "by test", "lastTransitionTime": now}
    await client.patch(
        ADMISSION_CHECKS, "budget", "", {"status": {"conditions": [active]}}, patch_type=merge, subresource="status"
    )
    both = {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "mk"}, {"name": "budget"}]}}}
    await client.patch(CLUSTER_QUEUES, "cq", "", both, patch_type=merge)
    await asyncio.sleep(2)


async def set_budget(world, state):
    workload = world.workload_of("train")
    checks = value_at(workload, "status.admissionChecks", [])
    assert {check["name"] for check in checks} == {"mk", "budget"}
    changed = [{**each, "state": state, "message": "by test"} if each["name"] == "budget" else each for each in checks]
    await world.clients[MANAGER].patch(
        WORKLOADS,
        workload["metadata"]["name"],
        NAMESPACE,
        {"status": {"admissionChecks": changed}},
        patch_type=PatchType.MERGE,
        subresource="status",
    )


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_nothing_is_sent_until_every_other_check_agrees(dispatcher):
    async def story(world):
        await with_budget(world)
        made = creations(world)
        await submit(world, "train")
        await asyncio.sleep(20)
        assert is_true(world.workload_of("train"), names.QUOTA_RESERVED)
        assert not made
        await set_budget(world, "Ready")
        await asyncio.sleep(3)
        assert len(places(world)) == 1
        assert is_true(world.workload_of("train"), names.ADMITTED)

    federation(story, keep=True, dispatcher=dispatcher)


# Quota is not yet an admission (B21)


def test_the_first_copy_that_is_admitted_wins_not_the_first_with_quota():
    async def story(world):
        await hand_driven.take_over(world, *WORKERS)
        await submit(world, "train")
        await asyncio.sleep(5)
        before = identities(world, *WORKERS)
        await hand_driven.say(world, "w1")
        clusters = told_of(world, lambda workload: value_at(workload, "status.clusterName", ""))
        await asyncio.sleep(10)
        assert identities(world, *WORKERS) == before
        await hand_driven.say(world, "w2", names.ADMITTED)
        await asyncio.sleep(5)
        assert [cluster for cluster in clusters if cluster] == ["w2"]
        assert copy_of(world, "w1") is None
        assert identities(world, "w2") == {"w2": before["w2"]}
        assert (job_of(world, "w1"), job_of(world, "w2") is None) == (None, False)

    federation(story, keep=True, dispatcher=ALL_AT_ONCE)


# Writes


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_a_workload_is_nominated_by_the_write_that_reserves_its_quota(dispatcher):
    reserved = []

    async def story(world):
        told = world.servers[MANAGER].on_commit

        def observe(event):
            told(event)
            if event.store == "kueue.x-k8s.io/workloads" and event.new is not None:
                workload = event.new.document()
                if is_true(workload, names.QUOTA_RESERVED):
                    reserved.append(value_at(workload, "status.nominatedClusterNames", []))

        world.servers[MANAGER].on_commit = observe
        await started(world)

    federation(story, keep=False, dispatcher=dispatcher)
    assert reserved[0]
