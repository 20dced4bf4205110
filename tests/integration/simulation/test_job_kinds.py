"""Every job kind on a simulated cluster: started, it makes its pods, gets ready, ends as its operator would tell."""

import asyncio
import copy
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest

from hub.local.simulation.cluster import ALL_PARTS, JOB_KINDS
from hub.local.simulation.operators import definitions
from tests.integration.simulation.world import World
from tests.unit.jobs.samples import SAMPLES
from worker_agent.api import companions
from worker_agent.api.document import put
from worker_agent.api.resource_type import (
    CLUSTER_TRAINING_RUNTIMES,
    DEPLOYMENTS,
    LEADER_WORKER_SETS,
    PODS,
    STATEFUL_SETS,
)
from worker_agent.jobs import KINDS
from worker_agent.kube.client import PatchType
from worker_agent.kube.errors import NotFound

PLAYED = sorted(set(SAMPLES) - {"batch/job"})
POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


pytestmark = pytest.mark.looptime


@asynccontextmanager
async def played():
    async with World(crds=definitions.documents()) as made:
        made.parts = ALL_PARTS | JOB_KINDS
        made.simulate()
        yield made


def sample(framework, *, suspended):
    """The sample as a user's manifest whose pods are simple."""
    kind = KINDS[framework]
    job = msgspec.json.decode(msgspec.json.encode(copy.deepcopy(SAMPLES[framework].job)))
    metadata = {"name": "train", "namespace": "default", "annotations": job["metadata"]["annotations"]}
    job = {**job, "metadata": metadata}
    job = kind.suspend(job) if suspended else kind._with_suspend(job, False)
    text = msgspec.json.encode(job).replace(b'"nodeSelector":{"arch":"amd64"}', b'"nodeSelector":{}')
    text = text.replace(b'"affinity":{"nodeAffinity":{"fieldOfTheFuture":true}},', b"")
    text = text.replace(b'"specFieldOfTheFuture":"x"', b'"hostname":""').replace(
        b'"fieldOfTheFuture":{"a":[1]}', b'"tty":false'
    )
    return msgspec.json.decode(text)


async def prepare(world, framework):
    if framework == "trainer.kubeflow.org/trainjob":
        text = msgspec.json.encode(SAMPLES[framework].companion)
        text = text.replace(b'"nodeSelector":{"arch":"amd64"},', b"")
        text = text.replace(b'"affinity":{"nodeAffinity":{"fieldOfTheFuture":true}},', b"")
        runtime = msgspec.json.decode(text)
        await world.client.create(CLUSTER_TRAINING_RUNTIMES, runtime)


async def reached(world, resource, name, holds, seconds=600.0):
    """The object once ``holds`` is true of it; on virtual time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        document = msgspec.json.decode(await world.client.get(resource, name, "default"))
        document = await with_companions(world, document)
        if holds(document):
            return document
        assert loop.time() < deadline, document.get("status")
        await asyncio.sleep(1.0)


async def with_companions(world, job):
    """The job with what its pods, or what is told of them, follow from."""
    kind = next((each for each in KINDS.values() if each.resource.kind == job["kind"]), None)
    wanted = () if kind is None else kind.companions(job)
    found = {}
    for each in wanted:
        with suppress(NotFound):
            found[each] = msgspec.json.decode(await world.client.get(each.resource, each.name, each.namespace))
    return companions.joined(job, wanted, found.get)


async def pods(world):
    return [msgspec.json.decode(raw) for raw in (await world.client.list(PODS, "default")).items]


@pytest.mark.parametrize("framework", PLAYED)
async def test_started_kind_gets_ready_and_ends(framework):
    async with played() as world:
        kind = KINDS[framework]
        await prepare(world, framework)
        await world.client.create(kind.resource, sample(framework, suspended=False), "default")
        await reached(world, kind.resource, "train", kind.pods_ready)
        if SAMPLES[framework].succeeded is None:
            return
        ended = await reached(world, kind.resource, "train", lambda job: kind.finished(job) is not None)
        assert kind.finished(ended).success


@pytest.mark.parametrize("framework", [each for each in PLAYED if SAMPLES[each].child is None])
async def test_suspended_kind_has_no_pods(framework):
    async with played() as world:
        kind = KINDS[framework]
        await prepare(world, framework)
        await world.client.create(kind.resource, sample(framework, suspended=False), "default")
        await reached(world, kind.resource, "train", kind.pods_ready)
        body = put({}, tuple(kind.suspend_path.split(".")), True)
        await world.client.patch(kind.resource, "train", "default", body, patch_type=PatchType.MERGE)
        await reached(world, kind.resource, "train", lambda job: not kind.is_active(job))
        await world.until_pods(lambda pods: all(pod["status"]["phase"] not in ("Pending", "Running") for pod in pods))


def two_are_ready(document):
    return (document.get("status") or {}).get("readyReplicas") == 2


def _serving(kind, api_version, spec):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": spec}


async def test_deployment_keeps_its_replicas():
    async with played() as world:
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": POD}
        await world.client.create(DEPLOYMENTS, _serving("Deployment", "apps/v1", spec), "default")
        await reached(world, DEPLOYMENTS, "web", two_are_ready)


async def test_stateful_set_numbers_its_pods():
    async with played() as world:
        spec = {"replicas": 2, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": POD}
        await world.client.create(STATEFUL_SETS, _serving("StatefulSet", "apps/v1", spec), "default")
        await reached(world, STATEFUL_SETS, "web", two_are_ready)
        assert sorted(pod["metadata"]["name"] for pod in await pods(world)) == ["web-0", "web-1"]


async def test_leader_worker_set_has_a_group_of_pods_for_each_replica():
    async with played() as world:
        spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": POD}}
        await world.client.create(
            LEADER_WORKER_SETS, _serving("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", spec), "default"
        )
        await reached(world, LEADER_WORKER_SETS, "web", two_are_ready)
        assert len(await pods(world)) == 6


async def test_operators_take_up_their_work_after_a_restart():
    async with played() as world:
        framework = "jobset.x-k8s.io/jobset"
        kind = KINDS[framework]
        await world.client.create(kind.resource, sample(framework, suspended=False), "default")
        await reached(world, kind.resource, "train", kind.is_active)
        await world.kill()
        world.simulate()
        ended = await reached(world, kind.resource, "train", lambda job: kind.finished(job) is not None)
        assert kind.finished(ended).success
