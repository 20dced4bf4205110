"""When the checks of a new Workload are first listed."""

from datetime import timedelta

import pytest

from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import ApplyStatus, RequeueAfter, SetCondition
from worker_agent.engine.workload_first_look import left_unsaid

CREATED = "2026-01-02T03:04:05Z"
PENDING = {"name": "mk", "state": "Pending"}
LISTED = ApplyStatus(resource=WORKLOADS, key=Key("ns", "w"), fields={"admissionChecks": [PENDING]})
BLOCKED = ApplyStatus(
    resource=WORKLOADS, key=Key("ns", "w"), conditions=(SetCondition("QuotaReserved", "False", "Inadmissible"),)
)
JUDGED = {"conditions": [{"type": "QuotaReserved", "status": "False"}]}


def decided(*intents, status=None, seconds=1.0):
    workload = {"metadata": {"name": "w", "creationTimestamp": CREATED}, "status": status or {}}
    return list(left_unsaid(workload, intents, timestamps.parse(CREATED) + timedelta(seconds=seconds)))


def test_a_new_workload_is_looked_at_again_when_the_engine_should_have_spoken():
    assert decided(LISTED) == [RequeueAfter(4.0)]


@pytest.mark.parametrize(
    ("intents", "known"),
    [
        ((LISTED,), {"seconds": 5.0}),
        ((LISTED,), {"seconds": -1.0}),
        ((LISTED,), {"status": JUDGED}),
        ((LISTED,), {"status": {"admissionChecks": [{"name": "other", "state": "Ready"}]}}),
        ((LISTED, BLOCKED), {}),
        ((BLOCKED,), {}),
    ],
    ids=["late", "clocks differ", "judged", "listed otherwise", "blocked", "no list"],
)
def test_everything_else_is_written_at_once(intents, known):
    assert decided(*intents, **known) == list(intents)
