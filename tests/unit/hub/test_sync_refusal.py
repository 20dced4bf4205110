"""Jobs that no worker will run end in a state that everybody sees, and give their quota back."""

from datetime import timedelta

import pytest

from hub.engine import sync, sync_refusal
from hub.engine.intents import flat
from hub.engine.remote_group import Remote, Sight
from tests.unit.hub.found_intents import of
from tests.unit.hub.groups import NOW, checked, condition, copy, group, holding, workload
from worker_agent.api import names, timestamps
from worker_agent.engine.intents import ApplyStatus, CreateObject, DeleteObject, RequeueAfter

INACTIVE = {"active": False}
LONG_AGO = NOW - timedelta(minutes=2)


def refusing():
    return holding(copy(condition(names.EVICTED, "Deactivated"), spec=INACTIVE))


def decided(local, remotes=None):
    return flat(sync.decide(group(local, remotes), NOW))


def evictions(intents):
    """What each eviction here says, and for how many seconds it is to wait."""
    found = [(change, told) for change in of(ApplyStatus, intents) for told in change.conditions]
    return [
        (told.message, (timestamps.parse(change.fields["requeueState"]["requeueAt"]) - NOW).total_seconds())
        for change, told in found
        if told.type == names.EVICTED and told.reason == names.EVICTED_ADMISSION_CHECK
    ]


def test_a_copy_that_its_worker_deactivated_is_not_made_anew():
    intents = decided(checked("Pending", nominatedClusterNames=["w1", "w2"]), {"w1": refusing(), "w2": Remote()})
    assert not of(DeleteObject, intents)
    assert [created.cluster for created in of(CreateObject, intents)] == ["w2"]


def test_a_copy_that_was_only_stopped_out_of_contact_is_made_anew_at_once():
    evicted = condition(names.EVICTED, "DeactivatedDueToHubContactLost")
    stopped = holding(copy(evicted, condition(names.QUOTA_RESERVED, "Deactivated", status="False"), spec=INACTIVE))
    intents = decided(checked("Pending", nominatedClusterNames=["w1"]), {"w1": stopped})
    assert not evictions(intents)
    assert [gone.cluster for gone in of(DeleteObject, intents)] == ["w1"]


def test_a_copy_that_differs_in_more_than_that_is_replaced():
    other = holding(copy(spec={**INACTIVE, "queueName": "other"}))
    intents = decided(checked("Pending", nominatedClusterNames=["w1", "w2"]), {"w1": other, "w2": Remote()})
    assert of(DeleteObject, intents)


def test_a_job_refused_by_every_worker_gives_its_quota_back_and_says_why():
    intents = decided(checked("Pending"), {"w1": refusing(), "w2": refusing()})
    ((message, seconds),) = evictions(intents)
    assert "Every worker cluster has deactivated its copy" in message
    assert seconds == 60


@pytest.mark.parametrize(("retried", "seconds"), [(1, 120), (3, 480), (20, 3600)])
def test_every_refusal_makes_the_pause_longer(retried, seconds):
    check = {"name": "mk", "state": "Pending", "message": "", "retryCount": retried}
    local = workload(condition(names.QUOTA_RESERVED), admissionChecks=[check])
    ((_, waits),) = evictions(decided(local, {"w1": refusing()}))
    assert waits == seconds


def nowhere(since):
    told = condition(names.DISPATCHED, "NoCluster", status="False", at=since, message="w1: impossible")
    check = {"name": "mk", "state": "Pending", "message": ""}
    return workload(condition(names.QUOTA_RESERVED, at=since), told, admissionChecks=[check])


def test_quota_is_not_held_for_a_job_that_no_cluster_can_run():
    ((message, _),) = evictions(decided(nowhere(LONG_AGO)))
    assert "No worker cluster can run the workload: w1: impossible" in message


def test_the_next_pause_is_longer_as_the_check_counts_this_one():
    (change,) = [each for each in of(ApplyStatus, decided(nowhere(LONG_AGO))) if "admissionChecks" in each.fields]
    (check,) = change.fields["admissionChecks"]
    assert (check["state"], check["retryCount"]) == ("Pending", 1)


def evicted(message, *more, at="2026-01-31T12:10:00Z"):
    told = condition(names.EVICTED, "AdmissionCheck", message=message)
    return Sight.of(workload(told, *more, requeueState={"count": 2, "requeueAt": at}))


def test_work_that_had_no_cluster_is_paused_once_its_quota_is_back():
    why = 'Evicted due to AdmissionCheck in Retry state: "mk" (No worker cluster can run the workload: none)'
    assert sync_refusal.is_paused(evicted(why).view)
    assert not sync_refusal.is_paused(evicted(why, condition(names.QUOTA_RESERVED)).view)
    assert not sync_refusal.is_paused(evicted("Preempted").view)


def test_the_end_of_a_pause_keeps_the_count():
    assert sync_refusal.end_of_pause(evicted("")).fields == {"requeueState": {"count": 2}}


def test_at_first_the_clusters_are_given_some_time():
    intents = decided(nowhere(NOW))
    assert not evictions(intents)
    assert [wait.seconds for wait in of(RequeueAfter, intents)] == [60]


def test_an_old_word_of_dispatch_does_not_count_for_a_new_reservation():
    told = condition(names.DISPATCHED, "NoCluster", status="False", at=LONG_AGO)
    local = checked("Pending", told)
    assert not evictions(decided(local))
