"""Jobs that no worker will run end in a state that everybody sees, and give their quota back."""

from datetime import timedelta

import pytest

from hub.engine import sync
from hub.engine.intents import flat
from hub.engine.remote_group import Remote
from tests.unit.hub.found_intents import of
from tests.unit.hub.groups import NOW, checked, condition, copy, group, holding, workload
from worker_agent.api import names
from worker_agent.engine.intents import ApplyStatus, CreateObject, DeleteObject, RequeueAfter

INACTIVE = {"active": False}
LONG_AGO = NOW - timedelta(minutes=2)


def refusing():
    return holding(copy(condition(names.EVICTED, "Deactivated"), spec=INACTIVE))


def decided(local, remotes=None):
    return flat(sync.decide(group(local, remotes), NOW))


def retries(intents):
    entries = [each for intent in of(ApplyStatus, intents) for each in intent.entries.get("admissionChecks", ())]
    return [entry for entry in entries if entry["state"] == "Retry"]


def test_a_copy_that_its_worker_deactivated_is_not_made_anew():
    intents = decided(checked("Pending", nominatedClusterNames=["w1", "w2"]), {"w1": refusing(), "w2": Remote()})
    assert not of(DeleteObject, intents)
    assert [created.cluster for created in of(CreateObject, intents)] == ["w2"]


def test_a_copy_that_was_only_stopped_out_of_contact_is_made_anew_at_once():
    evicted = condition(names.EVICTED, "DeactivatedDueToHubContactLost")
    stopped = holding(copy(evicted, condition(names.QUOTA_RESERVED, "Deactivated", status="False"), spec=INACTIVE))
    intents = decided(checked("Pending", nominatedClusterNames=["w1"]), {"w1": stopped})
    assert not retries(intents)
    assert [gone.cluster for gone in of(DeleteObject, intents)] == ["w1"]


def test_a_copy_that_differs_in_more_than_that_is_replaced():
    other = holding(copy(spec={**INACTIVE, "queueName": "other"}))
    intents = decided(checked("Pending", nominatedClusterNames=["w1", "w2"]), {"w1": other, "w2": Remote()})
    assert of(DeleteObject, intents)


def test_a_job_refused_by_every_worker_gives_its_quota_back_and_says_why():
    intents = decided(checked("Pending"), {"w1": refusing(), "w2": refusing()})
    (entry,) = retries(intents)
    assert "Every worker cluster has deactivated its copy" in entry["message"]
    assert entry["requeueAfterSeconds"] == 60


@pytest.mark.parametrize(("retried", "seconds"), [(1, 120), (3, 480), (20, 3600)])
def test_every_refusal_makes_the_pause_longer(retried, seconds):
    check = {"name": "mk", "state": "Pending", "message": "", "retryCount": retried}
    local = workload(condition(names.QUOTA_RESERVED), admissionChecks=[check])
    (entry,) = retries(decided(local, {"w1": refusing()}))
    assert entry["requeueAfterSeconds"] == seconds


def nowhere(since):
    told = condition(names.DISPATCHED, "NoCluster", status="False", at=since, message="w1: impossible")
    check = {"name": "mk", "state": "Pending", "message": ""}
    return workload(condition(names.QUOTA_RESERVED, at=since), told, admissionChecks=[check])


def test_quota_is_not_held_for_a_job_that_no_cluster_can_run():
    (entry,) = retries(decided(nowhere(LONG_AGO)))
    assert "No worker cluster can run the workload: w1: impossible" in entry["message"]


def test_at_first_the_clusters_are_given_some_time():
    intents = decided(nowhere(NOW))
    assert not retries(intents)
    assert [wait.seconds for wait in of(RequeueAfter, intents)] == [60]


def test_an_old_word_of_dispatch_does_not_count_for_a_new_reservation():
    told = condition(names.DISPATCHED, "NoCluster", status="False", at=LONG_AGO)
    local = checked("Pending", told)
    assert not retries(decided(local))
