"""Admission fair sharing in the running agent: usage of LocalQueues decides, is told, and outlives a restart."""

import pytest

from tests.integration.agent.world import job, world
from worker_agent.api.resource_type import JOBS, LOCAL_QUEUES

SHARING = {"usage_half_life_time": "1h", "usage_sampling_interval": "1s"}
BY_USAGE = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


@pytest.fixture
async def sharing(tmp_path):
    """A queue of 4 cpu with LocalQueues ``user-queue``, whose job is running, and ``other``."""
    async with world(tmp_path) as made:
        await made.start_agent(admission_fair_sharing=SHARING)
        await made.queue(**BY_USAGE)
        other = {"metadata": {"name": "other", "namespace": "default"}, "spec": {"clusterQueue": "cluster-queue"}}
        await made.create(LOCAL_QUEUES, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", **other})
        await made.submit("first", cpu="4")
        await made.started("first")
        yield made


async def consumed(cluster, queue="user-queue"):
    status = (await cluster.get(LOCAL_QUEUES, queue, "default")).get("status") or {}
    usage = (status.get("fairSharing") or {}).get("admissionFairSharingStatus") or {}
    return usage if (usage.get("consumedResources") or {}).get("cpu") else None


async def test_the_queue_that_used_nothing_yet_goes_first(sharing):
    await sharing.until(lambda: consumed(sharing), "usage is told")
    await sharing.submit("again", cpu="4")
    await sharing.condition("again", "QuotaReserved", "False")
    await sharing.create(JOBS, job("newcomer", "3", "other"))
    await sharing.condition("newcomer", "QuotaReserved", "False")
    await sharing.finish("first")
    await sharing.started("newcomer")
    assert (await sharing.job("again"))["spec"]["suspend"] is True


async def test_usage_is_not_forgotten_with_the_agent(sharing):
    await sharing.until(lambda: consumed(sharing), "usage is told")
    await sharing.stop_agent()
    await sharing.start_agent(admission_fair_sharing=SHARING)
    told = await sharing.until(lambda: consumed(sharing), "usage is still told")
    assert told["lastUpdate"]
