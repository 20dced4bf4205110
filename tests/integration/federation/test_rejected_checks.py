"""Work that MultiKueue rejects while it runs on a worker, where no collection of orphans cleans up, on virtual time."""

import asyncio

import pytest

from tests.integration.federation.virtual_world import MANAGER, VirtualWorld, play
from tests.integration.federation.world import federation, node, queues
from worker_agent.api.resource_type import JOB_SETS, WORKLOADS

pytestmark = pytest.mark.embedded  # over servers in this process alone, whatever sort of cluster was asked for
SETTINGS = {"integrations": {"frameworks": ["jobset.x-k8s.io/jobset"]}, "multi_kueue": {"gc_interval": "0s"}}
OBJECTS = {"Workload": "kueue.x-k8s.io/workloads", "JobSet": "jobset.x-k8s.io/jobsets"}


def job_set():
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    role = {"name": "part", "replicas": 1, "template": {"spec": {"parallelism": 1, "template": template}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue", "replicatedJobs": [role]},
    }


def test_a_job_that_its_user_takes_back_leaves_its_worker_and_can_be_deleted():
    """It is rejected again after its eviction: that is no reason to let it run on, nor to wait for it for ever."""

    async def story(world):
        await world.create(MANAGER, job_set())
        await asyncio.sleep(10)
        assert [each["spec"]["suspend"] for each in world.objects("w1", OBJECTS["JobSet"])] == [False]
        await world.patch(MANAGER, JOB_SETS, "train", {"spec": {"managedBy": "jobset.sigs.k8s.io/jobset-controller"}})
        (workload,) = world.objects(MANAGER, OBJECTS["Workload"])
        name = workload["metadata"]["name"]
        await world.patch(MANAGER, WORKLOADS, name, {"metadata": {"annotations": {"touched": "yes"}}})
        await asyncio.sleep(30)
        assert [world.objects("w1", store) for store in OBJECTS.values()] == [[], []]
        (workload,) = world.objects(MANAGER, OBJECTS["Workload"])
        held = {each["type"]: each["status"] for each in workload["status"]["conditions"]}
        assert (held["Evicted"], held["QuotaReserved"]) == ("True", "False")
        await world.clients[MANAGER].delete(WORKLOADS, name, "ns")
        await asyncio.sleep(30)
        left = [each["metadata"]["uid"] for each in world.objects(MANAGER, OBJECTS["Workload"])]
        assert workload["metadata"]["uid"] not in left

    clusters = {
        MANAGER: [*queues(cpu=5, checks=["mk"]), *federation("w1")],
        "w1": [*queues(cpu=5), node(cpu=5)],
    }
    play(VirtualWorld(clusters, SETTINGS, job_kinds=True), story)
