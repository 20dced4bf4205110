"""Copies on several workers at once: the first to be admitted wins, whoever had quota first; on virtual time."""

import asyncio

import pytest

from tests.faults.manifests import NAMESPACE
from tests.faults.model import MANAGER, is_true
from tests.faults.script import WORKERS
from tests.faults.test_connection_cases import INCREMENTAL, submit
from tests.faults.test_fence import ALL_AT_ONCE, federation, places
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ADMISSION_CHECKS, CLUSTER_QUEUES, WORKLOADS
from worker_agent.kube.client import PatchType

BY_HAND = {
    "apiVersion": ADMISSION_CHECKS.api_version,
    "kind": "AdmissionCheck",
    "metadata": {"name": "by-hand"},
    "spec": {"controllerName": "example.com/by-hand"},
}
ACTIVE = {
    "type": "Active",
    "status": "True",
    "reason": "Active",
    "message": "by test",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


async def held_by_a_check(world, worker):
    """The worker's queue admits nothing before somebody sets a check."""
    client = world.clients[worker]
    await client.create(ADMISSION_CHECKS, BY_HAND)
    body = {"status": {"conditions": [ACTIVE]}}
    await client.patch(ADMISSION_CHECKS, "by-hand", "", body, patch_type=PatchType.MERGE, subresource="status")
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": "by-hand"}]}}
    await client.patch(CLUSTER_QUEUES, "cq", "", {"spec": spec}, patch_type=PatchType.MERGE)


def copy_on(world, worker):
    name = world.workload_of("train")["metadata"]["name"]
    return world.stored(worker, "workloads", Key(NAMESPACE, name))


async def let_in(world, worker):
    workload = copy_on(world, worker)
    checks = [{**each, "state": "Ready"} for each in value_at(workload, "status.admissionChecks", [])]
    assert [each["name"] for each in checks] == ["by-hand"]
    name, body = workload["metadata"]["name"], {"status": {"admissionChecks": checks}}
    await world.clients[worker].patch(
        WORKLOADS, name, NAMESPACE, body, patch_type=PatchType.MERGE, subresource="status"
    )


@pytest.mark.parametrize("dispatcher", [ALL_AT_ONCE, INCREMENTAL])
@pytest.mark.parametrize("winner", WORKERS)
def test_quota_alone_does_not_win(winner, dispatcher):
    async def story(world):
        for worker in WORKERS:
            await held_by_a_check(world, worker)
        (loser,) = set(WORKERS) - {winner}
        await submit(world, "train")
        await asyncio.sleep(2)
        first = {worker: copy_on(world, worker)["metadata"]["uid"] for worker in WORKERS}
        await asyncio.sleep(10)
        assert {worker: copy_on(world, worker)["metadata"]["uid"] for worker in WORKERS} == first
        assert is_true(copy_on(world, loser), names.QUOTA_RESERVED)
        assert not is_true(world.workload_of("train"), names.ADMITTED)
        await let_in(world, winner)
        await asyncio.sleep(5)
        assert value_at(world.workload_of("train"), "status.clusterName") == winner
        assert places(world) == [winner]
        assert copy_on(world, loser) is None
        assert world.stored(MANAGER, "jobs", Key(NAMESPACE, "train")) is not None

    federation(story, keep=True, dispatcher=dispatcher)
