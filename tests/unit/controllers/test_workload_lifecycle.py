"""The Workload reconciler's decisions, run to rest (spec/engine 14 to 17, 21)."""

from datetime import timedelta

import msgspec
import pytest

from tests import builders
from worker_agent.api import timestamps
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.local_queue import LocalQueue
from worker_agent.engine import intent_effects, workload_lifecycle, workload_status
from worker_agent.engine.intents import (
    ApplyStatus,
    DeleteObject,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    RequeueAfter,
)
from worker_agent.engine.pods_ready import PodsReadyRules
from worker_agent.engine.reservation import Observability
from worker_agent.engine.workload_turn import LifecycleRules, Refusal, WorkloadView

NOW = timestamps.parse("2026-01-01T12:00:00Z")
OWNER = {"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}]}


class Turned:
    """The outcome of one reconcile."""

    def __init__(self, workload, intents):
        self.intents = intents
        self.workload = workload
        for intent in intents:
            if not isinstance(intent, RecordEvent | RequeueAfter):
                self.workload = intent_effects.effect(intent, self.workload, NOW)

    @property
    def events(self):
        return [(i.reason, i.message) for i in self.intents if isinstance(i, RecordEvent)]

    @property
    def looks_again(self):
        return next((i.seconds for i in self.intents if isinstance(i, RequeueAfter)), None)

    def condition(self, type_):
        found = intent_effects.find_condition(self.workload, type_) or {}
        return found.get("status"), found.get("reason"), found.get("message")


def settle(workload, *, queue=None, local=None, rules=None, active=True, **facts):
    workload = {**workload, "metadata": {**OWNER, **workload["metadata"]}}
    known = queue if queue is not None else builders.cluster_queue()
    view = WorkloadView(
        workload=workload,
        local_queue=msgspec.convert(local or builders.local_queue(), LocalQueue, strict=False),
        cluster_queue=msgspec.convert(known, ClusterQueue, strict=False) if known else None,
        cluster_queue_known=bool(known),
        cluster_queue_active=active,
        **facts,
    )
    return Turned(workload, workload_lifecycle.settle(view, rules or LifecycleRules(), NOW))


def condition(type_, status="True", reason="R", message="m", ago=60.0):
    at = timestamps.rfc3339(NOW - timedelta(seconds=ago))
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def running(*conditions, ago=60.0, checks=None, **spec):
    document = builders.admitted("w", **spec)
    status = document["status"]
    status["conditions"] = [
        condition("QuotaReserved", reason="QuotaReserved", ago=ago),
        condition("Admitted", reason="Admitted", ago=ago),
        *conditions,
    ]
    if checks:
        status["admissionChecks"] = checks
    return document


def check(state, name="c", **fields):
    at = timestamps.rfc3339(NOW - timedelta(seconds=10))
    return {"name": name, "state": state, "message": "", "lastTransitionTime": at, **fields}


def checked_queue(*names):
    return builders.cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": name} for name in names]})


def test_running_workload_needs_nothing():
    assert settle(running()).intents == []


def test_new_workload_of_a_good_queue_gets_no_condition():
    assert settle(builders.workload()).intents == []


def test_required_checks_are_listed_before_and_after_the_reservation():
    waiting = settle(builders.workload(), queue=checked_queue("b", "a"))
    assert [c["name"] for c in waiting.workload["status"]["admissionChecks"]] == ["a", "b"]


def test_checks_listed_and_reason_told_in_one_write():
    reserved = running()
    reserved["status"]["conditions"] = [condition("QuotaReserved", reason="QuotaReserved")]
    turned = settle(reserved, queue=checked_queue("a"))
    assert [type(i) for i in turned.intents] == [ApplyStatus, ApplyStatus]
    assert turned.condition("Admitted") == (
        "False",
        "UnsatisfiedAdmissionChecks",
        "The workload has not all checks ready",
    )


def test_last_ready_check_admits():
    reserved = running(checks=[check("Ready")])
    reserved["status"]["conditions"] = [condition("QuotaReserved", reason="QuotaReserved", ago=30)]
    turned = settle(reserved, queue=checked_queue("c"))
    assert turned.condition("Admitted")[0] == "True"
    assert turned.events == [("Admitted", "Admitted by ClusterQueue q, wait time since reservation was 30s")]


def test_rejected_check_first_notes_why_and_leaves_the_spec_to_the_next_reconcile():
    turned = settle(running(checks=[check("Rejected", message="no room")]), queue=checked_queue("c"))
    assert turned.condition("DeactivationTarget") == (
        "True",
        "AdmissionCheck",
        'AdmissionCheck in Rejected state: "c" (no room)',
    )
    assert not any(isinstance(i, PatchObject) for i in turned.intents)
    assert turned.looks_again == 0.0


def test_deactivation_target_switches_off_and_evicts_with_its_cause():
    target = condition("DeactivationTarget", reason="AdmissionCheck", message="AdmissionCheck in Rejected state")
    turned = settle(running(target, checks=[check("Rejected")]), queue=checked_queue("c"))
    assert isinstance(turned.intents[0], PatchObject)
    assert turned.workload["spec"]["active"] is False
    assert turned.condition("Evicted")[1] == "DeactivatedDueToAdmissionCheck"
    assert turned.condition("DeactivationTarget") == (None, None, None)
    assert turned.workload["status"]["admissionChecks"][0]["message"] == (
        "Reset to Pending after eviction. Previously: Rejected"
    )
    assert turned.workload["status"]["schedulingStats"]["evictions"] == [
        {"reason": "Deactivated", "underlyingCause": "AdmissionCheck", "count": 1}
    ]


def test_retry_keeps_the_reservation_until_its_delay_is_over():
    turned = settle(running(checks=[check("Retry", requeueAfterSeconds=60)]), queue=checked_queue("c"))
    assert turned.condition("Evicted") == (None, None, None)
    assert turned.looks_again == pytest.approx(50)
    assert turned.workload["status"]["requeueState"] == {"requeueAt": timestamps.rfc3339(NOW + timedelta(seconds=50))}


def test_retry_without_delay_evicts_and_counts_the_retry():
    turned = settle(running(checks=[check("Retry", retryCount=2)]), queue=checked_queue("c"))
    assert turned.condition("Evicted")[1:] == ("AdmissionCheck", 'Evicted due to AdmissionCheck in Retry state: "c"')
    assert turned.workload["status"]["admissionChecks"][0]["retryCount"] == 3
    assert turned.workload["status"]["admission"]


@pytest.mark.parametrize(
    ("policy", "reason", "message"),
    [
        (
            {"queue": builders.cluster_queue(stopPolicy="HoldAndDrain")},
            "ClusterQueueStopped",
            "The ClusterQueue is stopped",
        ),
        ({"local": builders.local_queue(stopPolicy="HoldAndDrain")}, "LocalQueueStopped", "The LocalQueue is stopped"),
    ],
    ids=["cluster queue", "local queue"],
)
def test_draining_queue_evicts(policy, reason, message):
    turned = settle(running(), **policy)
    assert turned.condition("Evicted") == ("True", reason, message)
    assert turned.events == [(f"EvictedDueTo{reason}", message)]


def test_holding_queue_lets_run_and_cancels_reservations():
    strategy = {"admissionChecks": [{"name": "c"}]}
    held = builders.cluster_queue(stopPolicy="Hold", admissionChecksStrategy=strategy)
    assert settle(running(checks=[check("Ready")]), queue=held).intents == []
    reserved = running(checks=[check("Pending")])
    reserved["status"]["conditions"] = [condition("QuotaReserved", reason="QuotaReserved")]
    cancelled = settle(reserved, queue=held, active=False)
    assert cancelled.condition("QuotaReserved") == ("False", "Suspended", "ClusterQueue q is inactive")
    assert "admission" not in cancelled.workload["status"]


@pytest.mark.parametrize(("owners", "kept"), [(OWNER["ownerReferences"], True), ([], False)], ids=["a job", "no job"])
def test_a_held_queue_leaves_an_evicted_reservation_to_the_job_that_stops(owners, kept):
    held = builders.cluster_queue(stopPolicy="Hold", admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
    reserved = running(checks=[check("Pending")])
    reserved["metadata"]["ownerReferences"] = owners
    reserved["status"]["conditions"] = [condition("QuotaReserved", reason="QuotaReserved"), condition("Evicted")]
    assert ("admission" in settle(reserved, queue=held, active=False).workload["status"]) is kept


@pytest.mark.parametrize(
    ("conditions", "cause"),
    [
        ([], "WaitForStart"),
        ([condition("PodsReady", "False", "WaitForStart")], "WaitForStart"),
        ([condition("PodsReady", "False", "WaitForRecovery", ago=400)], "WaitForRecovery"),
    ],
    ids=["no condition", "never ready", "lost readiness"],
)
def test_pods_that_do_not_come_cost_the_place(conditions, cause):
    rules = LifecycleRules(pods_ready=PodsReadyRules(timeout=300, recovery_timeout=300, backoff_jitter=0))
    turned = settle(running(*conditions, ago=400), rules=rules)
    assert turned.condition("Evicted")[1:] == ("PodsReadyTimeout", "Exceeded the PodsReady timeout ns/w")
    assert turned.workload["status"]["schedulingStats"]["evictions"][0]["underlyingCause"] == cause
    assert turned.workload["status"]["requeueState"] == {
        "count": 1,
        "requeueAt": timestamps.rfc3339(NOW + timedelta(seconds=60)),
    }


def test_one_timeout_too_many_deactivates():
    rules = LifecycleRules(pods_ready=PodsReadyRules(timeout=30, backoff_limit_count=2))
    tired = running(ago=60)
    tired["status"]["requeueState"] = {"count": 2}
    turned = settle(tired, rules=rules)
    assert turned.condition("DeactivationTarget")[1:] == (
        "RequeuingLimitExceeded",
        "exceeding the maximum number of re-queuing retries",
    )
    assert turned.condition("Evicted") == (None, None, None)


def test_waiting_pods_are_looked_at_again_at_the_deadline():
    rules = LifecycleRules(pods_ready=PodsReadyRules(timeout=100))
    assert settle(running(ago=60), rules=rules).looks_again == pytest.approx(40)


@pytest.mark.parametrize(
    ("count", "seconds"), [(1, 60), (2, 120), (3, 240), (6, 1920), (7, 3600), (8, 3600), (400, 3600)]
)
def test_backoff_doubles_up_to_its_limit(count, seconds):
    assert PodsReadyRules(backoff_jitter=0).backoff(count, 0.5) == timedelta(seconds=seconds)


def test_first_backoff_has_no_limit():
    rules = PodsReadyRules(backoff_base_seconds=100, backoff_max_seconds=10, backoff_jitter=0)
    assert (rules.backoff(1, 0), rules.backoff(2, 0)) == (timedelta(seconds=100), timedelta(seconds=10))


def test_execution_time_counts_over_all_admissions():
    limited = running(ago=60)
    limited["spec"]["maximumExecutionTimeSeconds"] = 100
    limited["status"]["accumulatedPastExecutionTimeSeconds"] = 40
    turned = settle(limited)
    assert turned.condition("DeactivationTarget")[1] == "MaximumExecutionTimeExceeded"
    assert turned.events == [("MaximumExecutionTimeExceeded", "The maximum execution time (100s) exceeded")]
    assert "accumulatedPastExecutionTimeSeconds" not in turned.workload["status"]


def test_finished_workload_goes_when_its_retention_is_over():
    done = running(condition("Finished", ago=100))
    done["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
    rules = LifecycleRules(retention_after_finished=90)
    turned = settle(done, rules=rules)
    assert [type(i) for i in turned.intents] == [RemoveFinalizer, DeleteObject, RecordEvent]
    assert settle(done, rules=LifecycleRules(retention_after_finished=130)).looks_again == pytest.approx(30)
    assert settle(done).intents == []


def test_backoff_is_over_and_the_workload_queues_again_in_one_write():
    waiting = builders.workload(
        status={
            "conditions": [
                condition("Requeued", "False", "PodsReadyTimeout"),
                condition("QuotaReserved", "False", "Pending"),
            ],
            "requeueState": {"count": 1, "requeueAt": timestamps.rfc3339(NOW - timedelta(seconds=1))},
        }
    )
    turned = settle(waiting)
    assert turned.condition("Requeued") == ("True", "BackoffFinished", "The workload backoff was finished")
    assert turned.workload["status"]["requeueState"] == {"count": 1}


def test_gate_holds_back_and_is_cleared():
    gated = builders.workload(metadata={"annotations": {"kueue.x-k8s.io/admission-gated-by": "example.com/a"}})
    turned = settle(gated)
    assert turned.condition("QuotaReserved")[1:] == ("AdmissionGated", "Admission is gated by: example.com/a")
    assert turned.events == [("AdmissionGated", "Workload admission is gated by: example.com/a")]
    open_ = {**turned.workload, "metadata": {**turned.workload["metadata"], "annotations": {}}}
    assert settle(open_).condition("QuotaReserved")[1:] == (
        "PendingEvaluation",
        "AdmissionGatedBy cleared, waiting for quota reservation",
    )


def test_refused_device_claims_keep_out_of_the_queue():
    turned = settle(builders.workload(), refusal=Refusal(message="no claims here", requeued_message="not supported"))
    assert turned.condition("QuotaReserved") == ("False", "Misconfigured", "no claims here")
    assert turned.condition("Requeued") == ("False", "Inadmissible", "not supported")


def test_remembered_failure_of_an_equal_workload_is_told():
    waiting = builders.workload(status={"conditions": [condition("QuotaReserved", "False", "PendingEvaluation")]})
    turned = settle(waiting, remembered_reason="WaitingForQuota")
    assert turned.condition("QuotaReserved")[1:] == (
        "WaitingForQuota",
        "Bypassed scheduling evaluation because an equivalent workload recently failed",
    )


@pytest.mark.parametrize(
    ("facts", "reason", "message"),
    [
        ({"active": False}, "Suspended", "ClusterQueue q is inactive"),
        ({"queue": {}}, "Misconfigured", "ClusterQueue q doesn't exist"),
        ({"local": builders.local_queue(stopPolicy="Hold")}, "Suspended", "LocalQueue lq is inactive"),
        ({"obstacle": "workload namespace doesn't match ClusterQueue selector"}, "Misconfigured", None),
    ],
    ids=["inactive", "no cluster queue", "stopped", "obstacle"],
)
def test_what_stands_in_the_way_is_named(facts, reason, message):
    turned = settle(builders.workload(), **facts)
    assert turned.condition("QuotaReserved")[1:] == (reason, message or facts["obstacle"])
    assert turned.condition("Admitted") == ("False", "NoReservation", "The workload has no reservation")


def test_legacy_reasons_without_observability():
    rules = LifecycleRules(observability=Observability(fine=False))
    turned = settle(builders.workload(), queue={}, rules=rules)
    assert turned.condition("QuotaReserved")[1:] == ("Inadmissible", "ClusterQueue q doesn't exist")


def test_scheduler_reason_is_kept():
    waiting = builders.workload(
        status={
            "conditions": [
                condition("QuotaReserved", "False", "WaitingForQuota"),
                condition("Admitted", "False", "NoReservation", "The workload has no reservation"),
            ]
        }
    )
    assert settle(waiting).intents == []


def test_since_is_year_one_where_the_object_does_not_say():
    assert workload_status.since(builders.workload(), "Admitted") == timestamps.ZERO


class TestWorkloadWithoutOwner:
    """``kueue.x-k8s.io/job-uid`` says that there was a job."""

    NOBODY = {"ownerReferences": []}

    def _settle(self, **labels):
        marks = {"kueue.x-k8s.io/job-uid": "j", **labels}
        plain = builders.workload("w")
        return settle({**plain, "metadata": {**plain["metadata"], **self.NOBODY, "labels": marks}})

    def test_is_over_once_its_job_is_gone(self):
        assert self._settle().condition("Finished")[:2] == ("True", "OwnerNotFound")

    def test_waits_for_its_job_when_it_is_a_managers_copy(self):
        copy = self._settle(**{"kueue.x-k8s.io/multikueue-origin": "multikueue"})
        assert copy.condition("Finished") == (None, None, None)


class TestDeactivatedCopy:
    """A manager's copy that is switched off with its quota reserved, by whether its job has come."""

    COPY = {"labels": {"kueue.x-k8s.io/multikueue-origin": "multikueue"}}

    def _settle(self, *conditions, **metadata):
        held = running(*conditions, active=False)
        return settle({**held, "metadata": {**held["metadata"], **metadata}})

    def test_gives_its_quota_back_at_once_while_no_job_owns_it(self):
        copy = self._settle(**self.COPY, ownerReferences=[])
        assert copy.condition("QuotaReserved")[:2] == ("False", "Deactivated")
        assert copy.condition("Admitted")[:2] == ("False", "NoReservation")
        assert copy.condition("Requeued")[:2] == ("False", "Deactivated")
        assert "admission" not in copy.workload["status"]
        assert [reason for reason, _ in copy.events] == ["EvictedDueToDeactivated"]

    def test_gives_it_back_when_it_was_evicted_before(self):
        copy = self._settle(condition("Evicted", reason="Preempted"), **self.COPY, ownerReferences=[])
        assert copy.condition("QuotaReserved")[0] == "False"
        assert copy.condition("Evicted")[:2] == ("True", "Preempted")

    def test_waits_for_its_jobs_pods(self):
        assert self._settle(**self.COPY).condition("QuotaReserved")[0] == "True"

    def test_of_nobody_stays_reserved_like_every_other_workload(self):
        assert self._settle(ownerReferences=[]).condition("QuotaReserved")[0] == "True"
