"""A job that grows while it runs: its new pods wait until quota for its new size is there; on virtual time."""

import asyncio

import pytest

from tests.integration.agent.virtual import Cluster
from tests.integration.agent.world import job
from worker_agent.api import names
from worker_agent.api.resource_type import JOBS
from worker_agent.kube.client import PatchType

pytestmark = pytest.mark.looptime

GATE = {"name": names.ELASTIC_JOB_SCHEDULING_GATE}


async def submit(cluster, parallelism, name="grows", seconds=600):
    document = job(name, "1")
    document["metadata"]["annotations"] = {names.ELASTIC_JOB_ANNOTATION: "true"}
    document["spec"] |= {"suspend": True, "parallelism": parallelism}
    template = document["spec"]["template"]
    template["metadata"] = {"annotations": {"fedhub.dev/run-seconds": str(seconds)}}
    template["spec"]["schedulingGates"] = [GATE]
    await cluster.client.create(JOBS, document, "default")


async def scale(cluster, parallelism, name="grows"):
    body = {"spec": {"parallelism": parallelism}}
    await cluster.client.patch(JOBS, name, "default", body, patch_type=PatchType.MERGE)


def running(pods):
    return [pod for pod in pods if pod["status"].get("phase") == "Running"]


def gated(pods):
    return [pod for pod in pods if GATE in (pod["spec"].get("schedulingGates") or ())]


async def test_grown_job_runs_all_its_pods_once_there_is_quota():
    async with Cluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4")
        await submit(cluster, 1)
        await cluster.until_pods(lambda pods: len(running(pods)) == 1)
        await scale(cluster, 3)
        pods = await cluster.until_pods(lambda pods: len(running(pods)) == 3)
    assert not gated(pods)


async def test_pods_beyond_the_quota_stay_behind_their_gate():
    async with Cluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("2")
        await submit(cluster, 1)
        await cluster.until_pods(lambda pods: len(running(pods)) == 1)
        await scale(cluster, 3)
        await cluster.until_pods(lambda pods: len(gated(pods)) == 2)
        await asyncio.sleep(120)
        pods = await cluster.pods()
    assert (len(running(pods)), len(gated(pods))) == (1, 2)


async def test_killed_agent_lets_go_no_more_pods_than_were_granted():
    async with Cluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("3")
        await submit(cluster, 1)
        await cluster.until_pods(lambda pods: len(running(pods)) == 1)
        await cluster.kill_agent()
        await scale(cluster, 5)
        cluster.start_agent()
        await cluster.until_pods(lambda pods: len(gated(pods)) == 4)
        await scale(cluster, 3)
        pods = await cluster.until_pods(lambda pods: len(running(pods)) == 3)
    assert not gated(pods)
