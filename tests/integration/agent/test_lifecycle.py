"""What happens to a running Workload: switched off, its queue stopped, its time over, its class changed."""

import msgspec
import pytest

from tests.integration.agent.world import job
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    JOBS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)


async def test_deactivated_workload_is_evicted_and_its_job_stopped(cluster):
    await cluster.queue()
    await cluster.submit("one")
    await cluster.started("one")
    workload = await cluster.workload_of("one")
    await cluster.patch(WORKLOADS, workload["metadata"]["name"], "default", {"spec": {"active": False}})
    await cluster.condition("one", "Evicted", "True", "Deactivated")
    await cluster.condition("one", "QuotaReserved", "False", "Deactivated")
    assert (await cluster.job("one"))["spec"]["suspend"] is True
    restored = (await cluster.job("one"))["spec"]["template"]["metadata"]["labels"]
    assert "kueue.x-k8s.io/podset" not in restored


async def test_reactivated_workload_runs_again(cluster):
    await cluster.queue()
    await cluster.submit("one")
    await cluster.started("one")
    name = (await cluster.workload_of("one"))["metadata"]["name"]
    await cluster.patch(WORKLOADS, name, "default", {"spec": {"active": False}})
    await cluster.condition("one", "QuotaReserved", "False", "Deactivated")
    await cluster.patch(WORKLOADS, name, "default", {"spec": {"active": True}})
    await cluster.condition("one", "Admitted", "True")
    await cluster.started("one")


async def test_drained_cluster_queue_evicts_and_takes_back_when_it_opens(cluster):
    await cluster.queue()
    await cluster.submit("one")
    await cluster.started("one")
    await cluster.patch(CLUSTER_QUEUES, "cluster-queue", "", {"spec": {"stopPolicy": "HoldAndDrain"}})
    evicted = await cluster.condition("one", "Evicted", "True", "ClusterQueueStopped")
    assert evicted["message"] == "The ClusterQueue is stopped"
    await cluster.condition("one", "QuotaReserved", "False", "Suspended")
    await cluster.patch(CLUSTER_QUEUES, "cluster-queue", "", {"spec": {"stopPolicy": "None"}})
    await cluster.condition("one", "Requeued", "True", "ClusterQueueRestarted")
    await cluster.started("one")


async def test_stopped_local_queue_tells_its_waiting_workloads(cluster):
    await cluster.queue(cpu="1")
    await cluster.submit("one")
    await cluster.condition("one", "QuotaReserved", "False")
    await cluster.patch(LOCAL_QUEUES, "user-queue", "default", {"spec": {"stopPolicy": "Hold"}})
    told = await cluster.condition("one", "QuotaReserved", "False", "Suspended")
    assert told["message"] == "LocalQueue user-queue is inactive"


async def test_maximum_execution_time_deactivates(cluster):
    await cluster.queue()
    limited = job("short")
    limited["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "1"
    await cluster.create(JOBS, limited)
    await cluster.condition("short", "Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded")
    await cluster.until(lambda: cluster.events("MaximumExecutionTimeExceeded"), "an event tells of it")


async def test_missing_local_queue_is_named(cluster):
    await cluster.queue()
    await cluster.submit("lost", queue="nowhere")

    async def created():
        return await cluster.workload_of("lost")

    workload = await cluster.until(created, "the workload is made")
    condition = await cluster.condition("lost", "QuotaReserved", "False", "Misconfigured")
    assert condition["message"] == "LocalQueue nowhere doesn't exist"
    assert workload["spec"]["queueName"] == "nowhere"


async def test_new_value_of_a_priority_class_reaches_its_workloads(cluster):
    await cluster.queue(cpu="1")
    await cluster.create(
        WORKLOAD_PRIORITY_CLASSES,
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "high"},
            "value": 7,
        },
    )

    async def known():
        return cluster.agent.informer(WORKLOAD_PRIORITY_CLASSES).keys()

    await cluster.until(known, "the class is known")
    classed = job("one")
    classed["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    await cluster.create(JOBS, classed)

    async def priority(wanted):
        workload = await cluster.workload_of("one")
        return workload is not None and workload["spec"]["priority"] == wanted

    await cluster.until(lambda: priority(7), "priority 7")
    await cluster.patch(WORKLOAD_PRIORITY_CLASSES, "high", "", {"value": 9})
    await cluster.until(lambda: priority(9), "priority 9")


async def test_cluster_queue_in_use_stays_until_it_is_empty(cluster):
    await cluster.queue()
    await cluster.submit("one")
    await cluster.started("one")
    await cluster.user.delete(CLUSTER_QUEUES, "cluster-queue")

    async def terminating():
        status = (await cluster.get(CLUSTER_QUEUES, "cluster-queue")).get("status") or {}
        return any(c["reason"] == "Terminating" for c in status.get("conditions") or ())

    await cluster.until(terminating, "the queue is terminating")
    await cluster.run_pods("one")
    await cluster.finish("one")

    async def gone():
        return await cluster.all(CLUSTER_QUEUES) == []

    await cluster.until(gone, "the empty queue goes")


async def test_flavor_in_use_stays_until_no_queue_names_it(cluster):
    await cluster.queue()

    async def guarded():
        return (await cluster.get(RESOURCE_FLAVORS, "default"))["metadata"].get("finalizers")

    await cluster.until(guarded, "the flavor has its finalizer")
    await cluster.user.delete(RESOURCE_FLAVORS, "default")
    assert (await cluster.get(RESOURCE_FLAVORS, "default"))["metadata"]["deletionTimestamp"]
    await cluster.user.delete(CLUSTER_QUEUES, "cluster-queue")

    async def gone():
        return await cluster.all(RESOURCE_FLAVORS) == []

    await cluster.until(gone, "the flavor goes")


@pytest.mark.parametrize("field", ["flavorsReservation", "conditions"])
async def test_broken_status_is_written_again(cluster, field):
    await cluster.queue()

    async def complete():
        return (await cluster.get(CLUSTER_QUEUES, "cluster-queue")).get("status", {}).get(field)

    before = await cluster.until(complete, "the status is there")
    await cluster.patch(CLUSTER_QUEUES, "cluster-queue", "", {"status": {field: None}}, "status")
    after = await cluster.until(complete, "the status is back")
    assert msgspec.json.encode(after)[:20] == msgspec.json.encode(before)[:20]
