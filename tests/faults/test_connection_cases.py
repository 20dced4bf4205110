"""Workers that come, go and change while jobs wait or run, on virtual time.

Reports of users: B01, B02, B03, B06, B07, B08, B09, B33, B32, B42 in this order.
"""

import asyncio
import base64

import pytest

from tests.faults.hand_driven import creations
from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER, completed, is_true
from tests.faults.test_fence import ALL_AT_ONCE, federation, places, show_active, started
from tests.integration.federation.world import SYSTEM, kubeconfig
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    JOBS,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    SECRETS,
    WORKLOADS,
)
from worker_agent.kube.client import PatchType

INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
DISPATCHERS = ["fedhub.dev/capacity-aware", ALL_AT_ONCE, INCREMENTAL]


async def submit(world, name, *, cpu=1, seconds=900.0):
    await world.clients[MANAGER].create(JOBS, submitted(name, cpu=cpu, seconds=seconds, priority=0), NAMESPACE)


async def set_active(world, name, active):
    workload = world.workload_of(name)["metadata"]["name"]
    body = {"spec": {"active": active}}
    await world.clients[MANAGER].patch(WORKLOADS, workload, NAMESPACE, body, patch_type=PatchType.MERGE)


async def configure(world, *clusters):
    body = {"spec": {"clusters": list(clusters)}}
    await world.clients[MANAGER].patch(MULTIKUEUE_CONFIGS, "all", "", body, patch_type=PatchType.MERGE)


async def write_secret(world, worker, content):
    body = {"data": {"kubeconfig": base64.b64encode(content.encode()).decode()}}
    await world.clients[MANAGER].patch(SECRETS, f"{worker}-kubeconfig", SYSTEM, body, patch_type=PatchType.MERGE)


def stand(world, resource, name):
    """The Active condition of an object of the manager."""
    found = world.servers[MANAGER].core.state.get(f"kueue.x-k8s.io/{resource}", "", name)
    return next(c for c in found.document()["status"]["conditions"] if c["type"] == "Active")


def is_active(world, worker):
    return stand(world, "multikueueclusters", worker)["status"] == "True"


async def restarted(world, **broken):
    """The hub starts while the lines of workers are as told."""
    await world.kill("hub")
    for worker, how in broken.items():
        getattr(world.lines[f"hub>{worker}"], how)()
    world.start("hub")


def test_a_worker_that_never_answers_delays_no_other():
    async def story(world):
        await restarted(world, w1="stall")
        await submit(world, "train")
        await asyncio.sleep(10)
        assert is_active(world, "w2")
        assert places(world) == ["w2"]
        await asyncio.sleep(60)
        assert not is_active(world, "w1")
        world.lines["hub>w1"].heal()
        await asyncio.sleep(120)
        assert is_active(world, "w1")

    federation(story, keep=True)


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_workers_that_come_after_the_hub_get_what_waits(dispatcher):
    async def story(world):
        await restarted(world, w1="cut", w2="cut")
        await submit(world, "train")
        await asyncio.sleep(20)
        assert places(world) == []
        for worker in ("w1", "w2"):
            world.lines[f"hub>{worker}"].heal()
        await asyncio.sleep(30)
        assert len(places(world)) == 1

    federation(story, keep=True, dispatcher=dispatcher)


INSECURE = kubeconfig("w1").replace("{server:", "{insecure-skip-tls-verify: true, server:")


@pytest.mark.parametrize("bad", [INSECURE, "clusters: [", ""], ids=["insecure", "unreadable", "empty"])
def test_nothing_is_written_with_a_credential_that_was_replaced_by_a_bad_one(bad):
    async def story(world):
        world.lines["hub>w2"].cut()
        await write_secret(world, "w1", bad)
        await asyncio.sleep(5)
        assert not is_active(world, "w1")
        before = world.lines["hub>w1"].writes
        await submit(world, "train")
        await asyncio.sleep(30)
        assert (world.lines["hub>w1"].writes, places(world)) == (before, [])
        await write_secret(world, "w1", kubeconfig("w1"))
        await asyncio.sleep(20)
        assert places(world) == ["w1"]

    federation(story, keep=True)


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_what_waits_is_sent_to_a_cluster_that_joins(dispatcher):
    async def story(world):
        await configure(world, "w1")
        await submit(world, "first", cpu=4)
        await asyncio.sleep(5)
        await submit(world, "second", cpu=3)
        await asyncio.sleep(30)
        assert (places(world, "first"), places(world, "second")) == (["w1"], [])
        await configure(world, "w1", "w2")
        # The incremental dispatcher asks the next clusters when a round is over.
        await asyncio.sleep(310 if dispatcher == INCREMENTAL else 10)
        assert places(world, "second") == ["w2"]

    federation(story, keep=True, dispatcher=dispatcher)


