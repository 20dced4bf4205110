"""Faults between eviction, checks, restarts and other writers: B51, B63, B64, B78. Whole agents on virtual time."""

import asyncio
import json

import pytest

from tests.unit.cases.cluster import CaseCluster
from worker_agent.api.resource_type import CLUSTER_QUEUES, WORKLOADS
from worker_agent.kube.client import PatchType

pytestmark = pytest.mark.looptime

CHECKED = {"admissionChecksStrategy": {"admissionChecks": [{"name": "ext"}]}}
SEEN = {
    "type": "example.com/Seen",
    "status": "True",
    "reason": "Seen",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize("late", [0.0, 20.0])
async def test_b51_job_that_lost_its_pods_gives_its_quota_back_however_late_they_are_gone(late):
    rules = {"timeout": "60s", "recovery_timeout": "5s", "requeuing_strategy": {"backoff_base_seconds": 60}}
    async with CaseCluster(wait_for_pods_ready=rules) as cluster:
        cluster.start_agent()
        await cluster.queue("4")
        await cluster.submit("j", cpu="4")
        await cluster.until("j", Admitted="True")
        await cluster.report("j", active=1, ready=1, startTime="2026-01-01T00:00:00Z")
        await cluster.until("j", PodsReady="True")
        await cluster.submit("x", cpu="1")
        await cluster.report("j", active=1, ready=0)
        await cluster.until("j", Evicted="True")
        await asyncio.sleep(late)
        assert (await cluster.conditions("x")).get("Admitted", "False") == "False"
        await cluster.report("j", active=0, ready=0, failed=1)
        await cluster.until("j", QuotaReserved="False", Admitted="False")
        await cluster.until("x", Admitted="True")
        await asyncio.sleep(1)
        assert await cluster.cpu_reserved() == "1"
        await cluster.report("x", active=0, succeeded=1, **_complete())
        await cluster.until("x", Finished="True")
        await cluster.until("j", patience=120, Admitted="True", Evicted="False")


MOMENTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


async def test_b63_second_retry_while_the_job_stops_does_not_lose_it():
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await cluster.make_check()
        await cluster.queue("4", **CHECKED)
        for number, moment in enumerate(MOMENTS):
            await _retried_twice(cluster, f"j{number}", moment)


async def _retried_twice(cluster, job, moment):
    await cluster.submit(job, cpu="4")
    await cluster.until(job, QuotaReserved="True")
    await cluster.report(job, active=1)
    await cluster.check(job, "Retry")
    await cluster.until(job, Evicted="True")
    await asyncio.sleep(moment)
    await cluster.check(job, "Retry")
    await asyncio.sleep(0.5)
    await cluster.report(job, active=0)
    await cluster.until(job, QuotaReserved="True", Evicted="False")
    [check] = (await cluster.workload(job))["status"]["admissionChecks"]
    assert (check["state"], moment) == ("Pending", moment)
    await cluster.check(job, "Ready")
    await cluster.until(job, Admitted="True")
    await cluster.report(job, active=0, succeeded=1, **_complete())
    await cluster.until(job, Finished="True")


async def test_b44_rejection_while_the_job_stops_is_final():
    """The same kind as B63, with the other verdict: it must not be lost either."""
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await cluster.make_check()
        await cluster.queue("4", **CHECKED)
        await cluster.submit("j")
        await cluster.until("j", QuotaReserved="True")
        await cluster.report("j", active=1)
        await cluster.check("j", "Retry")
        await cluster.until("j", Evicted="True")
        await cluster.check("j", "Rejected")
        await asyncio.sleep(1)
        assert (await cluster.workload("j"))["spec"]["active"] is False
        await cluster.report("j", active=0)
        await cluster.until("j", QuotaReserved="False", Admitted="False")
        await asyncio.sleep(2)
        assert await cluster.cpu_reserved() == "0"


async def _mark(cluster, until):
    """Another program that marks every Workload as soon as it sees it."""
    seen = set()
    while not until.is_set():
        for raw in (await cluster.client.list(WORKLOADS, "default")).items:
            found = json.loads(raw)
            name = found["metadata"]["name"]
            if name in seen:
                continue
            seen.add(name)
            own = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name}}
            status = {**own, "status": {"conditions": [SEEN]}}
            await cluster.client.apply(WORKLOADS, name, "default", status, field_manager="seer", subresource="status")
            labels = {"metadata": {"labels": {"example.com/seen": "yes"}}}
            await cluster.client.patch(WORKLOADS, name, "default", labels, patch_type=PatchType.MERGE)
        await asyncio.sleep(0.05)


