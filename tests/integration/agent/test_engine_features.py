"""What the engine knows beyond quota and preemption, in a running agent; on virtual time (spec/engine 3, 14 to 23)."""

import asyncio

import pytest

from tests.integration.agent.play import Play, playing, pod_with
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    JOBS,
    LIMIT_RANGES,
)

pytestmark = pytest.mark.looptime

GATED_BY = "kueue.x-k8s.io/admission-gated-by"


class TestRetention:
    async def test_job_that_kueue_deactivated_goes_after_its_time(self):
        retention = {"workloads": {"after_deactivated_by_kueue": "1h"}}
        async with playing(object_retention_policies=retention) as cluster:
            cluster.start_agent()
            await cluster.queue("4")
            await cluster.submit("long", labels={"kueue.x-k8s.io/max-exec-time-seconds": "60"}, run_seconds=600)
            await cluster.until_condition("long", "Evicted", "DeactivatedDueToMaximumExecutionTimeExceeded")
            evicted_at = asyncio.get_running_loop().time()
            play = Play(cluster)
            async with asyncio.timeout(4000):
                while "long" in await play.names(JOBS):  # noqa: ASYNC110 - time is virtual
                    await asyncio.sleep(5)
            assert 3590 <= asyncio.get_running_loop().time() - evicted_at <= 3610

    async def test_job_that_its_user_deactivated_stays(self):
        retention = {"workloads": {"after_deactivated_by_kueue": "1m"}}
        async with playing(object_retention_policies=retention) as cluster:
            cluster.start_agent()
            await cluster.queue("4")
            await cluster.submit("mine")
            await cluster.until_condition("mine", "Admitted", "Admitted")
            play = Play(cluster)
            await play.patch_workload("mine", {"spec": {"active": False}})
            await cluster.until_condition("mine", "Evicted", "Deactivated")
            await asyncio.sleep(600)
            assert await play.names(JOBS) == ["mine"]


class TestGates:
    async def gated(self, cluster):
        metadata = {"name": "gated", "namespace": "default", "annotations": {GATED_BY: "example.com/budget"}}
        metadata["labels"] = {"kueue.x-k8s.io/queue-name": "user-queue"}
        document = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
        await cluster.client.create(JOBS, {**document, "spec": {"suspend": True, **pod_with()}}, "default")

    async def test_gated_job_waits_for_its_gate(self):
        async with playing() as cluster:
            cluster.start_agent()
            await cluster.queue("1")
            play = Play(cluster)
            await self.gated(cluster)
            held = await cluster.until_condition("gated", "QuotaReserved", "AdmissionGated")
            assert held["message"] == "Admission is gated by: example.com/budget"
            assert await play.told("AdmissionGated")
            await asyncio.sleep(600)
            assert (await play.condition_now("gated", "Admitted"))[0] == "False"
            await play.patch(JOBS, "gated", "default", {"metadata": {"annotations": {GATED_BY: None}}})
            await cluster.until_condition("gated", "Admitted", "Admitted")

    async def test_gated_job_in_a_stopped_queue_comes_to_rest(self):
        async with playing() as cluster:
            cluster.start_agent()
            await cluster.queue("1", stopPolicy="Hold")
            play = Play(cluster)
            await self.gated(cluster)
            await cluster.until_condition("gated", "QuotaReserved", "Suspended")
            version = (await cluster.workload("gated"))["metadata"]["resourceVersion"]
            await asyncio.sleep(60)
            assert (await cluster.workload("gated"))["metadata"]["resourceVersion"] == version
            await play.patch(CLUSTER_QUEUES, "cluster-queue", "", {"spec": {"stopPolicy": "None"}})
            await cluster.until_condition("gated", "QuotaReserved", "AdmissionGated")
            await play.patch(JOBS, "gated", "default", {"metadata": {"annotations": {GATED_BY: None}}})
            await cluster.until_condition("gated", "Admitted", "Admitted")

    async def test_boosted_workload_overtakes(self):
        async with playing(feature_gates={"PriorityBoost": True}) as cluster:
            cluster.start_agent()
            await cluster.queue("1", queueingStrategy="StrictFIFO")
            for name in ("first", "second", "third"):
                await cluster.submit(name)
                await asyncio.sleep(2)
            play = Play(cluster)
            await play.patch_workload("third", {"metadata": {"annotations": {"kueue.x-k8s.io/priority-boost": "5"}}})
            await cluster.client.delete(JOBS, "first", "default")
            await cluster.until_condition("third", "Admitted", "Admitted")
            assert (await play.condition_now("second", "QuotaReserved"))[0] == "False"

    async def test_conditions_from_the_first_reconcile_on(self):
        async with playing(feature_gates={"UnadmittedWorkloadsExplicitStatus": True}) as cluster:
            cluster.start_agent()
            await cluster.queue("1", stopPolicy="Hold")
            await cluster.submit("one")
            found = await cluster.until_condition("one", "QuotaReserved", "Suspended")
            assert found["message"] == "ClusterQueue cluster-queue is inactive"
            assert (await Play(cluster).condition_now("one", "Admitted"))[:2] == ("False", "NoReservation")


