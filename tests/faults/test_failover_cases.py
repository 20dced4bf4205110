"""Outages that users of multi-cluster queueing have met, on virtual time.

Their reports: B25, B37, B29, B43, B35 in this order (B34, B39 and B44 are in ``test_kind_cases``, B30 in
``test_remote_object_cases``).
"""

import asyncio
import json
from dataclasses import replace

import pytest

from tests.faults import hand_driven
from tests.faults.hand_driven import creations, told_of
from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER, is_true
from tests.faults.test_connection_cases import configure
from tests.faults.test_fence import ALL_AT_ONCE, federation, places, show_active, started
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, JOBS, WORKLOADS
from worker_agent.kube.client import PatchType


def test_what_was_deleted_during_an_outage_is_removed_after_it():
    async def story(world):
        place, _ = await started(world)
        world.lines[f"hub>{place}"].cut()
        await asyncio.sleep(5)
        await world.clients[MANAGER].delete(JOBS, "train", NAMESPACE)
        await asyncio.sleep(30)
        assert world.ours(place)
        world.lines[f"hub>{place}"].heal()
        await asyncio.sleep(60)
        assert world.ours(place) == []

    federation(story, keep=True)


@pytest.mark.parametrize("active", [0, 1])
def test_a_worker_that_comes_back_after_a_failover_loses_its_old_copy(active):
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].cut()
        await show_active(world, active)
        await asyncio.sleep(90)
        assert places(world) == [other]
        uid = world.stored(other, "jobs", Key(NAMESPACE, "train"))["metadata"]["uid"]
        world.lines[f"hub>{place}"].heal()
        await asyncio.sleep(150)  # the pause between attempts has grown by then
        assert world.ours(place) == []
        assert world.stored(other, "jobs", Key(NAMESPACE, "train"))["metadata"]["uid"] == uid

    federation(story, keep=False, dispatcher=ALL_AT_ONCE)


def test_a_rejected_check_removes_the_remote_objects_at_once():
    async def story(world):
        place, _ = await started(world)
        workload = world.workload_of("train")
        checks = [{**value_at(workload, "status.admissionChecks", [])[0], "state": "Rejected", "message": "by test"}]
        await world.clients[MANAGER].patch(
            WORKLOADS,
            workload["metadata"]["name"],
            NAMESPACE,
            {"status": {"admissionChecks": checks}},
            patch_type=PatchType.MERGE,
            subresource="status",
        )
        await asyncio.sleep(15)
        assert world.ours(place) == []
        assert value_at(world.workload_of("train"), "spec.active", True) is False

    federation(story, keep=True)


def test_another_managers_objects_are_left_alone():
    async def story(world):
        foreign = submitted("theirs", cpu=1, seconds=900.0, priority=0)
        foreign["spec"].pop("managedBy")
        foreign["metadata"]["labels"] = {names.MULTIKUEUE_ORIGIN_LABEL: "other"}
        for worker in ("w1", "w2"):
            await world.clients[worker].create(JOBS, foreign, NAMESPACE)
        await started(world)
        await asyncio.sleep(90)
        assert all(world.stored(worker, "jobs", Key(NAMESPACE, "theirs")) for worker in ("w1", "w2"))

    federation(story, keep=True)


@pytest.mark.parametrize("active", [0, 1])
def test_a_job_leaves_a_cluster_that_leaves_the_configuration(active):
    async def story(world):
        place, other = await started(world)
        await show_active(world, active)
        await configure(world, other)
        await asyncio.sleep(60)
        assert places(world) == [other]
        assert world.ours(place) == []

    federation(story, keep=True)


@pytest.mark.parametrize("active", [0, 1])
def test_a_job_out_of_contact_leaves_a_cluster_that_leaves_the_configuration_once_it_is_lost(active):
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].cut()
        await show_active(world, active)
        await configure(world, other)
        await asyncio.sleep(120)
        assert places(world) == [other]

    federation(story, keep=False)


