"""The end of a job that only its Workload's copy can tell of: the job on the worker is gone (spec S3)."""

from datetime import timedelta

import pytest

from hub.engine import sync
from hub.engine.remote_group import DEFERRED_SYNC_SECONDS, Remote
from hub.local.apiserver.schema import job_status_validation
from tests.unit.hub.found_intents import ADMITTED, EVICTED, of, one
from tests.unit.hub.groups import NOW, ORIGIN, checked, condition, copy, group, holding, job
from worker_agent.api import names
from worker_agent.engine.intents import ApplyStatus, PatchObject, RequeueAfter

ENDS = {names.SUCCEEDED: ["SuccessCriteriaMet", "Complete"], names.FAILED: ["FailureTarget", "Failed"]}


def finished(reason: str, message: str = "told by the copy") -> Remote:
    return holding(copy(ADMITTED, condition(names.FINISHED, reason, message=message)))


@pytest.mark.parametrize("reason", ENDS)
def test_it_is_written_on_the_managers_job(reason):
    here = job(suspend=False, active=3, ready=3, startTime="2026-01-31T11:00:00Z")
    intents = sync.decide(group(checked("Ready", clusterName="w1"), {"w1": finished(reason)}, local_job=here), NOW)
    told = one(PatchObject, intents)
    assert told.subresource == "status"
    ended = told.after["status"]["conditions"]
    assert [each["type"] for each in ended] == ENDS[reason]
    assert {each["message"] for each in ended} == {"told by the copy"}
    assert list(job_status_validation.errors(told.after, here)) == []
    assert one(ApplyStatus, intents).conditions[0].reason == reason


@pytest.mark.parametrize("reason", ENDS)
def test_a_job_that_was_just_stopped_here_ends_too(reason):
    here = job(suspend=True, conditions=[condition("Suspended")])
    local = checked("Pending", EVICTED, clusterName="w1")
    told = one(PatchObject, sync.decide(group(local, {"w1": finished(reason)}, local_job=here), NOW))
    assert told.after["status"]["startTime"] == "2026-01-31T12:00:00Z"
    assert list(job_status_validation.errors(told.after, here)) == []


def test_no_job_completes_before_it_started():
    here = job(suspend=False, active=3, startTime="2026-01-31T13:00:00Z")
    local = checked("Ready", clusterName="w1")
    told = one(PatchObject, sync.decide(group(local, {"w1": finished(names.SUCCEEDED)}, local_job=here), NOW))
    assert told.after["status"]["completionTime"] == "2026-01-31T13:00:00Z"
    assert list(job_status_validation.errors(told.after, here)) == []


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(hours=1)], ids=["clocks agree", "the worker's is ahead"])
def test_a_job_that_was_made_anew_after_its_end_is_not_waited_for(ahead):
    """It is held there for good: its Workload has ended."""
    here = job(suspend=False, active=3, ready=3, startTime="2026-01-31T11:00:00Z")
    end = condition(names.FINISHED, names.SUCCEEDED, at=NOW + ahead, message="told by the copy")
    there = holding(copy(ADMITTED, end), job(suspend=True, origin=ORIGIN))
    intents = sync.decide(group(checked("Ready", clusterName="w1"), {"w1": there}, local_job=here), NOW)
    ended = one(PatchObject, intents).after["status"]["conditions"]
    assert [each["type"] for each in ended] == ENDS[names.SUCCEEDED]
    assert one(ApplyStatus, intents).conditions[0].reason == names.SUCCEEDED


def test_a_job_that_still_runs_as_far_as_is_known_is_waited_for():
    here = job(suspend=False, active=3, ready=3, startTime="2026-01-31T11:00:00Z")
    end = condition(names.FINISHED, names.SUCCEEDED, message="told by the copy")
    there = holding(copy(ADMITTED, end), job(suspend=False, origin=ORIGIN, active=3))
    intents = sync.decide(group(checked("Ready", clusterName="w1"), {"w1": there}, local_job=here), NOW)
    assert intents == [RequeueAfter(DEFERRED_SYNC_SECONDS)]


def test_an_end_that_is_told_already_is_not_written_again():
    here = job(suspend=False, conditions=[condition("Complete")])
    local = checked("Ready", clusterName="w1")
    intents = sync.decide(group(local, {"w1": finished(names.SUCCEEDED)}, local_job=here), NOW)
    assert of(PatchObject, intents) == []
    assert one(ApplyStatus, intents).conditions[0].type == names.FINISHED


def test_older_api_servers_are_spared_the_interim_condition():
    here = job(suspend=True, managed_by="")
    seen = group(checked("Pending", clusterName="w1"), {"w1": finished(names.SUCCEEDED)}, local_job=here, unmarked=True)
    told = one(PatchObject, sync.decide(seen, NOW))
    assert [each["type"] for each in told.after["status"]["conditions"]] == ["Complete"]


def test_the_worker_is_asked_first_whether_the_job_is_really_gone():
    running, complete = job(suspend=False, active=3), job(conditions=[condition("Complete")])
    assert sync.unseen_end(group(checked("Ready"), {"w1": finished(names.SUCCEEDED)}, local_job=running)) == "w1"
    assert sync.unseen_end(group(checked("Ready"), {"w1": finished(names.SUCCEEDED)}, local_job=complete)) == ""
    assert sync.unseen_end(group(checked("Ready"), {"w1": finished(names.OUT_OF_SYNC)}, local_job=running)) == ""
