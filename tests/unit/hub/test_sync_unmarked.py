"""Jobs on a manager whose API server has no managedBy: suspended while they run elsewhere, mirrored at the end."""

from datetime import timedelta

import pytest

from hub.engine import sync
from hub.engine.intents import CountAdmitted
from tests.unit.hub.found_intents import ADMITTED, EVICTED, check_of, of, one
from tests.unit.hub.groups import NOW, POLICY, Remote, checked, condition, copy, group, holding, job
from worker_agent.api import names
from worker_agent.engine.intents import ApplyStatus, CreateObject, PatchObject, RequeueAfter

PLACED = {"clusterName": "w1"}


def unmarked(local, remotes, **more):
    return group(local, remotes, local_job=job(managed_by=""), unmarked=True, **more)


def remote_job(*conditions, **status):
    return job(origin="multikueue", managed_by="", suspend=False, conditions=list(conditions), **status)


def test_where_the_field_is_kept_a_job_without_manager_is_refused():
    state, message = check_of(sync.decide(group(checked("Pending"), local_job=job(managed_by="")), NOW))
    assert state == "Rejected"
    assert 'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not ""' in message


def test_the_choice_is_on_record_and_the_check_stays_pending_saying_why():
    local = checked("Pending", nominatedClusterNames=["w1"], admission={"clusterQueue": "cq"})
    intents = sync.decide(unmarked(local, {"w1": holding(copy(ADMITTED))}), NOW)
    change = one(ApplyStatus, intents)
    assert change.fields["clusterName"] == "w1"
    (check,) = change.fields["admissionChecks"]
    assert check["state"] == "Pending"
    assert check["message"] == (
        'The workload was admitted on "w1"; its job stays suspended here until it has ended there, because this API'
        " server does not keep managedBy"
    )
    assert one(CreateObject, intents).cluster == "w1"
    assert one(CountAdmitted, intents) == CountAdmitted("cq", "w1")


def test_once_placed_it_is_not_counted_again():
    intents = sync.decide(unmarked(checked("Pending", **PLACED), {"w1": holding(copy(ADMITTED))}), NOW)
    assert of(CountAdmitted, intents) == []


def test_the_status_of_a_running_job_stays_where_it_runs_and_nobody_asks_for_it_again():
    remote = holding(copy(ADMITTED), remote_job(active=3))
    intents = sync.decide(unmarked(checked("Pending", **PLACED), {"w1": remote}), NOW)
    assert of(PatchObject, intents) == []
    assert one(RequeueAfter, intents).seconds == POLICY.worker_lost_timeout.total_seconds()


@pytest.mark.parametrize(("interim", "last"), [("SuccessCriteriaMet", "Complete"), ("FailureTarget", "Failed")])
def test_the_end_comes_home_without_conditions_that_an_older_server_refuses(interim, last):
    done = condition(names.FINISHED, names.SUCCEEDED)
    remote = holding(copy(ADMITTED, done), remote_job(condition(interim), condition(last), succeeded=3))
    intents = sync.decide(unmarked(checked("Pending", **PLACED), {"w1": remote}), NOW)
    status = one(PatchObject, intents).after["status"]
    assert [found["type"] for found in status["conditions"]] == [last]
    assert status["succeeded"] == 3
    assert one(ApplyStatus, intents).conditions[0].type == names.FINISHED


def test_a_lost_worker_keeps_it_for_as_long_as_a_ready_check_would():
    remotes = {"w1": NOW - timedelta(minutes=5), "w2": Remote()}
    intents = sync.decide(unmarked(checked("Pending", **PLACED), remotes), NOW)
    assert [type(intent) for intent in intents] == [RequeueAfter]
    assert intents[0].seconds == timedelta(minutes=10).total_seconds()


def test_an_eviction_on_the_worker_comes_home():
    remote = holding(copy(EVICTED), remote_job(active=3))
    state, message = check_of(sync.decide(unmarked(checked("Pending", **PLACED), {"w1": remote}), NOW))
    assert state == "Retry"
    assert message.startswith('Workload evicted on worker cluster: "w1"')
