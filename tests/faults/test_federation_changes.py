"""What an administrator changes on the manager reaches the work that waits at once, with nothing else to wake it."""

import asyncio

from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER, is_true
from tests.faults.script import WORKERS
from tests.faults.test_fence import federation, places
from tests.faults.test_preflight import dispatched
from worker_agent.api import names
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    DISPATCH_POLICIES,
    JOBS,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
)
from worker_agent.kube.client import PatchType

LONG = 40.0
"""Seconds after which nothing on the workers changes any more."""

SOON = 3.0


async def change(world, resource, name, body):
    await world.clients[MANAGER].patch(resource, name, "", body, patch_type=PatchType.MERGE)


async def cordon(world, *clusters, value="true"):
    for name in clusters:
        annotations = {names.CORDONED_ANNOTATION: value}
        await change(world, MULTIKUEUE_CLUSTERS, name, {"metadata": {"annotations": annotations}})


async def policy(world, name, **spec):
    if name == "default":  # there from the start
        return await change(world, DISPATCH_POLICIES, name, {"spec": spec})
    body = {"apiVersion": "fedhub.dev/v1alpha1", "kind": "DispatchPolicy", "metadata": {"name": name}, "spec": spec}
    await world.clients[MANAGER].create(DISPATCH_POLICIES, body)


async def waiting(world, why):
    await world.clients[MANAGER].create(JOBS, submitted("train", cpu=1, seconds=900.0, priority=0), NAMESPACE)
    await asyncio.sleep(LONG)
    assert places(world) == []
    assert why in dispatched(world)["message"]


def test_the_end_of_a_cordon():
    async def story(world):
        await cordon(world, "w1", "w2")
        await waiting(world, "w1: cordoned; w2: cordoned")
        await cordon(world, "w2", value=None)
        await asyncio.sleep(SOON)
        assert places(world) == ["w2"]

    federation(story, keep=True)


PAUSED = 70.0
"""Seconds after which the quota of a job that no cluster can run has been given back, for minutes."""


async def paused(world, why):
    await waiting(world, why)
    await asyncio.sleep(PAUSED - LONG)
    workload = world.workload_of("train")
    assert not is_true(workload, names.QUOTA_RESERVED)
    assert value_at(workload, "status.requeueState.requeueAt")


def test_the_end_of_a_cordon_ends_the_pause_of_work_that_had_no_cluster():
    async def story(world):
        await cordon(world, "w1", "w2")
        await paused(world, "w1: cordoned; w2: cordoned")
        await cordon(world, "w2", value=None)
        await asyncio.sleep(SOON)
        assert places(world) == ["w2"]

    federation(story, keep=True)


def test_a_worker_that_grows_ends_the_pause_of_work_that_was_too_large():
    async def story(world):
        sizes = {cluster: await resized(world, cluster, 1) for cluster in WORKERS}
        await world.clients[MANAGER].create(JOBS, submitted("train", cpu=3, seconds=900.0, priority=0), NAMESPACE)
        await asyncio.sleep(PAUSED)
        assert value_at(world.workload_of("train"), "status.requeueState.requeueAt")
        await resized(world, "w1", sizes["w1"])
        await asyncio.sleep(SOON)
        assert places(world) == ["w1"]

    federation(story, keep=True)


def test_news_that_open_no_cluster_leave_the_pause_alone():
    async def story(world):
        await cordon(world, "w1", "w2")
        await paused(world, "w1: cordoned; w2: cordoned")
        until = value_at(world.workload_of("train"), "status.requeueState.requeueAt")
        await change(world, MULTIKUEUE_CLUSTERS, "w2", {"metadata": {"labels": {"rack": "7"}}})
        await asyncio.sleep(SOON)
        assert value_at(world.workload_of("train"), "status.requeueState.requeueAt") == until

    federation(story, keep=True)


async def resized(world, cluster, cpu):
    """The worker's queue with so much quota; returns how much it had."""
    queue = world.servers[cluster].core.state.get("kueue.x-k8s.io/clusterqueues", "", "cq").document()
    groups = value_at(queue, "spec.resourceGroups")
    quota = next(each for each in groups[0]["flavors"][0]["resources"] if each["name"] == "cpu")
    before, quota["nominalQuota"] = quota["nominalQuota"], cpu
    body = {"spec": {"resourceGroups": groups}}
    await world.clients[cluster].patch(CLUSTER_QUEUES, "cq", "", body, patch_type=PatchType.MERGE)
    return before


def test_a_region_that_is_allowed_after_all():
    async def story(world):
        await policy(world, "default", regions={"allowed": ["eu"]})
        await waiting(world, 'w1: region "" is not allowed')
        await change(world, DISPATCH_POLICIES, "default", {"spec": {"regions": None}})
        await asyncio.sleep(SOON)
        assert len(places(world)) == 1

    federation(story, keep=True)


def test_a_cluster_that_is_labelled_with_an_allowed_region():
    async def story(world):
        await policy(world, "default", regions={"allowed": ["eu"]})
        await waiting(world, 'w1: region "" is not allowed')
        labels = {names.REGION_LABEL: "eu"}
        await change(world, MULTIKUEUE_CLUSTERS, "w1", {"metadata": {"labels": labels}})
        await asyncio.sleep(SOON)
        assert places(world) == ["w1"]

    federation(story, keep=True)


def test_a_queue_that_comes_under_another_policy():
    async def story(world):
        await policy(world, "default", regions={"allowed": ["eu"]})
        await policy(world, "anywhere", strategy="Pack")
        await waiting(world, 'w1: region "" is not allowed')
        queue = world.hub.objects.queues.keys()[0].name
        annotations = {names.DISPATCH_POLICY_ANNOTATION: "anywhere"}
        await change(world, CLUSTER_QUEUES, queue, {"metadata": {"annotations": annotations}})
        await asyncio.sleep(SOON)
        assert len(places(world)) == 1

    federation(story, keep=True)


def test_a_cluster_that_joins_the_configuration():
    async def story(world):
        await cordon(world, "w1")
        config = world.hub.objects.configs.keys()[0].name
        await change(world, MULTIKUEUE_CONFIGS, config, {"spec": {"clusters": ["w1"]}})
        await waiting(world, "w1: cordoned")
        await change(world, MULTIKUEUE_CONFIGS, config, {"spec": {"clusters": ["w1", "w2"]}})
        await asyncio.sleep(SOON)
        assert places(world) == ["w2"]

    federation(story, keep=True)


def test_the_workload_tells_the_obstacle_of_today():
    async def story(world):
        await cordon(world, "w1", "w2")
        await waiting(world, "w1: cordoned; w2: cordoned")
        await policy(world, "default", regions={"allowed": ["eu"]})
        await cordon(world, "w1", "w2", value=None)
        await asyncio.sleep(SOON)
        assert 'w1: region "" is not allowed' in dispatched(world)["message"]
        assert "cordoned" not in dispatched(world)["message"]

    federation(story, keep=True)
