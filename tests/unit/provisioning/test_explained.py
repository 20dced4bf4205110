"""What ``fedhub-agent explain`` says of a workload that waits for nodes."""

from datetime import timedelta

from tests.unit.provisioning.cases import NOW, check, condition, request, view, workload
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.engine import story_checks


def told(found: Document, *requests: Document) -> str:
    seen = view(found, *requests)
    tales = story_checks.waiting_for(found, seen.checks, seen.configs, requests)
    return "\n".join(line for tale in tales for line in story_checks.lines(tale, NOW))


def made(answered: Document, minutes: int = 3) -> Document:
    created = timestamps.rfc3339(NOW - timedelta(minutes=minutes))
    return {**answered, "metadata": {**answered["metadata"], "creationTimestamp": created}}


def test_the_request_its_attempt_and_its_last_answer_are_told():
    waiting = made(request(2, condition("Accepted"), condition("Provisioned", "2 nodes are coming", "False")))
    assert told(workload(checks=[check(message="2 nodes are coming", retryCount=1)]), waiting).splitlines() == [
        "check room: Pending since 2026-01-01T11:00:00Z (1 h 0 min): 2 nodes are coming",
        "  ProvisioningRequest w-room-2 (attempt 2 of 4, made 2026-01-01T11:57:00Z (3 min 0 s))",
        "  the autoscaler says: Provisioned=False since 2026-01-01T11:00:00Z: 2 nodes are coming",
    ]


def test_a_retry_names_its_time():
    moment = timestamps.rfc3339(NOW - timedelta(seconds=10))
    retried = check("Retry", "Retrying after failure: none left", lastTransitionTime=moment, requeueAfterSeconds=60)
    text = told(workload(checks=[retried]), made(request(1, condition("Failed", "none left"))))
    assert "check room: Retry since 2026-01-01T11:59:50Z (10 s): Retrying after failure: none left" in text
    assert "its quota is given back and the next attempt may begin at 2026-01-01T12:00:50Z" in text


def test_without_a_request_that_is_said():
    assert "no ProvisioningRequest of class class was made yet" in told(workload())


def test_checks_of_others_are_told_without_one_and_ready_ones_not_at_all():
    other = {"name": "budget", "state": "Pending", "message": "asked", "lastTransitionTime": None}
    assert told(workload(checks=[check("Ready"), other])) == "check budget: Pending: asked"
