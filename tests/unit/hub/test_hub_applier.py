"""Intents go where they belong; a failing cluster stops only itself; nothing is told twice."""

import msgspec
import pytest

from hub.controllers.hub_applier import HubApplier
from hub.engine.intents import CountDispatched, EachCluster, OnCluster, Revisit
from hub.metrics import HubMetrics
from tests.unit.hub.groups import KEY, ORIGIN, copy, job
from worker_agent.api.resource_type import JOBS, WORKLOADS
from worker_agent.engine.intents import ApplyStatus, CreateObject, DeleteObject, RecordEvent, RequeueAfter
from worker_agent.kube.errors import AlreadyExists, Conflict, ReconcileError, ServerSilent


class Recorder:
    """An applier that notes what it is given, or fails."""

    def __init__(self, failure=None):
        self.given = []
        self.failure = failure
        self.known = {}

    async def apply(self, intents):
        if self.failure is not None:
            raise self.failure
        self.given += intents
        return next((intent.seconds for intent in intents if isinstance(intent, RequeueAfter)), None)

    def versions(self, intents):
        return self.known


class Link:
    """A worker connection of which only this much is used."""

    def __init__(self, failure=None, found=None):
        self.applier = Recorder(failure)
        self.client = self
        self.known = self
        self.found = found
        self.lease = None
        self.noted = []
        self.suspected = []

    async def get(self, resource, name, namespace):
        return msgspec.json.encode(self.found)

    def note(self, resource, raw):
        self.noted.append(resource)

    def suspect(self, error):
        self.suspected.append(error)


def office(manager=None, revisit=None, **links):
    return HubApplier(manager or Recorder(), links.get, ORIGIN, HubMetrics(), revisit or (lambda key: None))


def creation(cluster):
    return CreateObject(resource=WORKLOADS, document=copy(), may_exist=True, cluster=cluster)


def job_creation(cluster):
    return CreateObject(resource=JOBS, document=job(origin=ORIGIN), cluster=cluster)


def event(message):
    return RecordEvent(resource=WORKLOADS, key=KEY, reason="MultiKueue", message=message)


async def test_each_intent_goes_to_its_cluster_in_order():
    manager, a, b = Recorder(), Link(), Link()
    wish = await office(manager, a=a, b=b).apply([creation("a"), creation("b"), RequeueAfter(5)])
    assert (a.applier.given, b.applier.given) == ([creation("a")], [creation("b")])
    assert (manager.given, wish) == ([RequeueAfter(5)], 5)


async def test_a_failing_cluster_stops_no_other_and_is_reported():
    a, b = Link(failure=ConnectionError("no route")), Link()
    both = EachCluster((OnCluster("a", (creation("a"),)), OnCluster("b", (creation("b"),))))
    with pytest.raises(ReconcileError, match="no route"):
        await office(a=a, b=b).apply([both])
    assert b.applier.given == [creation("b")]


async def test_conflicts_alone_stay_conflicts():
    clash = EachCluster((OnCluster("a", (creation("a"),)),))
    with pytest.raises(Conflict):
        await office(a=Link(failure=Conflict(409))).apply([clash])


async def test_an_error_known_beforehand_is_raised():
    with pytest.raises(ReconcileError, match="no remote client"):
        await office().apply([EachCluster((OnCluster("a", error="cluster a: no remote client"),))])


async def test_a_cluster_lost_meanwhile_is_a_connection_error():
    with pytest.raises(ConnectionError, match="contact was lost"):
        await office().apply([DeleteObject(resource=WORKLOADS, key=KEY, cluster="a")])


async def test_silence_makes_the_worker_suspect():
    a = Link(failure=ServerSilent("no answer"))
    with pytest.raises(ServerSilent):
        await office(a=a).apply([creation("a")])
    assert len(a.suspected) == 1


async def test_a_job_that_exists_and_is_ours_is_taken_over():
    a = Link(failure=AlreadyExists(409), found=job(origin=ORIGIN))
    await office(a=a).apply([job_creation("a")])
    assert a.noted == [JOBS]


async def test_a_job_that_exists_and_is_not_ours_is_an_error():
    a = Link(failure=AlreadyExists(409), found=job(origin="somebody"))
    with pytest.raises(ReconcileError, match="remote object is not owned by MultiKueue"):
        await office(a=a).apply([job_creation("a")])


async def test_the_same_event_is_told_once_until_it_changes():
    manager = Recorder()
    applier = office(manager)
    for message in ("admitted on a", "admitted on a", "admitted on b", "admitted on a"):
        await applier.apply([event(message)])
    assert [told.message for told in manager.given] == ["admitted on a", "admitted on b", "admitted on a"]


async def test_lasting_trouble_is_told_once_whatever_is_told_meanwhile():
    manager = Recorder()
    applier = office(manager)
    for message in ("in the way", "in the way", "still in the way"):
        await applier.apply([event("admitted on a")])
        await applier.warn(
            RecordEvent(resource=WORKLOADS, key=KEY, reason="MultiKueue", message=message, type="Warning")
        )
    assert [told.message for told in manager.given] == ["admitted on a", "in the way", "still in the way"]


async def test_counts_and_siblings_concern_the_hub_itself():
    seen = []
    applier = office(revisit=seen.append)
    await applier.apply([CountDispatched("cq", "a"), Revisit((KEY,))])
    assert seen == [KEY]
    sample = applier._metrics.registry.get_sample_value(
        "multikueue_workloads_dispatched_total",
        {"cluster_queue": "cq", "cluster": "a", "replica_role": "standalone"},
    )
    assert sample == 1


async def test_what_was_decided_on_an_older_workload_is_not_written():
    class Moving(Recorder):
        """Somebody writes the Workload while a worker is waited for."""

        def versions(self, intents):
            version = "2" if a.applier.given else "1"
            return {(WORKLOADS, KEY): version} if any(isinstance(i, ApplyStatus) for i in intents) else {}

    a, change = Link(), ApplyStatus(resource=WORKLOADS, key=KEY)
    with pytest.raises(Conflict):
        await office(Moving(), a=a).apply([creation("a"), change])