class TestWhatCountsAsRequested:
    """Spec 3: from the template to what is charged."""

    async def charged(self, resource, document, before=(), **resources):
        async with playing(**({"resources": resources} if resources else {})) as cluster:
            cluster.start_agent()
            for kind, found in before:
                await cluster.client.create(kind, found, found["metadata"].get("namespace", ""))
            await cluster.queue("8")
            await cluster.submit("one", **document)
            await cluster.until_condition("one", "Admitted", "Admitted")
            return await Play(cluster).usage(resource)

    async def test_undeclared_resource_blocks_by_default(self):
        async with playing() as cluster:
            cluster.start_agent()
            await cluster.queue("8")
            await cluster.submit("one", **self.asking({"cpu": "1", "example.com/chip": "1"}))
            found = await cluster.until_condition("one", "QuotaReserved", "NoMatchingFlavor")
            assert "resource example.com/chip unavailable in ClusterQueue" in found["message"]

    async def test_undeclared_resource_may_be_ignored(self):
        asking = self.asking({"cpu": "1", "example.com/chip": "1"})
        assert await self.charged("cpu", asking, quota_check_strategy="IgnoreUndeclared") == "1"

    async def test_excluded_prefixes_do_not_count(self):
        asking = self.asking({"cpu": "1", "example.com/chip": "1"})
        assert await self.charged("cpu", asking, exclude_resource_prefixes=["example.com/"]) == "1"

    async def test_resources_are_transformed(self):
        rule = {"input": "example.com/chip", "strategy": "Replace", "outputs": {"cpu": "2"}}
        asking = self.asking({"cpu": "1", "example.com/chip": "3"})
        assert await self.charged("cpu", asking, transformations=[rule]) == "7"

    async def test_pod_level_resources_override_those_of_containers(self):
        assert await self.charged("cpu", pod_with(resources={"requests": {"cpu": "3"}})) == "3"

    async def test_limit_range_fills_in_what_is_not_asked(self):
        limits = {"type": "Container", "defaultRequest": {"memory": "2Gi"}}
        spec = {"limits": [limits]}
        defaults = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "default"}}
        assert await self.charged("memory", pod_with(), [(LIMIT_RANGES, {**defaults, "spec": spec})]) == "2Gi"

    def asking(self, requests):
        container = {"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}
        return {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}

    async def test_pods_that_are_done_give_their_quota_back(self):
        async with playing() as cluster:
            cluster.start_agent()
            await cluster.queue("3")
            play = Play(cluster)
            await cluster.submit("three", parallelism=3, completions=3)
            await cluster.until_condition("three", "Admitted", "Admitted")
            await cluster.submit("next")
            assert (await play.condition_now("next", "QuotaReserved"))[0] == "False"
            await play.pods("three", active=2, ready=2, succeeded=1)
            await cluster.until_condition("next", "Admitted", "Admitted")
            assert (await cluster.workload("three"))["status"]["reclaimablePods"] == [{"name": "main", "count": 1}]
