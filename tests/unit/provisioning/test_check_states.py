"""What an autoscaler's answer means for the check."""

import pytest

from tests.unit.provisioning.cases import check, condition, decide, entry, request, view, workload
from worker_agent.api.provisioning_request_config import ProvisioningRequestRetryStrategy
from worker_agent.engine.intents import RecordEvent
from worker_agent.engine.provisioning import check_states

ADMITTED = condition("Admitted")


def judged(*answer, checks=(), conditions=(), attempt=1, **config):
    found = workload(checks=checks, conditions=conditions)
    return decide(view(found, request(attempt, *answer), config=config))


def test_provisioned_makes_it_ready_and_tells_the_pods():
    written = entry(judged(condition("Accepted"), condition("Provisioned", "here it is")))
    assert (written["state"], written["message"]) == ("Ready", "here it is")
    assert written["podSetUpdates"] == [
        {
            "name": "main",
            "annotations": {
                "autoscaling.x-k8s.io/consume-provisioning-request": "w-room-1",
                "autoscaling.x-k8s.io/provisioning-class-name": "class",
            },
        }
    ]


def test_an_eta_is_passed_on_while_it_waits():
    written = entry(judged(condition("Accepted"), condition("Provisioned", "in 5 min", "False")))
    assert (written["state"], written["message"]) == ("Pending", "in 5 min")


@pytest.mark.parametrize(
    ("attempt", "retries", "state", "message"),
    [
        (1, 0, "Retry", "Retrying after failure: no nodes"),
        (1, 1, "Pending", "Retrying after failure: no nodes"),
        (3, 2, "Retry", "Retrying after failure: no nodes"),
        (4, 3, "Rejected", "no nodes"),
    ],
)
def test_failure_is_retried_up_to_the_limit(attempt, retries, state, message):
    written = entry(judged(condition("Failed", "no nodes"), checks=[check(retryCount=retries)], attempt=attempt))
    assert (written["state"], written["message"]) == (state, message)


def test_failure_comes_before_everything_else():
    answers = [condition(type_) for type_ in ("Provisioned", "BookingExpired", "CapacityRevoked")]
    assert entry(judged(condition("Failed", "no"), *answers))["message"] == "Retrying after failure: no"


def test_the_waits_double_up_to_the_longest():
    strategy = ProvisioningRequestRetryStrategy()
    assert [check_states.backoff_seconds(strategy, n) for n in range(1, 8)] == [60, 120, 240, 480, 960, 1800, 1800]


def test_no_wait_at_all_may_be_configured():
    strategy = {"backoffLimitCount": 2, "backoffBaseSeconds": 0, "backoffMaxSeconds": 1800}
    assert entry(judged(condition("Failed"), retryStrategy=strategy))["requeueAfterSeconds"] == 0


def test_an_expired_booking_is_retried_before_admission_and_ignored_after():
    expired = condition("BookingExpired", "too late")
    assert entry(judged(expired))["message"] == "Retrying after booking expired: too late"
    assert entry(judged(expired, checks=[check("Ready")], conditions=[ADMITTED])) == {}


def test_revoked_capacity_rejects_even_what_runs():
    written = entry(judged(condition("CapacityRevoked", "gone"), checks=[check("Ready")], conditions=[ADMITTED]))
    assert (written["state"], written["message"]) == ("Rejected", "gone")


def test_revoked_capacity_leaves_a_deactivated_workload_as_it_is():
    found = workload()
    found["spec"]["active"] = False
    assert entry(decide(view(found, request(1, condition("CapacityRevoked"), condition("Provisioned"))))) == {}


def test_a_missing_configuration_makes_the_check_inactive():
    written = entry(decide(view(workload(), missing_config=True)))
    assert (written["state"], written["message"]) == ("Pending", "the check is not active")


def test_a_change_of_state_is_told_and_an_unchanged_check_is_not_written():
    decided = judged(condition("Provisioned", "here"))
    (event,) = [intent for intent in decided.intents if isinstance(intent, RecordEvent)]
    assert event.message == "Admission check room updated state from Pending to Ready with message: here"
    settled = judged(condition("Provisioned", "here"), checks=[entry(decided)])
    assert settled.intents == ()


def test_a_message_too_long_for_the_api_is_cut():
    assert len(entry(judged(condition("Failed", "x" * 32768)))["message"]) == 32768
