"""A job that matters more takes the place of one that matters less, which comes back afterwards."""

import asyncio

import pytest

from tests.integration.agent.virtual import Cluster
from tests.integration.agent.world import job
from worker_agent.api.resource_type import JOBS, WORKLOAD_PRIORITY_CLASSES

PREEMPTING = {"preemption": {"withinClusterQueue": "LowerPriority"}}


def priority_class(name, value):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def classed(name, priority, cpu="3"):
    document = job(name, cpu)
    document["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
    return document


@pytest.fixture
async def preempting(cluster):
    """A queue of 4 cpu in which ``low``, a job of 3, is running."""
    await cluster.queue(**PREEMPTING)
    for name, value in (("low", 1), ("high", 100)):
        await cluster.create(WORKLOAD_PRIORITY_CLASSES, priority_class(name, value))

    async def known():
        return len(cluster.agent.informer(WORKLOAD_PRIORITY_CLASSES).keys()) == 2

    await cluster.until(known, "the classes are known")
    await cluster.create(JOBS, classed("low", "low"))
    await cluster.started("low")
    await cluster.run_pods("low")
    return cluster


async def test_high_priority_job_evicts_a_low_one_which_runs_again_later(preempting):
    cluster = preempting
    await cluster.create(JOBS, classed("high", "high"))
    preempted = await cluster.condition("low", "Preempted", "True", "InClusterQueue")
    assert "due to prioritization in the ClusterQueue; preemptor path: /cluster-queue" in preempted["message"]
    waiting = await cluster.condition("high", "QuotaReserved", "False", "WaitingForPreemptedWorkloads")
    assert waiting["message"].endswith(". Pending the preemption of 1 workload(s)")
    await cluster.finish_pods("low")
    await cluster.condition("low", "QuotaReserved", "False")
    await cluster.started("high")
    await cluster.condition("low", "Requeued", "True", "Preempted")
    assert (await cluster.job("low"))["spec"]["suspend"] is True
    await cluster.finish("high")
    await cluster.started("low")
    reset = await cluster.condition("low", "Evicted", "False", "QuotaReserved")
    assert reset["message"] == f"Previously: {preempted['message']}"


async def test_both_sides_of_a_preemption_are_told_once(preempting):
    cluster = preempting
    await cluster.create(JOBS, classed("high", "high"))
    await cluster.condition("low", "Evicted", "True", "Preempted")
    await cluster.finish_pods("low")
    await cluster.started("high")

    async def told():
        stories = [await cluster.events(reason) for reason in ("Preempted", "PreemptedWorkload")]
        return stories if all(stories) else None

    victim, preemptor = await cluster.until(told, "events of both")
    assert [event["note"].partition("; preemptor effective")[2] for event in victim] == [
        " priority: 100 (base: 100, boost: 0); preemptee effective priority: 1 (base: 1, boost: 0)"
    ]
    assert len(preemptor) == 1
    assert preemptor[0]["note"].startswith("Preempted workload default/job-low-")
    stats = (await cluster.workload_of("low"))["status"]["schedulingStats"]
    assert [entry["count"] for entry in stats["evictions"]] == [1]


@pytest.mark.looptime
async def test_important_jobs_overtake_and_everything_completes_once():
    async with Cluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4", **PREEMPTING)
        await cluster.client.create(WORKLOAD_PRIORITY_CLASSES, priority_class("high", 100), "")
        for number in range(4):
            await cluster.submit(f"low{number}", cpu="2", run_seconds=600)
        await cluster.until_condition("low1", "Admitted", "Admitted")
        await cluster.submit("high", cpu="4", run_seconds=10, labels={"kueue.x-k8s.io/priority-class": "high"})
        await cluster.until_condition("low0", "Preempted", "InClusterQueue")
        await cluster.until_condition("high", "Finished", "Succeeded")
        jobs = await cluster.until_all_complete()
    assert cluster.runs() == {j["metadata"]["uid"]: 1 for j in jobs}


async def seconds_until_urgent_jobs_are_done(classes, **spec):
    """Four long jobs fill the queue, then three short ones arrive that matter more, one every two seconds."""
    async with Cluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4", **spec)
        await cluster.client.create(WORKLOAD_PRIORITY_CLASSES, priority_class("high", 100), "")
        for number in range(4):
            await cluster.submit(f"long{number}", cpu="2", run_seconds=90)
        await cluster.until_condition("long1", "Admitted", "Admitted")
        began = asyncio.get_running_loop().time()
        for number in range(3):
            await cluster.submit(f"short{number}", cpu="2", run_seconds=10, labels=classes)
            await asyncio.sleep(2)
        for number in range(3):
            await cluster.until_condition(f"short{number}", "Finished", "Succeeded", pause=2.0)
        return asyncio.get_running_loop().time() - began


@pytest.mark.looptime
async def test_priority_and_preemption_pay():
    in_order = await seconds_until_urgent_jobs_are_done({}, queueingStrategy="StrictFIFO")
    urgent = await seconds_until_urgent_jobs_are_done({"kueue.x-k8s.io/priority-class": "high"}, **PREEMPTING)
    print(
        f"urgent jobs done after {urgent:.0f} s, in arrival order after {in_order:.0f} s: {1 - urgent / in_order:.0%}"
    )
    assert urgent < 0.85 * in_order
