"""A job goes only where its pods find what they name, and says what is missing elsewhere."""

import asyncio

from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER
from tests.faults.test_fence import federation, places
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import JOBS, SECRETS


def with_secret(name):
    job = submitted("train", cpu=1, seconds=900.0, priority=0)
    job["spec"]["template"]["spec"]["volumes"] = [{"name": "token", "secret": {"secretName": name}}]
    return job


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}}


def dispatched(world):
    conditions = value_at(world.workload_of("train"), "status.conditions", [])
    return next(c for c in conditions if c["type"] == names.DISPATCHED)


def test_a_job_goes_to_the_cluster_that_has_its_secret():
    async def story(world):
        await world.clients["w2"].create(SECRETS, secret("token"), NAMESPACE)
        await world.clients[MANAGER].create(JOBS, with_secret("token"), NAMESPACE)
        await asyncio.sleep(10)
        assert places(world) == ["w2"]
        assert 'w1: namespace ns there has no Secret "token"' in dispatched(world)["message"]

    federation(story, keep=True)


def test_a_job_without_its_secret_anywhere_waits_and_says_so_until_it_comes():
    async def story(world):
        await world.clients[MANAGER].create(JOBS, with_secret("token"), NAMESPACE)
        await asyncio.sleep(10)
        assert places(world) == []
        assert (dispatched(world)["status"], dispatched(world)["reason"]) == ("False", "NoCluster")
        await world.clients["w1"].create(SECRETS, secret("token"), NAMESPACE)
        await asyncio.sleep(15)
        assert places(world) == ["w1"]

    federation(story, keep=True)
