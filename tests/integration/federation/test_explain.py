"""``fedhub explain`` and ``fedhub what-if`` on a federation that runs."""

import pytest

from hub.app import explaining, hypothetical
from hub.app.configuration import FederationConfiguration
from hub.app.explaining import FederationOutlook, Manager, Unanswerable
from hub.app.worker_reading import Asker
from hub.engine.remote_group import SyncPolicy
from tests.integration.federation.test_cluster_administration import active
from tests.integration.federation.world import Federation, job, running, runs_on, until, workload_of
from worker_agent.api.document import Document
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS
from worker_agent.engine.policy import Policy
from worker_agent.jobs import declared


def asker(world: Federation, *own: str) -> Asker:
    lent = {name: world.workers[name].switch for name in own}
    return Asker(FederationConfiguration(), Policy(), world._transport, lent)


async def explained(world: Federation, name: str) -> FederationOutlook:
    found = await workload_of(world, name)
    assert found is not None
    return await explaining.explain(await Manager.read(world.manager.client), asker(world), found, submitted=True)


async def what_if(world: Federation, document: Document, *own: str) -> FederationOutlook:
    classes = await hypothetical.priority_classes(world.manager.client)
    made = hypothetical.workload_of(document, "ns", SyncPolicy().jobs, classes)
    manager = await Manager.read(world.manager.client)
    return await explaining.explain(manager, asker(world, *own), made, submitted=False)


def verdicts(told: FederationOutlook) -> dict[str, str]:
    return {each.cluster: each.verdict for each in told.clusters}


async def both_active(world: Federation) -> None:
    for name in world.workers:
        await until(lambda name=name: active(world, name), f"{name} is Active")


async def test_a_job_not_submitted_is_judged_by_every_cluster_and_nothing_is_written():
    async with running(east=4, west=2) as world:
        await both_active(world)
        told = await what_if(world, job("train", cpu=3))
        assert (told.state, told.best, verdicts(told)) == (
            "Hypothetical",
            "east",
            {"east": "FITS", "west": "IMPOSSIBLE"},
        )
        west = told.clusters[1]
        assert west.change == "1 more cpu in flavor default (nominalQuota 3 instead of 2) of ClusterQueue cq"
        assert await workload_of(world, "train") is None


async def test_a_job_that_runs_is_told_where_and_one_that_waits_why():
    async with running(east=4) as world:
        await both_active(world)
        await world.manager.create(job("train", cpu=3))
        await until(lambda: runs_on(world, "train"), "the job runs")

        async def dispatched() -> bool:
            return (await explained(world, "train")).state == "Dispatched"

        await until(dispatched, "the manager names the cluster")
        assert (await explained(world, "train")).cluster == "east"
        told = await what_if(world, job("next", cpu=2))
        (east,) = told.clusters
        assert (told.best, east.verdict, east.exact) == ("east", "WAITS", True)
        assert "finishing" in east.change
        assert east.nodes_as_of


async def test_a_cordoned_cluster_says_how_to_open_it():
    async with running(east=4) as world:
        await both_active(world)
        annotations = {"fedhub.dev/cordoned": "true"}
        await world.manager.patch(MULTIKUEUE_CLUSTERS, "east", {"metadata": {"annotations": annotations}})
        (east,) = (await what_if(world, job("train"))).clusters
        assert (east.verdict, east.change) == ("IMPOSSIBLE", "fedhub cluster uncordon east")


async def test_a_cluster_that_cannot_be_read_is_unknown_unless_the_asker_brings_a_right():
    async with running(east=4) as world:
        await both_active(world)
        source = {"spec": {"clusterSource": {"kubeConfig": None, "agent": {"name": "east"}}}}
        await world.manager.patch(MULTIKUEUE_CLUSTERS, "east", source)
        (east,) = (await what_if(world, job("train"))).clusters
        assert (east.verdict, east.reason) == ("UNKNOWN", "NotReadHere")
        assert "--worker east=CONTEXT" in east.blocker
        (east,) = (await what_if(world, job("train"), "east")).clusters
        assert east.verdict == "FITS"


async def test_a_queue_that_is_missing_is_named():
    async with running(east=4) as world:
        document = job("train")
        document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "nowhere"}
        with pytest.raises(Unanswerable, match="LocalQueue ns/nowhere does not exist on the manager: create it"):
            await what_if(world, document)


async def test_a_foreign_kind_is_judged_as_dispatch_judges_it():
    foreign = FederationConfiguration(external_kinds=(declared.external("Run.v1.example.com"),))
    async with running(east=4) as world:
        await both_active(world)
        classes = await hypothetical.priority_classes(world.manager.client)
        made = hypothetical.workload_of(job("train"), "ns", SyncPolicy().jobs, classes)
        made["metadata"]["ownerReferences"][0] |= {"apiVersion": "example.com/v1", "kind": "Run"}
        manager = await Manager.read(world.manager.client)
        with pytest.raises(Unanswerable, match="No multikueue adapter found"):
            await explaining.explain(manager, asker(world), made, submitted=False)
        everyone = Asker(foreign, Policy(), world._transport, {})
        told = await explaining.explain(manager, everyone, made, submitted=False)
        assert verdicts(told) == {"east": "FITS"}
