"""What the engine knows beyond quota and preemption, in a running agent; on virtual time (spec/engine 3, 14 to 23)."""

import asyncio
import json

import pytest

from tests.integration.agent.virtual import Cluster
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    EVENTS,
    JOBS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from worker_agent.kube.client import PatchType

pytestmark = pytest.mark.looptime

KUEUE = "kueue.x-k8s.io/v1beta2"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"


class Play:
    """Short names for what the tests do to a cluster."""

    def __init__(self, cluster):
        self.cluster = cluster

    async def patch(self, resource, name, namespace, body, subresource=""):
        await self.cluster.client.patch(
            resource, name, namespace, body, patch_type=PatchType.MERGE, subresource=subresource, field_manager="user"
        )

    async def patch_workload(self, job, body):
        await self.patch(WORKLOADS, (await self.cluster.workload(job))["metadata"]["name"], "default", body)

    async def pods(self, job, active, ready, succeeded=0):
        """What the Job controller would report."""
        status = {"active": active, "ready": ready, "succeeded": succeeded, "startTime": "2026-01-01T00:00:00Z"}
        status |= {"uncountedTerminatedPods": {}}
        await self.patch(JOBS, job, "default", {"status": status}, "status")

    async def get(self, resource, name, namespace=""):
        return json.loads(await self.cluster.client.get(resource, name, namespace))

    async def names(self, resource, namespace="default"):
        items = (await self.cluster.client.list(resource, namespace)).items
        return [json.loads(raw)["metadata"]["name"] for raw in items]

    async def told(self, reason):
        items = (await self.cluster.client.list(EVENTS, "default")).items
        return [event["note"] for event in map(json.loads, items) if event["reason"] == reason]

    async def queue_condition(self, resource, name, namespace, reason):
        async with asyncio.timeout(60):
            while True:
                status = (await self.get(resource, name, namespace)).get("status") or {}
                found = [c for c in status.get("conditions") or () if c["reason"] == reason]
                if found:
                    return found[0]
                await asyncio.sleep(0.5)

    async def usage(self, resource):
        """Of the ClusterQueue's first flavor."""
        await asyncio.sleep(3)
        [flavor] = (await self.get(CLUSTER_QUEUES, "cluster-queue"))["status"]["flavorsReservation"]
        return next(found["total"] for found in flavor["resources"] if found["name"] == resource)

    async def condition_now(self, job, type_):
        await asyncio.sleep(3)
        conditions = (await self.cluster.workload(job)).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"], c["message"]) for c in conditions if c["type"] == type_), None)


def playing(**settings):
    """An agent with these settings on an empty cluster whose pods are simulated by hand."""
    return Cluster(**settings)


def stanza(document):
    return {"apiVersion": KUEUE, **document}


def pod_with(**spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"template": {"spec": {"restartPolicy": "Never", "containers": [container], **spec}}}


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


class TestStopPolicies:
    async def test_hold_lets_run_what_runs_and_admits_nothing(self):
        async with playing() as cluster:
            cluster.start_agent()
            await cluster.queue("4")
            play = Play(cluster)
            await cluster.submit("runs")
            await cluster.until_condition("runs", "Admitted", "Admitted")
            await play.patch(CLUSTER_QUEUES, "cluster-queue", "", {"spec": {"stopPolicy": "Hold"}})
            stopped = await play.queue_condition(CLUSTER_QUEUES, "cluster-queue", "", "Stopped")
            assert stopped["message"] == "Can't admit new workloads: is stopped."
            await play.queue_condition(LOCAL_QUEUES, "user-queue", "default", "ClusterQueueIsInactive")
            await cluster.submit("waits")
            assert (await play.condition_now("runs", "Admitted"))[0] == "True"
            assert (await play.condition_now("waits", "Admitted"))[0] == "False"
            await play.patch(CLUSTER_QUEUES, "cluster-queue", "", {"spec": {"stopPolicy": "None"}})
            await cluster.until_condition("waits", "Admitted", "Admitted")

    @pytest.mark.parametrize(
        ("resource", "name", "namespace", "message"),
        [
            (CLUSTER_QUEUES, "cluster-queue", "", "ClusterQueue cluster-queue is stopped"),
            (LOCAL_QUEUES, "user-queue", "default", "LocalQueue user-queue is stopped"),
        ],
        ids=["ClusterQueue", "LocalQueue"],
    )
    async def test_hold_takes_back_what_is_only_reserved(self, resource, name, namespace, message):
        async with playing() as cluster:
            cluster.start_agent()
            await cluster.client.create(ADMISSION_CHECKS, check("budget"), "")
            play = Play(cluster)
            await play.patch(ADMISSION_CHECKS, "budget", "", ACTIVE, "status")
            await cluster.queue("4", admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]})
            await cluster.submit("one")
            await cluster.until_condition("one", "QuotaReserved", "QuotaReserved")
            await play.patch(resource, name, namespace, {"spec": {"stopPolicy": "Hold"}})
            taken = await cluster.until_condition("one", "QuotaReserved", "Suspended", pause=0.01)
            assert message in taken["message"] or "is inactive" in taken["message"]
            assert "admission" not in (await cluster.workload("one"))["status"]

    async def test_drained_local_queue_evicts_and_takes_back(self):
        async with playing() as cluster:
            cluster.start_agent()
            await cluster.queue("4")
            await cluster.submit("one")
            await cluster.until_condition("one", "Admitted", "Admitted")
            play = Play(cluster)
            await play.patch(LOCAL_QUEUES, "user-queue", "default", {"spec": {"stopPolicy": "HoldAndDrain"}})
            evicted = await cluster.until_condition("one", "Evicted", "LocalQueueStopped")
            assert evicted["message"] == "The LocalQueue is stopped"
            await cluster.until_condition("one", "Requeued", "LocalQueueStopped")
            await play.patch(LOCAL_QUEUES, "user-queue", "default", {"spec": {"stopPolicy": "None"}})
            await cluster.until_condition("one", "Requeued", "LocalQueueRestarted")
            await cluster.until_condition("one", "Admitted", "Admitted")


