"""Concurrent admission in the running agent: one variant per flavor, the parent follows the one that got in."""

import pytest

from tests.integration.agent.world import job, world
from worker_agent.api.resource_type import CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS

KUEUE = "kueue.x-k8s.io/v1beta2"


def _quota(flavor):
    resources = [{"name": "cpu", "nominalQuota": "4"}, {"name": "memory", "nominalQuota": "8Gi"}]
    return {"name": flavor, "resources": resources}


@pytest.fixture
async def cluster(tmp_path):
    """A queue of 4 cpu of the flavor ``good`` and 4 of ``spare``, both tried at once."""
    async with world(tmp_path) as made:
        await made.start_agent(feature_gates={"ConcurrentAdmission": True})
        for flavor in ("good", "spare"):
            await made.create(RESOURCE_FLAVORS, _object("ResourceFlavor", flavor))
        spec = {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [_quota("good"), _quota("spare")]}],
            "concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}},
        }
        await made.create(CLUSTER_QUEUES, _object("ClusterQueue", "both") | {"spec": spec})
        local = _object("LocalQueue", "user-queue") | {"spec": {"clusterQueue": "both"}}
        local["metadata"]["namespace"] = "default"
        await made.create(LOCAL_QUEUES, local)
        yield made


def _object(kind, name):
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}}


async def flavor_of(cluster, name):
    workload = await cluster.workload_of(name)
    admission = ((workload or {}).get("status") or {}).get("admission")
    return admission and admission["podSetAssignments"][0]["flavors"]["cpu"]


async def variants_of(cluster, name):
    parent = (await cluster.workload_of(name))["metadata"]["name"]
    found = [w for w in await cluster.all(WORKLOADS, "default") if _owner(w) == parent]
    return {w["metadata"]["annotations"]["kueue.x-k8s.io/workload-allowed-resource-flavors"]: w for w in found}


def _owner(workload):
    return next((o["name"] for o in workload["metadata"].get("ownerReferences") or () if o["kind"] == "Workload"), "")


async def runs_on(cluster, name, flavor):
    async def so():
        return await flavor_of(cluster, name) == flavor

    await cluster.until(so, f"{name} is admitted on {flavor}")
    await cluster.started(name)


async def test_job_runs_on_the_best_flavor_and_worse_ones_are_given_up(cluster):
    await cluster.submit("one")
    await runs_on(cluster, "one", "good")
    parent = await cluster.workload_of("one")
    assert parent["metadata"]["labels"]["kueue.x-k8s.io/concurrent-admission-parent"] == "true"

    async def given_up():
        return (await variants_of(cluster, "one"))["spare"]["spec"].get("active") is False

    await cluster.until(given_up, "the variant on spare is switched off")
    queue = await cluster.get(CLUSTER_QUEUES, "both")
    assert queue["status"]["reservingWorkloads"] <= 1


async def test_parent_takes_no_quota_of_its_own(cluster):
    await cluster.submit("one", cpu="4")
    await runs_on(cluster, "one", "good")
    await cluster.submit("two", cpu="4")
    await runs_on(cluster, "two", "spare")


async def test_workload_moves_when_a_better_flavor_gets_free(cluster):
    await cluster.submit("one", cpu="4")
    await runs_on(cluster, "one", "good")
    await cluster.submit("two", cpu="4")
    await runs_on(cluster, "two", "spare")
    await cluster.run_pods("two")
    await cluster.finish("one")
    await cluster.finish_pods("two")
    await runs_on(cluster, "two", "good")


async def test_variants_end_with_their_parent(cluster):
    await cluster.submit("one")
    await runs_on(cluster, "one", "good")
    await cluster.finish("one")

    async def ended():
        found = (await variants_of(cluster, "one")).values()
        return all(_is_true(variant, "Finished") for variant in found)

    await cluster.until(ended, "all variants are finished")


def _is_true(workload, type_):
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any(c["type"] == type_ and c["status"] == "True" for c in conditions)


async def test_user_switches_all_off_by_the_parent(cluster):
    await cluster.create(JOBS, job("one", "4"))
    await runs_on(cluster, "one", "good")
    name = (await cluster.workload_of("one"))["metadata"]["name"]
    await cluster.patch(WORKLOADS, name, "default", {"spec": {"active": False}})
    await cluster.condition("one", "QuotaReserved", "False")

    async def off():
        found = (await variants_of(cluster, "one")).values()
        return not any(v["spec"].get("active", True) or _is_true(v, "QuotaReserved") for v in found)

    await cluster.until(off, "no variant holds quota or tries to")
