"""Objects of Kueue's older version: written, read, defaulted, validated and admitted like today's, on every server."""

from dataclasses import replace

import pytest

from tests.integration.agent.world import queue_documents
from tests.integration.agent.world import world as empty_world
from worker_agent.api import crds
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    CUSTOM_RESOURCE_DEFINITIONS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from worker_agent.kube.client import PatchType
from worker_agent.kube.errors import Invalid

OLD_QUEUES = replace(CLUSTER_QUEUES, version="v1beta1")
OLD_LOCAL_QUEUES = replace(LOCAL_QUEUES, version="v1beta1")
OLD_WORKLOADS = replace(WORKLOADS, version="v1beta1")
OLD_FLAVORS = replace(RESOURCE_FLAVORS, version="v1beta1")


def in_v1beta1(document):
    return {**document, "apiVersion": "kueue.x-k8s.io/v1beta1"}


def queue(**spec):
    ((_, flavor), (_, made), (_, local)) = queue_documents("4")
    return flavor, in_v1beta1({**made, "spec": {**made["spec"], **spec}}), in_v1beta1(local)


async def test_queue_of_v1beta1_is_read_in_v1beta2_and_back(cluster):
    flavor, made, _ = queue(cohort="all", flavorFungibility={"whenCanBorrow": "Borrow"})
    await cluster.create(OLD_FLAVORS, in_v1beta1(flavor))
    await cluster.create(OLD_QUEUES, made)
    new = await cluster.get(CLUSTER_QUEUES, "cluster-queue")
    assert new["spec"]["cohortName"] == "all"
    assert new["spec"]["flavorFungibility"]["whenCanBorrow"] == "MayStopSearch"
    old = await cluster.get(OLD_QUEUES, "cluster-queue")
    assert (old["apiVersion"], old["spec"]["cohort"]) == ("kueue.x-k8s.io/v1beta1", "all")
    assert old["spec"]["flavorFungibility"]["whenCanBorrow"] == "Borrow"


async def test_webhooks_see_v1beta1_in_the_version_of_their_rules(cluster):
    _, made, _ = queue()
    created = await cluster.create(OLD_QUEUES, made)
    assert created["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    bad = in_v1beta1({**made, "metadata": {"name": "bad"}})
    bad["spec"]["resourceGroups"][0]["coveredResources"] = ["memory", "cpu"]
    with pytest.raises(Exception, match="must match the name in coveredResources"):
        await cluster.create(OLD_QUEUES, bad)


async def test_job_in_queues_of_v1beta1_runs(cluster):
    flavor, made, local = queue(cohort="all")
    await cluster.create(OLD_FLAVORS, in_v1beta1(flavor))
    await cluster.create(OLD_QUEUES, made)
    await cluster.create(OLD_LOCAL_QUEUES, local)
    await cluster.submit("one")
    await cluster.started("one")
    (workload,) = await cluster.all(OLD_WORKLOADS, "default")
    assert workload["status"]["admission"]["clusterQueue"] == "cluster-queue"
    assert workload["spec"]["priorityClassSource"] == ""


async def test_what_v1beta1_cannot_say_survives_a_patch_there(cluster):
    _, made, _ = queue()
    policy = {"migration": {"mode": "RetainFirstAdmission"}}
    today = {**made, "apiVersion": "kueue.x-k8s.io/v1beta2"}
    await cluster.create(CLUSTER_QUEUES, {**today, "spec": {**today["spec"], "concurrentAdmissionPolicy": policy}})
    await cluster.user.patch(
        OLD_QUEUES, "cluster-queue", "", {"spec": {"stopPolicy": "Hold"}}, patch_type=PatchType.MERGE
    )
    new = await cluster.get(CLUSTER_QUEUES, "cluster-queue")
    assert (new["spec"]["stopPolicy"], new["spec"]["concurrentAdmissionPolicy"]) == ("Hold", policy)
    assert not new["metadata"].get("annotations")


async def test_limits_of_v1beta1_are_its_own(cluster):
    _, made, _ = queue(flavorFungibility={"whenCanBorrow": "Sometimes"})
    with pytest.raises(Invalid, match='supported values: "MayStopSearch", "TryNextFlavor", "Borrow"'):
        await cluster.create(OLD_QUEUES, made)


async def test_objects_stored_in_v1beta1_fill_the_caches_of_an_agent_that_starts(tmp_path):
    """As an older Kueue leaves them: an agent has to convert before it can list."""
    async with empty_world(tmp_path) as cluster:
        await cluster.start_agent()
        name = f"{CLUSTER_QUEUES.plural}.{CLUSTER_QUEUES.group}"
        flavor, made, local = queue(cohort="all")
        try:
            await stored_in(cluster, name, "v1beta1")
            await cluster.create(RESOURCE_FLAVORS, flavor)
            await cluster.create(OLD_QUEUES, made)
            await cluster.create(OLD_LOCAL_QUEUES, local)
        finally:
            await stored_in(cluster, name, "v1beta2")
        await cluster.kill_agent()
        await cluster.start_agent()
        await cluster.submit("one")
        await cluster.started("one")
        # Without an agent nobody could read what is stored in the older version, nor take it off the server.
        await cluster.user.delete(CLUSTER_QUEUES, "cluster-queue")
        await cluster.patch(CLUSTER_QUEUES, "cluster-queue", "", {"metadata": {"finalizers": None}})


async def stored_in(cluster, definition, version):
    """Makes a version the one that objects are kept in, and waits until the server does so."""
    present = await cluster.get(CUSTOM_RESOURCE_DEFINITIONS, definition)
    versions = [{**each, "storage": each["name"] == version} for each in present["spec"]["versions"]]
    body = {"spec": {"versions": versions}}
    await cluster.user.patch(CUSTOM_RESOURCE_DEFINITIONS, definition, "", body, patch_type=PatchType.MERGE)

    async def taken_up():
        status = (await cluster.get(CUSTOM_RESOURCE_DEFINITIONS, definition))["status"]
        return version in status["storedVersions"]

    await cluster.until(taken_up, f"{definition} is stored in {version}")


def test_definitions_are_stored_in_todays_version():
    stored = {version["name"] for crd in crds.documents() for version in crd["spec"]["versions"] if version["storage"]}
    assert stored == {"v1beta2", "v1alpha1"}


async def test_a_definition_that_was_told_something_else_is_told_again(cluster):
    name = f"{CLUSTER_QUEUES.plural}.{CLUSTER_QUEUES.group}"
    before = await cluster.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    other = {"url": "https://127.0.0.1:1/convert", "caBundle": None}
    body = {"spec": {"conversion": {"webhook": {"clientConfig": other}}}}
    await cluster.user.patch(CUSTOM_RESOURCE_DEFINITIONS, name, "", body, patch_type=PatchType.MERGE)

    async def as_before():
        present = await cluster.get(CUSTOM_RESOURCE_DEFINITIONS, name)
        return present["spec"]["conversion"] == before["spec"]["conversion"]

    await cluster.until(as_before, "the agent converts again")
