"""B63 and B44 in the Workload's reconciler: what a check says when quota is on its way back, or gone."""

from tests import builders
from tests.unit.controllers.test_workload_lifecycle import condition, running, settle
from worker_agent.engine.workload_status import is_true

EVICTED = condition("Evicted", reason="AdmissionCheck")


def check(state, **fields):
    at = "2026-01-01T11:59:00Z"
    return [{"name": "ext", "state": state, "lastTransitionTime": at, "message": "", **fields}]


QUEUE = builders.cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "ext"}]})


def released(*conditions, checks):
    status = {"conditions": [condition("QuotaReserved", "False", "PendingEvaluation"), *conditions]}
    return builders.workload("w", status={**status, "admissionChecks": checks})


def states(turned):
    return [entry["state"] for entry in turned.workload["status"]["admissionChecks"]]


def test_retry_that_came_too_late_is_pending_again_once_the_quota_is_back():
    turned = settle(released(EVICTED, checks=check("Retry", retryCount=1)), queue=QUEUE)
    [entry] = turned.workload["status"]["admissionChecks"]
    assert (entry["state"], entry["retryCount"]) == ("Pending", 2)


def test_retry_before_any_reservation_does_not_block_for_ever():
    assert states(settle(released(checks=check("Retry")), queue=QUEUE)) == ["Pending"]


def test_while_quota_is_held_the_check_keeps_its_word():
    assert states(settle(running(EVICTED, checks=check("Retry")), queue=QUEUE)) == ["Retry"]


def test_delay_that_the_check_asks_for_is_waited_out_first():
    turned = settle(released(EVICTED, checks=check("Retry", requeueAfterSeconds=600)), queue=QUEUE)
    assert states(turned) == ["Retry"]
    assert turned.workload["status"]["requeueState"]["requeueAt"] == "2026-01-01T12:09:00Z"


def test_rejection_deactivates_also_after_an_eviction():
    for workload in (running(EVICTED, checks=check("Rejected")), released(EVICTED, checks=check("Rejected"))):
        turned = settle(workload, queue=QUEUE)
        assert is_true(turned.workload, "DeactivationTarget")
        assert ("AdmissionCheckRejected", 'Deactivated due to AdmissionCheck in Rejected state: "ext"') in turned.events


def test_workload_switched_off_is_left_alone():
    off = released(EVICTED, checks=check("Retry"))
    off["spec"]["active"] = False
    assert states(settle(off, queue=QUEUE)) == ["Retry"]
