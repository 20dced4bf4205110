"""The Job controller's next steps."""

import pytest

from hub.local.simulation import job_pods
from tests.unit.simulation.objects import NOW, at, condition, decide, job, names, pod, true
from worker_agent.api.timestamps import rfc3339

STARTED = {"startTime": rfc3339(at(-60)), "uncountedTerminatedPods": {}, "ready": 0, "terminating": 0}


def test_a_new_job_gets_its_pods_and_a_start_time():
    plan = decide(job(completions=3, parallelism=2))
    assert len(plan.create) == 2
    assert plan.status == {
        "startTime": rfc3339(NOW),
        "active": 2,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }


def test_a_job_at_rest_is_left_alone():
    status = STARTED | {"active": 1, "ready": 1}
    plan = decide(job(status), pod("a"))
    assert (plan.create, plan.delete, plan.release, plan.status) == ([], [], [], None)


@pytest.mark.parametrize(
    ("manager", "touched"), [("kueue.x-k8s.io/multikueue", False), ("kubernetes.io/job-controller", True)]
)
def test_only_jobs_of_the_built_in_controller_are_touched(manager: str, touched: bool):
    plan = decide(job(managedBy=manager))
    assert bool(plan.create) == touched
    assert (plan.status is not None) == touched


def test_pods_of_another_job_do_not_count():
    stranger = pod("a", ownerReferences=[{"kind": "Job", "name": "train", "uid": "older", "controller": True}])
    assert len(decide(job(), stranger).create) == 1


class TestCounting:
    def test_a_success_is_first_noted_by_uid(self):
        plan = decide(job(STARTED | {"active": 1}, completions=2), pod("a", "Succeeded"))
        assert plan.status is not None
        assert plan.status["uncountedTerminatedPods"] == {"succeeded": ["u-a"]}
        assert "succeeded" not in plan.status
        assert plan.release == []

    def test_a_noted_pod_loses_its_finalizer(self):
        status = STARTED | {"uncountedTerminatedPods": {"succeeded": ["u-a"]}}
        assert names(decide(job(status, completions=2), pod("a", "Succeeded")).release) == ["a"]

    @pytest.mark.parametrize("how", ["untracked", "released", "gone"])
    def test_without_its_finalizer_the_pod_moves_to_the_counter(self, how: str):
        status = STARTED | {"uncountedTerminatedPods": {"succeeded": ["u-a"]}}
        pods = [] if how == "gone" else [pod("a", "Succeeded", tracked=how != "untracked")]
        released = frozenset({"u-a"}) if how == "released" else frozenset()
        plan = decide(job(status, completions=2), *pods, released=released)
        assert plan.status is not None
        assert plan.status["succeeded"] == 1
        assert plan.status["uncountedTerminatedPods"] == {}

    def test_a_counted_pod_is_never_counted_again(self):
        status = STARTED | {"succeeded": 1}
        seen_late = pod("a", "Succeeded")
        plan = decide(job(status, completions=2), seen_late, released=frozenset({"u-a"}))
        assert plan.status is not None
        assert plan.status["succeeded"] == 1
        assert plan.status["uncountedTerminatedPods"] == {}

    def test_a_pod_deleted_from_outside_counts_as_failed(self):
        plan = decide(job(STARTED | {"active": 1}), pod("a", deleting=True))
        assert plan.status is not None
        assert plan.status["uncountedTerminatedPods"] == {"failed": ["u-a"]}

    def test_with_replacement_policy_failed_a_deleted_pod_is_waited_for(self):
        plan = decide(job(STARTED, podReplacementPolicy="Failed"), pod("a", deleting=True))
        assert plan.create == []
        assert plan.status is not None
        assert plan.status["uncountedTerminatedPods"] == {}
        assert plan.status["terminating"] == 1


