"""A Job's way through the agent, on the embedded API server with webhooks, as its user sees it."""

import pytest

from worker_agent.api.resource_type import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, WORKLOADS
from worker_agent.kube.errors import Forbidden


async def test_job_is_suspended_by_the_webhook_then_admitted_and_started(cluster):
    await cluster.queue()
    created = await cluster.submit("one")
    assert created["spec"]["suspend"] is True
    started = await cluster.started("one")
    labels = started["spec"]["template"]["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/podset"] == "main"
    assert labels["kueue.x-k8s.io/cluster-queue-name"] == "cluster-queue"
    await cluster.condition("one", "Admitted", "True", "Admitted")


async def test_second_job_waits_with_its_reason_and_runs_when_the_first_has_ended(cluster):
    await cluster.queue()
    await cluster.submit("first")
    await cluster.started("first")
    await cluster.submit("second")
    waiting = await cluster.condition("second", "QuotaReserved", "False", "WaitingForQuota")
    assert waiting["message"] == (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 2 more needed"
    )
    assert (await cluster.job("second"))["spec"]["suspend"] is True
    await cluster.run_pods("first")
    await cluster.condition("first", "PodsReady", "True", "Started")
    await cluster.finish("first")
    await cluster.condition("first", "Finished", "True", "Succeeded")
    await cluster.started("second")


async def test_job_without_queue_is_left_alone(cluster):
    await cluster.queue()
    plain = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "plain", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
    }
    created = await cluster.create(JOBS, plain)
    assert not created["spec"].get("suspend")
    await cluster.submit("queued")
    await cluster.started("queued")
    assert await cluster.workload_of("plain") is None


async def test_deleted_job_gives_its_quota_back(cluster):
    await cluster.queue()
    await cluster.submit("first")
    await cluster.started("first")
    await cluster.submit("second")
    await cluster.condition("second", "QuotaReserved", "False", "WaitingForQuota")
    await cluster.user.delete(JOBS, "first", "default")
    await cluster.started("second")

    async def gone():
        return len(await cluster.all(WORKLOADS, "default")) == 1

    await cluster.until(gone, "the workload of the deleted job goes")


async def test_queue_statuses_tell_usage_and_pending(cluster):
    await cluster.queue()
    await cluster.submit("first")
    await cluster.started("first")
    await cluster.submit("second")

    async def told():
        status = (await cluster.get(CLUSTER_QUEUES, "cluster-queue")).get("status") or {}
        return (status.get("pendingWorkloads"), status.get("admittedWorkloads")) == (1, 1) and status

    status = await cluster.until(told, "the ClusterQueue shows one pending, one admitted")
    usage = {r["name"]: r["total"] for r in status["flavorsUsage"][0]["resources"]}
    assert usage == {"cpu": "3", "memory": "1Gi"}

    async def told_locally():
        status = (await cluster.get(LOCAL_QUEUES, "user-queue", "default")).get("status") or {}
        return (status.get("pendingWorkloads"), status.get("admittedWorkloads")) == (1, 1)

    await cluster.until(told_locally, "the LocalQueue shows the same")


async def test_quiet_cluster_costs_no_writes(cluster):
    await cluster.queue()
    await cluster.submit("one")
    await cluster.started("one")
    await cluster.run_pods("one")
    await cluster.condition("one", "PodsReady", "True")
    writes = cluster.agent.client.writes

    async def settled():
        before = dict(writes)
        await cluster.agent.clock.sleep(1.5)
        return before == dict(writes)

    await cluster.until(settled, "writes come to rest")
    admission = sum(
        count for (verb, resource, sub), count in writes.items() if (resource, sub) == ("workloads", "status")
    )
    assert admission <= 4


async def test_wrong_cluster_queue_is_refused_in_the_webhooks_words(cluster):
    await cluster.queue()
    queue = await cluster.get(CLUSTER_QUEUES, "cluster-queue")
    quotas = queue["spec"]["resourceGroups"]
    quotas[0]["flavors"][0]["resources"][0]["nominalQuota"] = "-1"
    with pytest.raises(Forbidden) as refusal:
        await cluster.patch(CLUSTER_QUEUES, "cluster-queue", "", {"spec": {"resourceGroups": quotas}})
    assert str(refusal.value) == (
        'admission webhook "vclusterqueue.kb.io" denied the request: '
        'spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "-1": '
        "must be greater than or equal to 0"
    )
