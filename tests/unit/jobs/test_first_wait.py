"""When a job first says whether its pods are ready: not before that is worth a write."""

from datetime import timedelta

from worker_agent.api import names, timestamps
from worker_agent.api.document import put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_first_wait, job_lifecycle
from worker_agent.engine.intents import ApplyStatus, RequeueAfter, SetCondition
from worker_agent.engine.job_first_wait import ReadyKeptBack

from .builders import EARLIER, NOW, admitted, condition, conditions, job, of_type, view, workload

ADMITTED = timestamps.parse(EARLIER)


def decided(*workloads, now=NOW):
    starting = job(suspend=False, status={"active": 1})
    seen = view(starting, *workloads, policy=JobPolicy(wait_for_pods_ready=True))
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


# While nothing is known of any pods


def test_a_job_whose_start_is_still_to_come_says_nothing_for_minutes():
    late = ADMITTED + job_first_wait.LONG
    seen = view(job(), admitted(job()), policy=JobPolicy(), not_to_start="the hub's lease lapsed")
    assert "PodsReady" not in conditions(job_lifecycle.decide_to_rest(seen, late))
    later = ADMITTED + job_first_wait.UNSTARTED
    assert conditions(job_lifecycle.decide_to_rest(seen, later))["PodsReady"][:2] == ("False", "WaitForStart")


def test_a_job_that_was_started_late_says_nothing_before_it_has_pods():
    late = ADMITTED + job_first_wait.LONG
    seen = view(job(suspend=False), admitted(job()), policy=JobPolicy())
    assert "PodsReady" not in conditions(job_lifecycle.decide_to_rest(seen, late))


# Copies that a hub sent

PATIENT = JobPolicy(copies_keep_ready_back=timedelta(seconds=30))
READY = {"active": 1, "ready": 1}


def decided_on_copy(*more, seconds, policy=PATIENT, status=READY, since=None):
    running = job(suspend=False, status=status)
    copy = put(admitted(running, *more), ("metadata", "labels", names.MULTIKUEUE_ORIGIN_LABEL), "hub")
    seen = view(running, copy, policy=policy, ready_since=since)
    return job_lifecycle.decide_to_rest(seen, ADMITTED + timedelta(seconds=seconds))


def test_a_copy_keeps_back_for_a_while_that_its_pods_are_ready():
    intents = decided_on_copy(seconds=10)
    assert not conditions(intents)
    assert of_type(intents, RequeueAfter) == [ReadyKeptBack(20.0)]


def test_a_copy_that_goes_on_tells_since_when_its_pods_are_ready():
    since = ADMITTED + timedelta(seconds=4)
    (told,) = of_type(decided_on_copy(seconds=30, since=since), ApplyStatus)
    assert told.conditions == (
        SetCondition(
            "PodsReady", "True", "Started", "All pods reached readiness and the workload is running", since=since
        ),
    )


def test_a_copy_that_ends_soon_tells_of_its_end_alone():
    ended = {"succeeded": 1, "conditions": [condition("Complete")]}
    assert list(conditions(decided_on_copy(seconds=10, status=ended))) == ["Finished"]


def test_what_a_copy_said_before_is_kept_true_at_once():
    waiting = condition("PodsReady", "False", "WaitForStart")
    assert conditions(decided_on_copy(waiting, seconds=10))["PodsReady"][:2] == ("True", "Started")


def test_a_copy_tells_at_once_where_the_policy_does_not_let_it_wait():
    assert conditions(decided_on_copy(seconds=10, policy=JobPolicy()))["PodsReady"][:2] == ("True", "Started")


def test_a_job_of_the_cluster_s_own_users_tells_at_once_that_its_pods_are_ready():
    running = job(suspend=False, status=READY)
    intents = job_lifecycle.decide_to_rest(view(running, admitted(running), policy=PATIENT), NOW)
    assert conditions(intents)["PodsReady"][:2] == ("True", "Started")


def unsaid(intents, *more, status=READY):
    running = job(suspend=False, status=status)
    copy = put(admitted(running, *more), ("metadata", "labels", names.MULTIKUEUE_ORIGIN_LABEL), "hub")
    found = job_first_wait.ended_unsaid(view(running, copy, policy=PATIENT), intents)
    return found and found["metadata"]["name"]


def test_a_copy_whose_job_ends_before_it_is_told_of_its_pods_is_known():
    complete = {"conditions": [condition("Complete", "True", "CompletionsReached")], "succeeded": 1}
    running = job(suspend=False, status=complete)
    intents = job_lifecycle.decide_to_rest(view(running, admitted(running), policy=PATIENT), NOW)
    assert unsaid(intents, status=complete) == admitted(running)["metadata"]["name"]


def test_a_copy_that_is_evicted_before_it_is_told_of_its_pods_is_known():
    assert unsaid([], condition("Evicted", "True", "Preempted")) is not None


def test_a_copy_that_runs_on_has_nothing_unsaid():
    assert unsaid([]) is None


def test_what_was_told_is_not_unsaid():
    evicted, told = condition("Evicted", "True", "Preempted"), condition("PodsReady", "True", "Started")
    assert unsaid([], evicted, told) is None