@pytest.mark.parametrize("active", [0, 1])
def test_no_nomination_begins_before_an_eviction_out_of_contact_is_complete(active):
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].stall()
        await show_active(world, active)
        body = {"spec": {"active": False}}
        name = world.workload_of("train")["metadata"]["name"]
        await world.clients[MANAGER].patch(WORKLOADS, name, NAMESPACE, body, patch_type=PatchType.MERGE)
        await world.clients[MANAGER].patch(
            WORKLOADS, name, NAMESPACE, {"spec": {"active": True}}, patch_type=PatchType.MERGE
        )
        await asyncio.sleep(8)
        assert other not in places(world)
        world.lines[f"hub>{place}"].heal()
        await asyncio.sleep(40)
        assert len(places(world)) == 1

    federation(story, keep=True, dispatcher=ALL_AT_ONCE)


HELD_SECONDS = 10


@pytest.mark.parametrize("held", ["pods", "word"])
def test_no_nomination_begins_before_an_eviction_by_the_worker_is_complete(held):
    """Its pods take so long to stop, or the manager's Job tells of them for so long."""

    async def story(world):
        place, other = await started(world)
        pointer = world.workload_of("train")["metadata"]["name"]
        keeping = asyncio.create_task(keep_active(world, place if held == "pods" else MANAGER, HELD_SECONDS))
        made = creations(world)
        clusters = told_of(world, lambda workload: value_at(workload, "status.clusterName", ""))
        nominated = told_of(world, lambda workload: value_at(workload, "status.nominatedClusterNames", []))
        await fill(world, place)
        body = {"spec": {"active": False}}
        await world.clients[place].patch(WORKLOADS, pointer, NAMESPACE, body, patch_type=PatchType.MERGE)
        await asyncio.sleep(HELD_SECONDS - 1)
        assert is_true(world.workload_of("train"), names.EVICTED)
        assert (sum(made.values()), [each for each in nominated if each]) == (0, [])
        assert set(clusters) <= {place}
        await keeping
        await asyncio.sleep(60)
        assert places(world) == [other]
        assert [each for each in clusters if each != place] == ["", other]

    federation(story, keep=True, dispatcher=ALL_AT_ONCE)


async def keep_active(world, cluster, seconds):
    """For so long the cluster's Job tells of a pod, whatever is written to it."""
    if cluster == MANAGER:
        line = world.lines["hub>manager"]
        send = line.request

        async def request(sent):
            if sent.path.endswith("/jobs/train/status") and sent.method == "PATCH":
                body = json.loads(sent.body)
                body["status"] = {**body["status"], "active": 1, "ready": 1}
                sent = replace(sent, body=json.dumps(body).encode())
            return await send(sent)

        line.request = request
    else:
        world.players[cluster] = hand_driven.Idle()
    await asyncio.sleep(seconds)
    if cluster == MANAGER:
        line.request = send
    status = {"status": {"active": 0, "ready": 0}}
    client = world.clients[cluster]
    await client.patch(JOBS, "train", NAMESPACE, status, patch_type=PatchType.MERGE, subresource="status")


async def fill(world, worker):
    """Its queue takes nothing more in."""
    body = {"spec": {"stopPolicy": "Hold"}}
    await world.clients[worker].patch(CLUSTER_QUEUES, "cq", "", body, patch_type=PatchType.MERGE)


def test_a_new_leader_does_not_wait_long_for_a_worker_that_was_out_of_reach_before():
    async def story(world):
        place, other = await started(world)
        world.lines[f"hub>{place}"].stall()
        await until(lambda: is_told_unreachable(world, place), 900)
        await world.kill("hub")
        world.start("hub")
        await world.clients[MANAGER].create(JOBS, submitted("next", cpu=1, seconds=900.0, priority=0), NAMESPACE)
        assert await until(lambda: places(world, "next") == [other], 60) < 5

    federation(story, keep=True)


def is_told_unreachable(world, cluster):
    found = world.servers[MANAGER].core.state.get("kueue.x-k8s.io/multikueueclusters", "", cluster).document()
    return any(c["type"] == names.ACTIVE and c["status"] == "False" for c in found["status"]["conditions"])


async def until(condition, patience):
    """Seconds until the function is true."""
    began = asyncio.get_running_loop().time()
    while not condition():
        assert asyncio.get_running_loop().time() - began < patience, "did not come about"
        await asyncio.sleep(0.1)
    return asyncio.get_running_loop().time() - began
