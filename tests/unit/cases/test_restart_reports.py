"""What B78 is for the state, for those who only look: metrics, events and the visibility API after a restart."""

import asyncio
import json

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.cases.cluster import CaseCluster
from tests.unit.cases.test_lifecycles import _complete
from worker_agent.api.resource_type import EVENTS, LIMIT_RANGES, WORKLOADS
from worker_agent.kube.client import PatchType
from worker_agent.visibility import summary
from worker_agent.visibility.question import Page, QueueQuestion

pytestmark = pytest.mark.looptime

COUNTERS = ("admitted_workloads", "quota_reserved_workloads", "evicted_workloads", "finished_workloads")


def told(cluster: CaseCluster, name: str, **labels: str) -> float:
    """The sum of a metric's series with these labels."""
    text = generate_latest(cluster.agent.metrics.registry).decode()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"kueue_{name}" and labels.items() <= sample.labels.items()
    )


async def past(cluster: CaseCluster) -> None:
    """One job that ended, one that was deactivated, one that runs, one that waits."""
    await cluster.queue("4")
    await cluster.submit("ended", cpu="2")
    await cluster.until("ended", Admitted="True")
    await cluster.report("ended", active=0, succeeded=1, **_complete())
    await cluster.until("ended", Finished="True")
    await cluster.submit("given-up", cpu="4")
    await cluster.until("given-up", Admitted="True")
    name = (await cluster.workload("given-up"))["metadata"]["name"]
    await cluster.client.patch(WORKLOADS, name, "default", {"spec": {"active": False}}, patch_type=PatchType.MERGE)
    await cluster.until("given-up", Evicted="True", QuotaReserved="False")
    await cluster.submit("runs", cpu="3", run_seconds=100_000)
    await cluster.until("runs", Admitted="True")
    await cluster.submit("waits", cpu="3")
    await asyncio.sleep(10)


async def test_counters_of_a_new_process_begin_at_nothing_and_gauges_at_what_is():
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await past(cluster)
        await cluster.kill_agent()
        cluster.start_agent()
        await asyncio.sleep(10)
        assert {name: told(cluster, f"{name}_total") for name in COUNTERS} == dict.fromkeys(COUNTERS, 0)
        assert told(cluster, "admitted_active_workloads") == 1
        assert told(cluster, "reserving_active_workloads") == 1
        assert told(cluster, "pending_workloads") == 1
        assert told(cluster, "admission_wait_time_seconds_count") == 0


async def test_events_of_what_happened_before_are_not_told_again():
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await past(cluster)
        await cluster.kill_agent()
        before = await events(cluster)
        cluster.start_agent()
        await asyncio.sleep(30)
        news = await events(cluster) - before
        assert {reason for _, reason in news} <= {"Pending", "WaitingForQuota"}, news


async def events(cluster: CaseCluster) -> set[tuple[str, str]]:
    found = [json.loads(raw) for raw in (await cluster.client.list(EVENTS, "default")).items]
    return {(each["metadata"]["name"], each["reason"]) for each in found}


async def test_only_who_waits_is_listed_as_waiting():
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await past(cluster)
        await cluster.kill_agent()
        cluster.start_agent()
        await asyncio.sleep(10)
        assert [place["metadata"]["name"] for place in waiting(cluster)] == [
            (await cluster.workload("waits"))["metadata"]["name"]
        ]


def waiting(cluster: CaseCluster) -> list[dict]:
    question = QueueQuestion("v1beta2", "cluster-queue")
    found = summary.of(cluster.agent.engine.view, question, Page())
    assert found is not None
    return found["items"]


async def test_b79_edit_of_a_limit_range_writes_nothing_for_what_is_over():
    async with CaseCluster() as cluster:
        cluster.start_agent()
        await past(cluster)
        before = cluster.agent.client.writes.copy()
        limits = [{"type": "Container", "defaultRequest": {"cpu": "1"}}]
        document = {"metadata": {"name": "limits"}, "spec": {"limits": limits}}
        await cluster.client.create(LIMIT_RANGES, document, "default")
        await asyncio.sleep(10)
        news = cluster.agent.client.writes - before
        assert not [target for target in news if target[1] in ("workloads", "jobs")], news
