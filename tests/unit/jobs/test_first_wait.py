"""When a job says that its pods are not ready yet: not before that is worth a write."""

from datetime import timedelta

from worker_agent.api import timestamps
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_first_wait, job_lifecycle
from worker_agent.engine.intents import ApplyStatus, RequeueAfter

from .builders import EARLIER, NOW, admitted, condition, conditions, job, of_type, view, workload

ADMITTED = timestamps.parse(EARLIER)


def decided(*workloads, now=NOW):
    seen = view(job(suspend=False), *workloads, policy=JobPolicy(wait_for_pods_ready=True))
    return job_lifecycle.decide_to_rest(seen, now)


def test_a_job_that_was_just_admitted_says_nothing_of_its_pods_and_looks_again():
    intents = decided(admitted(job()), now=ADMITTED + timedelta(seconds=10))
    assert "PodsReady" not in conditions(intents)
    assert [again.seconds for again in of_type(intents, RequeueAfter)] == [job_first_wait.LONG.total_seconds() - 10]


def test_a_workload_that_waits_for_quota_says_nothing_of_its_pods():
    intents = job_lifecycle.decide_to_rest(view(job(), workload(job())), NOW)
    assert not of_type(intents, ApplyStatus)


def test_pods_that_take_long_are_told_of():
    late = ADMITTED + job_first_wait.LONG
    assert conditions(decided(admitted(job()), now=late))["PodsReady"] == (
        "False",
        "WaitForStart",
        "Not all pods are ready or succeeded",
    )


def test_what_was_said_before_is_taken_back():
    intents = decided(admitted(job(), condition("PodsReady", "True", "Started")))
    assert conditions(intents)["PodsReady"][1] == "WaitForRecovery"
