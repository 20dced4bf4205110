"""What holds work back beside quota: stop policies, pods that are not ready, checks, deactivation; on virtual time."""

import asyncio

import pytest

from tests.integration.agent.play import Play, playing, stanza
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)

pytestmark = pytest.mark.looptime


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
