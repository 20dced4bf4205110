"""Objects on connected clusters that left the configuration go before the work goes elsewhere."""

from dataclasses import replace
from datetime import timedelta

import msgspec

from hub.engine import group_loading, sync
from hub.engine.group_loading import Federation
from hub.engine.intents import CountDispatched, EachCluster, flat
from hub.engine.remote_group import ALL_AT_ONCE, Remote
from tests.unit.hub.groups import BATCH_JOB, KEY, NOW, ORIGIN, POLICY, checked, condition, copy, group, holding, job
from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.multikueue import MultiKueueConfig
from worker_agent.engine.intents import ApplyStatus, CreateObject, DeleteObject, RequeueAfter

ADMITTED = condition(names.ADMITTED)
ALL = replace(POLICY, dispatcher=ALL_AT_ONCE)
RUNS = holding(copy(ADMITTED), job(origin=ORIGIN))
DROPPED = checked(names.CHECK_READY, clusterName="old")


def of(kind, intents):
    return [intent for intent in flat(intents) if isinstance(intent, kind)]


def removed(intents):
    return [(intent.resource.kind, intent.cluster) for intent in of(DeleteObject, intents)]


def test_a_dropped_cluster_is_emptied_before_the_check_goes_to_retry():
    intents = sync.decide(group(DROPPED, outside={"old": RUNS}), NOW)
    assert removed(intents) == [("Job", "old"), ("Workload", "old")]
    assert not of(ApplyStatus, intents)
    assert [intent.seconds for intent in of(RequeueAfter, intents)] == [2]


def test_a_job_still_there_holds_the_retry_after_its_copy_is_gone():
    intents = sync.decide(group(DROPPED, outside={"old": Remote(job=job(origin=ORIGIN))}), NOW)
    assert removed(intents) == [("Job", "old")]
    assert not of(ApplyStatus, intents)


def test_an_emptied_dropped_cluster_leads_to_retry():
    (change,) = of(ApplyStatus, sync.decide(group(DROPPED), NOW))
    entry = change.entries["admissionChecks"][0]
    assert (entry["state"], entry["message"]) == (
        names.CHECK_RETRY,
        'Admitting remote no longer exists, Previously: "Ready"',
    )


def test_nothing_is_dispatched_while_objects_stand_outside():
    seen = group(checked(names.CHECK_PENDING), policy=ALL, outside={"old": holding(copy())})
    intents = sync.decide(seen, NOW)
    assert removed(intents) == [("Workload", "old")]
    assert not of(CreateObject, intents)
    assert not of(CountDispatched, intents)


def test_a_job_where_it_belongs_does_not_wait_for_the_removal():
    local = checked(names.CHECK_READY, clusterName="w1")
    intents = sync.decide(group(local, {"w1": RUNS}, outside={"old": RUNS}), NOW)
    assert of(ApplyStatus, intents)
    assert isinstance(intents[-2], EachCluster)
    assert removed(intents) == [("Job", "old"), ("Workload", "old")]


def test_the_end_of_a_workload_reaches_clusters_outside():
    finished = checked(names.CHECK_READY, condition(names.FINISHED))
    assert removed(sync.decide(group(finished, outside={"old": RUNS}), NOW)) == [("Job", "old"), ("Workload", "old")]
    gone = group(checked(names.CHECK_READY), outside={"old": RUNS}, deleted=True)
    assert removed(sync.decide(gone, NOW)) == [("Job", "old"), ("Workload", "old")]


# What the group holds


class Manager:
    """A manager whose check leads to the cluster ``new`` alone."""

    def __init__(self, local):
        self.local = local

    def workload(self, key):
        return self.local

    def workloads_in(self, namespace):
        return [self.local]

    def job(self, kind, key):
        return job()

    def admission_check(self, name):
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
        spec = {"controllerName": names.MULTIKUEUE_CONTROLLER, "parameters": parameters}
        return msgspec.convert({"metadata": {"name": name}, "spec": spec}, AdmissionCheck)

    def config(self, name):
        return msgspec.convert({"metadata": {"name": name}, "spec": {"clusters": ["new"]}}, MultiKueueConfig)


class Worker:
    """A worker that holds these."""

    def __init__(self, found=None, its_job=None):
        self.found, self.its_job = found, its_job

    def workload(self, key):
        return self.found

    def job(self, kind, key):
        return self.its_job


def loaded(workers, since=None, policy=POLICY):
    local = checked(names.CHECK_READY, clusterName="old")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job-uid", "controller": True}
    local["metadata"]["ownerReferences"] = [owner]
    federation = Federation(Manager(local), workers, since or {}, {"batch/v1, Kind=Job": BATCH_JOB})
    found = group_loading.load(KEY, federation, policy, None)
    assert found is not None
    return found


def test_only_what_bears_our_origin_counts_outside():
    ours, other = job(origin=ORIGIN), job(origin="other")
    workers = {"new": Worker(copy()), "old": Worker(copy(), ours), "foreign": Worker(copy(origin="other"), other)}
    unmarked = copy()
    unmarked["metadata"]["labels"] = {}
    found = loaded({**workers, "unmarked": Worker(unmarked)})
    assert list(found.outside) == ["old"]
    assert list(found.connected) == ["new"]


def test_a_dropped_cluster_out_of_contact_is_a_lost_one():
    lost = {"old": NOW - timedelta(minutes=10)}
    found = loaded({"new": Worker()}, lost)
    (wish,) = of(RequeueAfter, sync.decide(found, NOW))
    assert wish.seconds == 300
    assert of(ApplyStatus, sync.decide(found, NOW + timedelta(minutes=5)))
    kept = loaded({"new": Worker()}, lost, replace(POLICY, keep_when_lost=True))
    assert not of(ApplyStatus, sync.decide(kept, NOW + timedelta(days=1)))