class TestCompletion:
    def test_success_is_announced_then_sealed(self):
        announced = decide(job(STARTED | {"active": 1}), pod("a", "Succeeded")).status
        reached = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
        assert condition(announced, "SuccessCriteriaMet") == reached
        assert condition(announced, "Complete") is None
        plan = decide(job(announced), pod("a", "Succeeded", tracked=False))
        assert condition(plan.status, "Complete") == reached
        assert plan.status is not None
        assert plan.status["completionTime"] == rfc3339(NOW)
        assert plan.status["succeeded"] == 1
        assert "active" not in plan.status
        assert plan.events == [("Normal", "Completed", "Job completed")]

    def test_without_completions_one_success_is_enough_once_all_ended(self):
        work_queue = job(STARTED, completions=None, parallelism=2)
        first = decide(work_queue, pod("a", "Succeeded"), pod("b"))
        assert (first.create, condition(first.status, "SuccessCriteriaMet")) == ([], None)
        last = decide(work_queue, pod("a", "Succeeded"), pod("b", "Succeeded"))
        assert condition(last.status, "SuccessCriteriaMet") is not None

    def test_no_completions_asked_is_complete_at_once(self):
        plan = decide(job(completions=0, parallelism=1))
        assert condition(plan.status, "Complete") is not None

    def test_a_finished_job_is_left_alone(self):
        plan = decide(job({"conditions": [true("Complete")]}), pod("a", "Succeeded", tracked=False))
        assert (plan.create, plan.delete, plan.release, plan.status) == ([], [], [], None)

    def test_a_finished_job_frees_what_it_left_behind(self):
        plan = decide(job({"conditions": [true("Failed")]}), pod("a", "Failed"), pod("b"))
        assert names(plan.release) == ["a"]
        assert names(plan.delete) == ["b"]

    @pytest.mark.parametrize(("age", "deleted", "again"), [(29.0, False, 1.0), (30.0, True, None)])
    def test_time_to_live(self, age: float, deleted: bool, again: float | None):
        finished = job({"conditions": [true("Complete", since=-age)]}, ttlSecondsAfterFinished=30)
        plan = decide(finished)
        assert (plan.delete_job, plan.look_again) == (deleted, again)


class TestIndexed:
    def test_pods_for_the_lowest_free_indexes(self):
        indexed = job(STARTED | {"completedIndexes": "0"}, completions=5, parallelism=3, completionMode="Indexed")
        plan = decide(indexed, pod("b", index=1))
        assert [job_pods.index(made) for made in plan.create] == [2, 3]

    def test_successes_are_counted_by_index(self):
        indexed = job(STARTED, completions=5, parallelism=2, completionMode="Indexed")
        plan = decide(indexed, pod("a", "Succeeded", index=0), pod("b", "Succeeded", index=2))
        assert plan.status is not None
        assert (plan.status["completedIndexes"], plan.status["succeeded"]) == ("0,2", 2)
        assert plan.status["uncountedTerminatedPods"] == {}
        assert plan.release == []

    def test_a_counted_index_frees_its_pod(self):
        indexed = job(STARTED | {"completedIndexes": "0-1"}, completions=5, parallelism=2, completionMode="Indexed")
        assert names(decide(indexed, pod("a", "Succeeded", index=1), pod("x", "Succeeded", index=3)).release) == ["a"]

    def test_an_index_is_never_run_by_two_pods(self):
        indexed = job(STARTED, completions=2, parallelism=2, completionMode="Indexed")
        plan = decide(indexed, pod("a", index=0), pod("b", index=0, phase="Pending"))
        assert names(plan.delete) == ["b"]
        assert plan.create == []

    def test_an_index_beyond_completions_is_ended(self):
        indexed = job(STARTED, completions=1, parallelism=1, completionMode="Indexed")
        assert names(decide(indexed, pod("a", index=0), pod("b", index=7)).delete) == ["b"]

    def test_an_index_that_failed_too_often_is_given_up(self):
        indexed = job(STARTED, completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=1)
        twice = pod("a", "Failed", index=0, ended=-1000, annotations={job_pods.INDEX_FAILURES: "1"})
        plan = decide(indexed, twice, pod("b", index=1))
        assert plan.status is not None
        assert plan.status["failedIndexes"] == "0"
        assert plan.create == []

    def test_given_up_indexes_fail_the_job_in_the_end(self):
        status = STARTED | {"failedIndexes": "0", "completedIndexes": "1"}
        indexed = job(status, completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0)
        plan = decide(indexed, pod("b", "Succeeded", index=1, tracked=False))
        assert condition(plan.status, "Failed") == ("True", "FailedIndexes", "Job has failed indexes")