def test_a_credential_that_changes_all_the_time_loses_and_doubles_nothing():
    async def story(world):
        made = creations(world)
        jobs = [f"job-{number}" for number in range(8)]
        for name in jobs:
            await submit(world, name, seconds=3.0)
            for turn in range(5):
                await write_secret(world, "w1", kubeconfig("w1").replace("user: u}", f"user: u, x: {name}-{turn}}}"))
                await asyncio.sleep(0.1)
        await asyncio.sleep(120)
        assert dict(world.model.completions) == dict.fromkeys(jobs, 1)
        assert sorted((name, count) for (_, kind, name), count in made.items() if kind == "jobs") == [
            (name, 1) for name in jobs
        ]
        assert all(completed(world.stored(MANAGER, "jobs", Key(NAMESPACE, name))) for name in jobs)

    federation(story, keep=True)


def test_an_end_in_the_moment_without_a_watch_is_seen():
    async def story(world):
        await submit(world, "train", seconds=20.0)
        await asyncio.sleep(5)
        (place,) = places(world)
        line = world.lines[f"hub>{place}"]
        watches = watches_of(line)
        for _ in range(400):
            line.end_watches()
            await asyncio.sleep(0.05)
        await asyncio.sleep(30)
        assert completed(world.stored(MANAGER, "jobs", Key(NAMESPACE, "train")))
        assert not value_at(world.workload_of("train"), "status.schedulingStats", {}).get("evictions")
        assert all(("allowWatchBookmarks", "true") in query for query in watches)
        assert len(watches) > 50

    federation(story, keep=True)


def watches_of(line):
    """The queries of the watches that are asked for from now on."""
    asked, send = [], line.request

    async def request(sent):
        if ("watch", "true") in sent.query:
            asked.append(sent.query)
        return await send(sent)

    line.request = request
    return asked


def test_a_removed_cluster_out_of_contact_is_given_up_and_cleared_when_it_comes_back():
    async def story(world):
        place, other = await started(world)
        found = world.servers[MANAGER].core.state.get("kueue.x-k8s.io/multikueueclusters", "", place).document()
        world.lines[f"hub>{place}"].cut()
        await world.clients[MANAGER].delete(MULTIKUEUE_CLUSTERS, place)
        await asyncio.sleep(10)
        assert world.servers[MANAGER].core.state.get("kueue.x-k8s.io/multikueueclusters", "", place) is None
        assert place in stand(world, "admissionchecks", "mk")["message"]
        await asyncio.sleep(110)
        assert places(world) == [other]
        world.lines[f"hub>{place}"].heal()
        again = {
            "apiVersion": MULTIKUEUE_CLUSTERS.api_version,
            "kind": MULTIKUEUE_CLUSTERS.kind,
            "metadata": {"name": place},
            "spec": found["spec"],
        }
        await world.clients[MANAGER].create(MULTIKUEUE_CLUSTERS, again)
        await asyncio.sleep(60)
        assert world.ours(place) == []
        assert places(world) == [other]

    federation(story, keep=False)


@pytest.mark.parametrize("active", [0, 1])
def test_the_only_worker_lost_is_waited_for_and_then_given_up(active):
    async def story(world):
        await configure(world, "w1")
        await started(world)
        world.lines["hub>w1"].cut()
        await show_active(world, active)
        await asyncio.sleep(50)
        assert is_true(world.workload_of("train"), names.ADMITTED)
        await asyncio.sleep(60)
        assert is_true(world.workload_of("train"), names.EVICTED)
        assert not is_true(world.workload_of("train"), names.QUOTA_RESERVED)

    federation(story, keep=False)


@pytest.mark.parametrize("active", [0, 1])
@pytest.mark.parametrize("how", ["refused", "secret"])
def test_a_hub_restarted_while_a_worker_is_lost_counts_on(how, active):
    async def story(world):
        place, other = await started(world)
        if how == "secret":
            await world.clients[MANAGER].delete(SECRETS, f"{place}-kubeconfig", SYSTEM)
        else:
            world.lines[f"hub>{place}"].cut()
        await show_active(world, active)
        await asyncio.sleep(5)
        await world.kill("hub")
        world.start("hub")
        await asyncio.sleep(40)
        assert is_true(world.workload_of("train"), names.ADMITTED)
        await asyncio.sleep(75)
        assert places(world) == [other]

    federation(story, keep=False)


def test_a_held_queue_and_an_inactive_workload_are_not_dispatched_by_news_of_clusters():
    async def story(world):
        await configure(world, "w1")
        await restarted(world, w1="cut")
        made = creations(world)
        await submit(world, "inactive")
        await asyncio.sleep(2)
        await set_active(world, "inactive", False)
        await hold(world, "Hold")
        await submit(world, "train")
        await asyncio.sleep(5)
        world.lines["hub>w1"].heal()
        await configure(world, "w1", "w2")
        await asyncio.sleep(30)
        assert (world.ours("w1"), world.ours("w2")) == ([], [])
        await hold(world, "None")
        await asyncio.sleep(10)
        assert len(places(world)) == 1
        assert places(world, "inactive") == []
        assert sum(kind == "jobs" for _, kind, _ in made) == 1

    federation(story, keep=True)


async def hold(world, policy):
    body = {"spec": {"stopPolicy": policy}}
    await world.clients[MANAGER].patch(CLUSTER_QUEUES, "cq", "", body, patch_type=PatchType.MERGE)
