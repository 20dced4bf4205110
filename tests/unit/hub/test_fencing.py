"""The hub's side of the fence: times that fit together, marks on what is sent, and when a lost job is given up."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hub.engine import fencing, sync
from hub.engine.fencing import FenceTiming
from hub.engine.intents import flat
from hub.engine.remote_group import Remote
from tests.unit.hub.found_intents import one
from tests.unit.hub.groups import NOW, ORIGIN, POLICY, checked, condition, copy, group, holding, job
from worker_agent.api import names
from worker_agent.engine.intents import CreateObject, PatchObject, RequeueAfter

EVICTED = condition(names.EVICTED, "Preempted")
ADMITTED = condition(names.ADMITTED)
KEEP = replace(POLICY, keep_when_lost=True)


def evicted(**status):
    return checked("Ready", EVICTED, clusterName="w1", **status)


def annotations(document):
    return document["metadata"].get("annotations", {})


# Times


@pytest.mark.parametrize("minutes", [15, 5, 1, 0.25])
def test_derived_times_leave_room_for_stopping(minutes):
    timeout = timedelta(minutes=minutes)
    assert FenceTiming.derived(timeout).too_long_for(timeout) == ""


def test_times_that_do_not_fit_name_both_settings():
    timing = FenceTiming.derived(timedelta(minutes=1), lease=timedelta(seconds=50))
    wrong = timing.too_long_for(timedelta(minutes=1))
    assert "leaseDuration 50s" in wrong
    assert "multiKueue.workerLostTimeout 60s" in wrong


# Marks


def test_copies_carry_the_term_of_their_leader():
    created = one(CreateObject, flat(sync.decide(group(checked("Pending"), {"w1": Remote()}, terms={"w1": 7}), NOW)))
    assert annotations(created.document)[names.DISPATCH_TERM_ANNOTATION] == "7"
    assert annotations(created.document)[names.ON_CONTACT_LOST_ANNOTATION] == "Stop"


def test_work_that_stays_with_a_lost_cluster_is_not_to_be_stopped_there():
    found = group(checked("Pending", nominatedClusterNames=["w1"]), {"w1": Remote()}, terms={"w1": 7}, policy=KEEP)
    created = one(CreateObject, flat(sync.decide(found, NOW)))
    assert names.ON_CONTACT_LOST_ANNOTATION not in annotations(created.document)


def test_a_cluster_without_terms_gets_kueues_own_copy():
    created = one(CreateObject, flat(sync.decide(group(checked("Pending"), {"w1": Remote()}), NOW)))
    assert names.DISPATCH_TERM_ANNOTATION not in annotations(created.document)


def remote_job(term, **more):
    found = job(origin=ORIGIN, **more)
    found["metadata"]["annotations"] = {names.DISPATCH_TERM_ANNOTATION: term}
    return found


def test_a_new_leader_stands_by_a_job_that_has_not_started():
    remote = holding(copy(ADMITTED), remote_job("6"))
    found = group(checked("Ready", clusterName="w1"), {"w1": remote}, terms={"w1": 7})
    patch = one(PatchObject, [i for i in sync.decide(found, NOW) if getattr(i, "cluster", "") == "w1"])
    assert annotations(patch.after)[names.DISPATCH_TERM_ANNOTATION] == "7"


def test_a_job_that_runs_is_left_as_it_is():
    remote = holding(copy(ADMITTED), remote_job("6", suspend=False))
    found = group(checked("Ready", clusterName="w1"), {"w1": remote}, terms={"w1": 7})
    assert not [i for i in sync.decide(found, NOW) if getattr(i, "cluster", "") == "w1"]


# What may still run


def may_run(remote, **more):
    return fencing.may_still_run(group(evicted(), {"w1": remote, "w2": Remote()}, **more), NOW)


def test_a_job_on_a_lost_cluster_may_run_until_the_timeout():
    assert may_run(NOW - timedelta(minutes=14))
    assert not may_run(NOW - timedelta(minutes=15))


def test_a_job_that_stays_with_its_cluster_may_run_for_as_long_as_that_is_lost():
    assert may_run(NOW - timedelta(days=2), policy=KEEP)


def test_a_cluster_declared_lost_runs_nothing():
    assert not may_run(NOW, policy=KEEP, declared_lost=frozenset({"w1"}))


@pytest.mark.parametrize(
    "remote",
    [
        holding(copy(ADMITTED), job(origin=ORIGIN, suspend=False)),
        holding(copy(ADMITTED), job(origin=ORIGIN, suspend=True, active=1)),
        holding(copy(ADMITTED), job(origin=ORIGIN)),
        holding(copy(ADMITTED)),
        Remote(None, job(origin=ORIGIN, suspend=False)),
    ],
    ids=["started", "pods stop", "about to start", "job on its way", "copy gone"],
)
def test_what_may_run_there_keeps_the_managers_quota(remote):
    assert may_run(remote)


@pytest.mark.parametrize(
    "remote",
    [
        Remote(),
        holding(copy(ADMITTED, EVICTED), job(origin=ORIGIN)),
        holding(copy(), job(origin=ORIGIN)),
        holding(copy(), job(origin="other", suspend=False)),
    ],
    ids=["nothing there", "evicted and idle", "not admitted", "somebody else's"],
)
def test_what_has_stopped_frees_the_managers_quota(remote):
    assert not may_run(remote)


def test_a_lost_job_declared_so_is_dispatched_again_at_once():
    lost = group(checked("Ready", clusterName="w1"), {"w1": NOW}, policy=KEEP, declared_lost=frozenset({"w1"}))
    assert not [intent for intent in sync.decide(lost, NOW) if isinstance(intent, RequeueAfter)]


def test_an_idle_job_told_to_stop_is_removed_rather_than_waited_for():
    told = condition(names.DEACTIVATION_TARGET, "EvictedOnManagerCluster")
    found = group(evicted(), {"w1": holding(copy(ADMITTED, told), job(origin=ORIGIN))})
    kinds = {intent.resource.kind for intent in sync.decide(found, NOW) if type(intent).__name__ == "DeleteObject"}
    assert kinds == {"Job", "Workload"}