class TestPodsReady:
    async def test_one_that_does_not_recover_is_evicted(self):
        waiting = {"timeout": "30m", "recovery_timeout": "2m"}
        async with playing(wait_for_pods_ready=waiting) as cluster:
            cluster.start_agent()
            await cluster.queue("4")
            await cluster.submit("one")
            await cluster.until_condition("one", "Admitted", "Admitted")
            play = Play(cluster)
            await play.pods("one", active=1, ready=1)
            await cluster.until_condition("one", "PodsReady", "Started")
            await play.pods("one", active=1, ready=0)
            await cluster.until_condition("one", "PodsReady", "WaitForRecovery")
            failed_at = asyncio.get_running_loop().time()
            await cluster.until_condition("one", "Evicted", "PodsReadyTimeout")
            assert 118 <= asyncio.get_running_loop().time() - failed_at <= 123

    async def test_nothing_starts_before_the_pods_of_the_one_before_are_ready(self):
        async with playing(wait_for_pods_ready={"block_admission": True}) as cluster:
            cluster.start_agent()
            await cluster.queue("4")
            play = Play(cluster)
            await cluster.submit("one")
            await cluster.until_condition("one", "Admitted", "Admitted")
            await cluster.submit("two")
            held = await play.condition_now("two", "QuotaReserved")
            assert held[:2] == ("False", "WaitingForPodsReady")
            await play.pods("one", active=1, ready=1)
            await cluster.until_condition("two", "Admitted", "Admitted")


def check(name):
    return stanza({"kind": "AdmissionCheck", "metadata": {"name": name}, "spec": {"controllerName": "example.com/c"}})