class TestFailure:
    @pytest.mark.parametrize(("failures", "wait"), [(1, 10), (2, 20), (3, 40), (6, 320)])
    def test_failed_pods_are_replaced_after_a_growing_delay(self, failures: int, wait: int):
        failed = [pod(f"p{number}", "Failed", tracked=False) for number in range(failures)]
        status = STARTED | {"failed": failures}
        early = decide(job(status, backoffLimit=9), *failed, now=at(wait - 1))
        assert (early.create, early.look_again) == ([], pytest.approx(1))
        assert len(decide(job(status, backoffLimit=9), *failed, now=at(wait)).create) == 1

    def test_a_success_in_between_starts_the_delay_anew(self):
        pods = [pod(f"p{n}", "Failed", tracked=False, ended=-100) for n in range(3)]
        pods += [pod("s", "Succeeded", tracked=False, ended=-50), pod("f", "Failed", tracked=False, ended=0)]
        status = STARTED | {"failed": 4, "succeeded": 1}
        assert len(decide(job(status, completions=3), *pods, now=at(10)).create) == 1

    def test_beyond_the_backoff_limit_the_job_fails(self):
        pods = [pod("a", "Failed"), pod("b")]
        plan = decide(job(STARTED | {"failed": 1, "active": 1}, backoffLimit=1, completions=2), *pods)
        exceeded = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        assert condition(plan.status, "FailureTarget") == exceeded
        assert condition(plan.status, "Failed") is None
        assert names(plan.delete) == ["b"]
        assert plan.untrack == set()
        sealed = decide(
            job((plan.status or {}) | {"uncountedTerminatedPods": {"failed": ["u-a", "u-b"]}}, backoffLimit=1)
        )
        assert condition(sealed.status, "Failed") == exceeded
        assert sealed.status is not None
        assert sealed.status["failed"] == 3
        assert sealed.events == [("Warning", "BackoffLimitExceeded", "Job has reached the specified backoff limit")]

    def test_restarts_in_place_count_too(self):
        template = {"metadata": {}, "spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c"}]}}
        restarting = pod("a")
        restarting["status"]["containerStatuses"][0]["restartCount"] = 2
        assert condition(decide(job(STARTED, template=template, backoffLimit=2), restarting).status, "FailureTarget")

    @pytest.mark.parametrize(("deadline", "failed"), [(59, True), (61, False)])
    def test_the_active_deadline(self, deadline: int, failed: bool):
        plan = decide(job(STARTED | {"active": 1, "ready": 1}, activeDeadlineSeconds=deadline), pod("a"))
        text = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
        assert condition(plan.status, "FailureTarget") == (text if failed else None)
        assert plan.look_again == (None if failed else pytest.approx(1))


class TestSuspension:
    def test_a_job_created_suspended_does_not_start(self):
        plan = decide(job(suspend=True))
        assert plan.create == []
        assert condition(plan.status, "Suspended") == ("True", "JobSuspended", "Job suspended")
        assert plan.status is not None
        assert "startTime" not in plan.status
        assert plan.events == [("Normal", "Suspended", "Job suspended")]

    def test_suspending_ends_active_pods_without_counting_them(self):
        plan = decide(
            job(STARTED | {"active": 2, "ready": 2}, completions=2, parallelism=2, suspend=True), pod("a"), pod("b")
        )
        assert names(plan.delete) == ["a", "b"]
        assert plan.untrack == {"u-a", "u-b"}
        assert plan.status is not None
        assert "active" not in plan.status
        assert plan.status["terminating"] == 2

    def test_successes_of_a_suspended_job_still_count(self):
        plan = decide(job(STARTED, suspend=True, completions=2), pod("a", "Succeeded"))
        assert plan.status is not None
        assert plan.status["uncountedTerminatedPods"] == {"succeeded": ["u-a"]}

    def test_resuming_resets_the_start_time(self):
        status = STARTED | {"conditions": [true("Suspended", "JobSuspended")]}
        plan = decide(job(status))
        assert condition(plan.status, "Suspended") == ("False", "JobResumed", "Job resumed")
        assert plan.status is not None
        assert plan.status["startTime"] == rfc3339(NOW)
        assert len(plan.create) == 1

    def test_the_active_deadline_does_not_run_while_suspended(self):
        plan = decide(job(STARTED, suspend=True, activeDeadlineSeconds=1))
        assert condition(plan.status, "FailureTarget") is None

    def test_a_pod_that_lost_its_finalizer_is_ended_even_if_the_job_was_resumed(self):
        plan = decide(job(STARTED), pod("a", tracked=False))
        assert names(plan.delete) == ["a"]


def test_lower_parallelism_ends_the_least_useful_pods():
    unbound = pod("unbound", "Pending")
    del unbound["spec"]["nodeName"]
    plan = decide(job(STARTED, completions=9, parallelism=1), pod("runs"), pod("waits", "Pending"), unbound)
    assert names(plan.delete) == ["unbound", "waits"]
    assert plan.untrack == {"u-unbound", "u-waits"}


def test_a_job_being_deleted_makes_no_pods():
    dying = job(STARTED)
    dying["metadata"]["deletionTimestamp"] = rfc3339(NOW)
    assert decide(dying).create == []


def test_deciding_again_after_carrying_out_changes_nothing():
    fresh = job(completions=2, parallelism=2, completionMode="Indexed")
    plan = decide(fresh)
    made = [pod(created["metadata"]["name"], "Pending", index=number) for number, created in enumerate(plan.create)]
    again = decide(fresh | {"status": plan.status}, *made)
    assert (again.create, again.delete, again.status) == ([], [], None)
