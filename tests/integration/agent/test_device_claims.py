"""Device claims as quota in the running agent: counted, refused with a reason, looked at again when that changes."""

import pytest

from tests import cluster_choice
from tests.integration.agent.world import job, world
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEVICE_CLASSES,
    JOBS,
    LOCAL_QUEUES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_FLAVORS,
    RESOURCE_SLICES,
)
from worker_agent.kube.errors import AlreadyExists, ApiError

MAPPINGS = [{"name": "gpus", "device_class_names": ["gpu.example.com"]}]
KUEUE = "kueue.x-k8s.io/v1beta2"


@pytest.fixture
async def cluster(tmp_path):
    """A queue of 4 cpu and 2 gpus on a server that has the kinds of device claims."""
    if cluster_choice.chosen() == "oldest":
        pytest.skip("Kubernetes 1.29 has no device claims of version v1")
    async with world(tmp_path) as made:
        for resource in (DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIM_TEMPLATES):
            await served(made, resource)
        await made.start_agent(resources={"device_class_mappings": MAPPINGS})
        quota = [{"name": n, "nominalQuota": q} for n, q in (("cpu", "4"), ("memory", "8Gi"), ("gpus", "2"))]
        group = {"coveredResources": ["cpu", "memory", "gpus"], "flavors": [{"name": "default", "resources": quota}]}
        spec = {"namespaceSelector": {}, "resourceGroups": [group]}
        await made.create(RESOURCE_FLAVORS, {"apiVersion": KUEUE, "kind": "ResourceFlavor", **named("default")})
        await made.create(CLUSTER_QUEUES, {"apiVersion": KUEUE, "kind": "ClusterQueue", **named("q"), "spec": spec})
        local = {**named("user-queue", "default"), "spec": {"clusterQueue": "q"}}
        await made.create(LOCAL_QUEUES, {"apiVersion": KUEUE, "kind": "LocalQueue", **local})
        yield made


def named(name, namespace=""):
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}


async def served(cluster, resource):
    """Where the server does not have the kind itself, a definition without a schema stands in."""
    names = {"kind": resource.kind, "plural": resource.plural, "singular": resource.kind.lower()}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    metadata = {
        "name": f"{resource.plural}.{resource.group}",
        "annotations": {"api-approved.kubernetes.io": "unapproved, stands in for the built-in kind"},
    }
    scope = "Namespaced" if resource.namespaced else "Cluster"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"group": resource.group, "names": names, "scope": scope, "versions": [version]},
    }
    try:
        await cluster.user.list(resource)
    except ApiError:
        try:
            await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
        except AlreadyExists:
            return

    async def listed():
        try:
            return [await cluster.user.list(resource)]
        except ApiError:
            return None

    await cluster.until(listed, f"{resource.plural} are served")


async def template(cluster, name, count):
    exactly = {"deviceClassName": "gpu.example.com", "count": count, "allocationMode": "ExactCount"}
    spec = {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}}
    document = {"apiVersion": RESOURCE_CLAIM_TEMPLATES.api_version, "kind": "ResourceClaimTemplate"}
    await cluster.create(RESOURCE_CLAIM_TEMPLATES, {**document, **named(name, "default"), "spec": spec})


async def submit(cluster, name, claim):
    document = job(name, "1")
    spec = document["spec"]["template"]["spec"]
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": claim}]
    spec["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    await cluster.create(JOBS, document)


async def test_devices_count_against_the_quota(cluster):
    await template(cluster, "pair", 2)
    await submit(cluster, "one", "pair")
    await cluster.started("one")
    admission = (await cluster.workload_of("one"))["status"]["admission"]
    assert admission["podSetAssignments"][0]["resourceUsage"]["gpus"] == "2"
    await submit(cluster, "two", "pair")
    told = await cluster.condition("two", "QuotaReserved", "False", "WaitingForQuota")
    assert "insufficient unused quota for gpus in flavor default, 2 more needed" in told["message"]
    await cluster.finish("one")
    await cluster.started("two")


async def test_job_waits_for_a_template_that_comes_later(cluster):
    await submit(cluster, "early", "late")
    told = await cluster.condition("early", "QuotaReserved", "False", "Misconfigured")
    assert 'resourceclaimtemplates.resource.k8s.io "late" not found' in told["message"]
    await cluster.condition("early", "Requeued", "False", "Inadmissible")
    await template(cluster, "late", 1)
    await cluster.started("early")


async def test_more_devices_than_there_are_is_told_as_such(cluster):
    await template(cluster, "many", 3)
    await submit(cluster, "greedy", "many")
    await cluster.condition("greedy", "QuotaReserved", "False", "ExceedsMaxQuota")