ACTIVE = {
    "status": {
        "conditions": [
            {
                "type": "Active",
                "status": "True",
                "reason": "Active",
                "message": "is up",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    }
}


class TestChecksAndActivity:
    async def test_a_check_of_one_flavor_is_asked_only_there(self):
        async with playing() as cluster:
            cluster.start_agent()
            play = Play(cluster)
            await cluster.client.create(ADMISSION_CHECKS, check("spot-check"), "")
            await play.patch(ADMISSION_CHECKS, "spot-check", "", ACTIVE, "status")
            spot = stanza({"kind": "ResourceFlavor", "metadata": {"name": "spot"}})
            await cluster.client.create(RESOURCE_FLAVORS, spot, "")
            flavors = [
                {
                    "name": name,
                    "resources": [{"name": r, "nominalQuota": n} for r, n in (("cpu", 1), ("memory", "8Gi"))],
                }
                for name in ("default", "spot")
            ]
            groups = [{"coveredResources": ["cpu", "memory"], "flavors": flavors}]
            checks = {"admissionChecks": [{"name": "spot-check", "onFlavors": ["spot"]}]}
            await cluster.queue("1", resourceGroups=groups, admissionChecksStrategy=checks)
            await cluster.submit("one")
            await cluster.until_condition("one", "Admitted", "Admitted")
            assert (await cluster.workload("one"))["status"].get("admissionChecks") is None
            await cluster.submit("two")
            await cluster.until_condition("two", "QuotaReserved", "QuotaReserved")
            assert (await play.condition_now("two", "Admitted"))[:2] == ("False", "UnsatisfiedAdmissionChecks")
            [asked] = (await cluster.workload("two"))["status"]["admissionChecks"]
            assert (asked["name"], asked["state"]) == ("spot-check", "Pending")

    async def test_rejected_check_deactivates(self):
        async with playing() as cluster:
            cluster.start_agent()
            play = Play(cluster)
            await cluster.client.create(ADMISSION_CHECKS, check("budget"), "")
            await play.patch(ADMISSION_CHECKS, "budget", "", ACTIVE, "status")
            await cluster.queue("4", admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]})
            await cluster.submit("one")
            await cluster.until_condition("one", "QuotaReserved", "QuotaReserved")
            state = {"name": "budget", "state": "Rejected", "message": "too dear"}
            state |= {"lastTransitionTime": "2026-01-01T00:00:00Z"}
            workload = (await cluster.workload("one"))["metadata"]["name"]
            await play.patch(WORKLOADS, workload, "default", {"status": {"admissionChecks": [state]}}, "status")
            gone = await cluster.until_condition("one", "Evicted", "DeactivatedDueToAdmissionCheck")
            assert 'AdmissionCheck in Rejected state: "budget" (too dear)' in gone["message"]
            assert await play.told("AdmissionCheckRejected")

    async def test_queue_says_all_that_keeps_it_from_admitting(self):
        async with playing() as cluster:
            cluster.start_agent()
            play = Play(cluster)
            await cluster.queue("4", admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]})
            found = await play.queue_condition(CLUSTER_QUEUES, "cluster-queue", "", "AdmissionCheckNotFound")
            assert found["message"] == "Can't admit new workloads: references missing AdmissionCheck(s): budget."
            await cluster.client.create(ADMISSION_CHECKS, check("budget"), "")
            found = await play.queue_condition(CLUSTER_QUEUES, "cluster-queue", "", "AdmissionCheckInactive")
            assert found["status"] == "False"
            await play.patch(ADMISSION_CHECKS, "budget", "", ACTIVE, "status")
            assert (await play.queue_condition(CLUSTER_QUEUES, "cluster-queue", "", "Ready"))["status"] == "True"

    async def test_cohorts_in_a_circle_admit_nothing_until_it_is_broken(self):
        """Kueue leaves the Active condition as it is (spec/engine 17.2); `explain` names the circle."""
        async with playing() as cluster:
            cluster.start_agent()
            play = Play(cluster)
            for name, parent in (("a", "b"), ("b", "a")):
                document = stanza({"kind": "Cohort", "metadata": {"name": name}, "spec": {"parentName": parent}})
                await cluster.client.create(COHORTS, document, "")
            await cluster.queue("4", cohortName="a")
            await cluster.submit("one")
            await asyncio.sleep(5)
            assert (await play.condition_now("one", "Admitted"))[0] == "False"
            await play.patch(COHORTS, "b", "", {"spec": {"parentName": None}})
            await cluster.until_condition("one", "Admitted", "Admitted")

    async def test_cohort_tells_its_share(self):
        async with playing(fair_sharing={"preemption_strategies": ["LessThanInitialShare"]}) as cluster:
            cluster.start_agent()
            play = Play(cluster)
            for name, parent in (("all", None), ("part", "all")):
                document = stanza({"kind": "Cohort", "metadata": {"name": name}, "spec": {"parentName": parent}})
                await cluster.client.create(COHORTS, document, "")
            lender = stanza({"kind": "ClusterQueue", "metadata": {"name": "lender"}})
            flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
            groups = [{"coveredResources": ["cpu"], "flavors": [flavor]}]
            spec = {"namespaceSelector": {}, "cohortName": "all", "resourceGroups": groups}
            await cluster.client.create(CLUSTER_QUEUES, {**lender, "spec": spec}, "")
            await cluster.queue("0", cohortName="part")
            await cluster.submit("one", cpu="2")
            await cluster.until_condition("one", "Admitted", "Admitted")
            await asyncio.sleep(3)
            told = (await play.get(COHORTS, "part"))["status"]["fairSharing"]["weightedShare"]
            assert told == (await play.get(CLUSTER_QUEUES, "cluster-queue"))["status"]["fairSharing"]["weightedShare"]
            assert told == 500
