"""Elastic Ray: the autoscaler of the cluster inside a job asks for more or fewer workers; on virtual time."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from hub.local.apiserver import bootstrap
from hub.local.simulation.cluster import ALL_PARTS, JOB_KINDS
from hub.local.simulation.operators import definitions
from tests.integration.agent.virtual import Cluster
from tests.integration.simulation.world import START
from worker_agent.api import names
from worker_agent.api.resource_type import CLUSTER_QUEUES, RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, WORKLOADS
from worker_agent.kube.client import PatchType

pytestmark = pytest.mark.looptime

GATE = {"name": names.ELASTIC_JOB_SCHEDULING_GATE}
KINDS = ["ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice"]


@asynccontextmanager
async def playing(cpu):
    """A cluster with quota for ``cpu``, Ray's operator played, and an agent."""
    async with Cluster(integrations={"frameworks": ["batch/job", *KINDS]}) as cluster:
        bootstrap.fill(cluster.server.core, definitions.documents(), START)
        cluster.parts = ALL_PARTS | JOB_KINDS
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue(cpu)
        yield cluster


def template(seconds=""):
    container = {"name": "c", "image": "ray", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}
    metadata = {"annotations": {"fedhub.dev/run-seconds": seconds}} if seconds else {}
    return {"metadata": metadata, "spec": {"containers": [container], "schedulingGates": [GATE]}}


def ray_cluster(seconds=""):
    group = {"groupName": "workers", "replicas": 1, "minReplicas": 1, "maxReplicas": 3, "template": template()}
    autoscaler = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}
    head = {"template": template(seconds)}
    return {
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": autoscaler,
        "headGroupSpec": head,
        "workerGroupSpecs": [group],
    }


def elastic(resource, spec):
    annotations = {names.ELASTIC_JOB_ANNOTATION: "true"}
    metadata = {"name": "grows", "namespace": "default", "annotations": annotations}
    metadata["labels"] = {names.QUEUE_NAME_LABEL: "user-queue"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def ray_job(seconds="600"):
    cluster = ray_cluster(seconds)
    spec = {"suspend": True, "shutdownAfterJobFinishes": True, "submissionMode": "HTTPMode", "rayClusterSpec": cluster}
    return elastic(RAY_JOBS, spec)


async def wants(cluster, workers, name="grows-cluster"):
    """The work inside could use so many workers."""
    body = {"metadata": {"annotations": {names.WANTED_WORKERS_ANNOTATION: str(workers)}}}
    await cluster.client.patch(RAY_CLUSTERS, name, "default", body, patch_type=PatchType.MERGE)


async def until_running(cluster, count):
    """So many pods run, and the others wait behind their gate."""
    return await cluster.until_pods(lambda pods: sum(pod["status"].get("phase") == "Running" for pod in pods) == count)


async def until_reserved(cluster, cpu):
    async with asyncio.timeout(300):
        while True:
            queue = json.loads(await cluster.client.get(CLUSTER_QUEUES, "cluster-queue"))
            if queue["status"]["flavorsReservation"][0]["resources"][0]["total"] == cpu:
                return
            await asyncio.sleep(0.5)


async def slices(cluster):
    """Reasons of the ends of the job's Workloads, oldest first; empty for those that live."""
    found = [json.loads(raw) for raw in (await cluster.client.list(WORKLOADS, "default")).items]
    found.sort(key=lambda each: each["metadata"]["creationTimestamp"])
    ends = [[c["reason"] for c in each["status"]["conditions"] if c["type"] == "Finished"] for each in found]
    return [end[0] if end else "" for end in ends]


@pytest.mark.parametrize(
    ("resource", "document"),
    [
        (RAY_JOBS, ray_job()),
        (RAY_SERVICES, elastic(RAY_SERVICES, {"rayClusterConfig": {"suspend": True, **ray_cluster()}})),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
async def test_workers_its_autoscaler_adds_run_in_a_new_slice(resource, document):
    async with playing("6") as cluster:
        await cluster.client.create(resource, document, "default")
        await until_running(cluster, 2)
        await until_reserved(cluster, "3")
        await wants(cluster, 3)
        await until_running(cluster, 4)
        await until_reserved(cluster, "5")
        assert await slices(cluster) == [names.WORKLOAD_SLICE_REPLACED, ""]


async def test_cluster_of_its_own_grows_too():
    async with playing("6") as cluster:
        document = elastic(RAY_CLUSTERS, {"suspend": True, **ray_cluster()})
        await cluster.client.create(RAY_CLUSTERS, document, "default")
        await until_running(cluster, 2)
        await wants(cluster, 2, "grows")
        await until_running(cluster, 3)
        await until_reserved(cluster, "4")


async def test_workers_beyond_the_quota_wait_behind_their_gate():
    async with playing("4") as cluster:
        await cluster.client.create(RAY_JOBS, ray_job(), "default")
        await until_running(cluster, 2)
        await wants(cluster, 3)
        await cluster.until_pods(lambda pods: len(pods) == 4)
        await asyncio.sleep(120)
        pods = await until_running(cluster, 2)
        assert sum(GATE in (pod["spec"].get("schedulingGates") or ()) for pod in pods) == 2
        await until_reserved(cluster, "3")


async def test_quota_of_workers_its_autoscaler_removes_is_free():
    async with playing("6") as cluster:
        await cluster.client.create(RAY_JOBS, ray_job(), "default")
        await until_running(cluster, 2)
        await wants(cluster, 3)
        await until_running(cluster, 4)
        await wants(cluster, 1)
        await until_running(cluster, 2)
        await until_reserved(cluster, "3")
        assert await slices(cluster) == [names.WORKLOAD_SLICE_REPLACED, ""]


async def test_evicted_it_starts_again_at_the_size_its_user_wrote():
    async with playing("6") as cluster:
        await cluster.client.create(RAY_JOBS, ray_job(), "default")
        await until_running(cluster, 2)
        await wants(cluster, 3)
        await until_running(cluster, 4)
        for active in (False, True):
            found = [json.loads(raw) for raw in (await cluster.client.list(WORKLOADS, "default")).items]
            (live,) = [each for each in found if not any(c["type"] == "Finished" for c in each["status"]["conditions"])]
            body = {"spec": {"active": active}}
            name = live["metadata"]["name"]
            await cluster.client.patch(WORKLOADS, name, "default", body, patch_type=PatchType.MERGE)
            await until_reserved(cluster, "3" if active else "0")
        await until_running(cluster, 2)


async def test_killed_agent_knows_the_present_size_when_it_comes_back():
    async with playing("6") as cluster:
        await cluster.client.create(RAY_JOBS, ray_job(), "default")
        await until_running(cluster, 2)
        await cluster.kill_agent()
        await wants(cluster, 3)
        await cluster.until_pods(lambda pods: len(pods) == 4)
        cluster.start_agent()
        await until_running(cluster, 4)
        await until_reserved(cluster, "5")
        assert await slices(cluster) == [names.WORKLOAD_SLICE_REPLACED, ""]


async def test_grown_job_ends_and_leaves_nothing_reserved():
    async with playing("6") as cluster:
        await cluster.client.create(RAY_JOBS, ray_job("30"), "default")
        await until_running(cluster, 2)
        await wants(cluster, 3)
        await until_running(cluster, 4)
        await until_reserved(cluster, "0")
        assert await slices(cluster) == [names.WORKLOAD_SLICE_REPLACED, names.SUCCEEDED]
