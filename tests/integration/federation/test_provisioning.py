"""Jobs for which nodes have to be made: few clusters are asked at once, the first to have them gets the job."""

import contextlib
from collections.abc import AsyncIterator

from tests.integration.federation.world import API, Cluster, Federation, job, running, runs_on, until, workload_of
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    NODES,
    PROVISIONING_REQUEST_CONFIGS,
    PROVISIONING_REQUESTS,
    RESOURCE_FLAVORS,
    WORKLOADS,
)

CONFIG = {
    "apiVersion": API,
    "kind": "ProvisioningRequestConfig",
    "metadata": {"name": "grow"},
    "spec": {"provisioningClassName": "grow.example.com"},
}
CHECK = {
    "apiVersion": API,
    "kind": "AdmissionCheck",
    "metadata": {"name": "room"},
    "spec": {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "grow"},
    },
}


def policy(**spec: object) -> Document:
    return {
        "apiVersion": "fedhub.dev/v1alpha1",
        "kind": "DispatchPolicy",
        "metadata": {"name": "default"},
        "spec": spec,
    }


@contextlib.asynccontextmanager
async def growing(**workers: int) -> AsyncIterator[Federation]:
    """A federation whose workers all ask their autoscalers first; the test answers for these."""
    async with running(start_hub=False, **workers) as world:
        for cluster in world.workers.values():
            await guard(cluster)
        yield world


async def guard(cluster: Cluster) -> None:
    await cluster.create(CONFIG, CHECK)
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "room"}]}}
    await cluster.patch(CLUSTER_QUEUES, "cq", {"spec": strategy})


async def asked(world: Federation) -> dict[str, Document]:
    """The ProvisioningRequest of each worker that has one."""
    found = {}
    for name, cluster in world.workers.items():
        for request in await cluster.all(PROVISIONING_REQUESTS):
            found[name] = request
    return found


async def until_asked(world: Federation, count: int) -> dict[str, Document]:
    async def enough() -> dict[str, Document] | None:
        found = await asked(world)
        return found if len(found) == count else None

    return await until(enough, f"{count} clusters are asked for nodes")


async def answer(world: Federation, worker: str, type_: str) -> None:
    (request,) = await world.workers[worker].all(PROVISIONING_REQUESTS)
    condition = {
        "type": type_,
        "status": "True",
        "reason": "ByTest",
        "message": "said by the test",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = {"status": {"conditions": [condition]}}
    await world.workers[worker].patch(PROVISIONING_REQUESTS, request["metadata"]["name"], body, "status")


async def test_as_many_clusters_are_asked_as_the_policy_allows_and_the_first_to_have_nodes_wins():
    async with growing(a=8, b=8, c=8) as world:
        await world.manager.create(policy(provisioningClusters=2))
        world.start_hub()
        await world.manager.create(job("train", cpu=2))
        first, second = sorted(await until_asked(world, 2))
        workload = await workload_of(world, "train")
        assert sorted(value_at(workload, "status.nominatedClusterNames")) == [first, second]
        told = next(c for c in value_at(workload, "status.conditions") if c["type"] == "fedhub.dev/Dispatched")
        assert "fits once its nodes have come in default (asked too, the first to have nodes wins)" in told["message"]

        await answer(world, second, "Provisioned")
        assert await until(lambda: runs_on(world, "train"), "the job runs") == second

        async def others_told_off() -> bool:
            return set(await asked(world)) == {second} and not await world.workers[first].all(WORKLOADS)

        await until(others_told_off, "the other cluster has nothing left of the job")


async def test_a_cluster_that_fails_is_replaced_by_one_that_was_not_asked():
    async with growing(a=8, b=8, c=8) as world:
        for cluster in world.workers.values():
            await cluster.client.delete(PROVISIONING_REQUEST_CONFIGS, "grow")
            await cluster.create({**CONFIG, "spec": {**CONFIG["spec"], "retryStrategy": {"backoffLimitCount": 0}}})
        world.start_hub()
        await world.manager.create(job("train", cpu=2))
        refusing, going_on = sorted(await until_asked(world, 2))
        (third,) = set(world.workers) - {refusing, going_on}
        kept = (await asked(world))[going_on]["metadata"]["uid"]
        await answer(world, refusing, "Failed")

        async def replaced() -> bool:
            found = await asked(world)
            return set(found) == {going_on, third} and found[going_on]["metadata"]["uid"] == kept

        await until(replaced, "the third cluster is asked in its place, the other goes on")


async def test_a_cluster_that_has_its_nodes_is_preferred_to_those_that_must_make_them():
    async with running(start_hub=False, grows=8, stands=8) as world:
        await guard(world.workers["grows"])
        world.start_hub()
        await world.manager.create(job("train", cpu=2))
        assert await until(lambda: runs_on(world, "train"), "the job runs") == "stands"
        assert await asked(world) == {}


async def test_one_after_the_other_where_the_policy_says_so():
    async with growing(a=8, b=8) as world:
        await world.manager.create(policy(provisioningClusters=1))
        world.start_hub()
        await world.manager.create(job("train", cpu=2))
        (only,) = await until_asked(world, 1)
        await answer(world, only, "Provisioned")
        assert await until(lambda: runs_on(world, "train"), "the job runs") == only


async def test_places_are_found_on_the_worker_after_its_nodes_have_come():
    async with growing(a=8) as world:
        for cluster in (world.manager, world.workers["a"]):
            levels = [{"nodeLabel": "kubernetes.io/hostname"}]
            topology = {"apiVersion": API, "kind": "Topology", "metadata": {"name": "hosts"}}
            await cluster.create({**topology, "spec": {"levels": levels}})
            flavor = {"nodeLabels": {"kubernetes.io/os": "linux"}, "topologyName": "hosts"}
            await cluster.patch(RESOURCE_FLAVORS, "default", {"spec": flavor})
        world.start_hub()
        wanted = job("train", cpu=2)
        annotations = {"kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname"}
        wanted["spec"]["template"]["metadata"] = {"annotations": annotations}
        await world.manager.create(wanted)
        await until_asked(world, 1)
        assert await delayed(world) == "Pending"
        await world.workers["a"].patch(NODES, "node", {"metadata": {"labels": LABELS}})
        await answer(world, "a", "Provisioned")
        assert await until(lambda: runs_on(world, "train"), "the job runs") == "a"

        async def settled() -> bool:
            return await delayed(world) == "Ready"

        await until(settled, "the manager knows that the places are found")


LABELS = {"kubernetes.io/hostname": "node", "kubernetes.io/os": "linux"}


async def delayed(world: Federation) -> str:
    """What the manager's admission says of the delayed places; it never holds the places themselves."""
    workload = await workload_of(world, "train")
    (assignment,) = value_at(workload, "status.admission.podSetAssignments")
    assert "topologyAssignment" not in assignment
    return str(assignment.get("delayedTopologyRequest"))