async def test_b64_marks_of_others_survive_admission_eviction_and_the_way_back():
    count = 8
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await cluster.queue(str(count), stopPolicy="Hold")
        over = asyncio.Event()
        marking = asyncio.create_task(_mark(cluster, over))
        for number in range(count):
            await cluster.submit(f"j{number}")
        await _stop_policy(cluster, "None")
        await _all(cluster, count, "Admitted", "True")
        await _stop_policy(cluster, "HoldAndDrain")
        await _all(cluster, count, "QuotaReserved", "False")
        await _stop_policy(cluster, "None")
        await _all(cluster, count, "Admitted", "True")
        over.set()
        await marking
        for workload in await _workloads(cluster):
            conditions = {c["type"]: c["status"] for c in workload["status"]["conditions"]}
            assert conditions["example.com/Seen"] == "True"
            assert workload["metadata"]["labels"]["example.com/seen"] == "yes"


async def test_b78_restart_counts_and_touches_nothing_that_is_over():
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await cluster.queue("4")
        for name in ("f1", "f2"):
            await cluster.submit(name, cpu="2")
            await cluster.until(name, Admitted="True")
            await cluster.report(name, active=0, succeeded=1, **_complete())
            await cluster.until(name, Finished="True")
        await cluster.submit("d", cpu="4")
        await cluster.until("d", Admitted="True")
        name = (await cluster.workload("d"))["metadata"]["name"]
        await cluster.client.patch(WORKLOADS, name, "default", {"spec": {"active": False}}, patch_type=PatchType.MERGE)
        await cluster.until("d", Evicted="True", QuotaReserved="False")
        await asyncio.sleep(5)
        await cluster.kill_agent()
        before = [await cluster.workload(job) for job in ("f1", "f2", "d")]
        assert all(workload["status"].get("admission") for workload in before[:2])
        cluster.start_agent()
        await cluster.submit("x", cpu="4")
        await cluster.until("x", Admitted="True")
        await asyncio.sleep(5)
        assert await cluster.cpu_reserved() == "4"
        assert [await cluster.workload(job) for job in ("f1", "f2", "d")] == before


def _complete():
    at = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": type_, "status": "True", "lastTransitionTime": at, "lastProbeTime": at}
        for type_ in ("SuccessCriteriaMet", "Complete")
    ]
    return {"conditions": conditions, "startTime": at, "completionTime": at, "uncountedTerminatedPods": {}}


async def _workloads(cluster):
    return [json.loads(raw) for raw in (await cluster.client.list(WORKLOADS, "default")).items]


async def _all(cluster, count, type_, status):
    async with asyncio.timeout(60):
        while True:
            conditions = [
                {c["type"]: c["status"] for c in w.get("status", {}).get("conditions", [])}
                for w in await _workloads(cluster)
            ]
            if len(conditions) == count and all(c.get(type_) == status for c in conditions):
                return
            cluster.check_agent()
            await asyncio.sleep(0.5)


async def _stop_policy(cluster, policy):
    body = {"spec": {"stopPolicy": policy}}
    await cluster.client.patch(CLUSTER_QUEUES, "cluster-queue", "", body, patch_type=PatchType.MERGE)
