"""One decision about a job: which step acts, what it writes, what it says."""

from datetime import timedelta

import pytest

from worker_agent.api import names, timestamps
from worker_agent.api.document import put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.selectors import parse_label_query
from worker_agent.engine import job_lifecycle
from worker_agent.engine.intents import (
    CreateObject,
    DeleteObject,
    PatchObject,
    RemoveFinalizer,
    RequeueAfter,
)
from worker_agent.engine.job_ancestors import Ancestry
from worker_agent.jobs.pod import Pod

from .builders import (
    EARLIER,
    NOW,
    admitted,
    condition,
    conditions,
    decide,
    errors,
    events,
    job,
    of_type,
    patched,
    view,
    workload,
)

DELETED = {"deletionTimestamp": EARLIER, "finalizers": ["user"]}


# Gone, not ours


def test_workloads_of_a_missing_job_are_finished_and_let_go():
    intents = decide(view(None, workload(job())))
    assert conditions(intents)["Finished"] == ("True", "OwnerNotFound", "The workload's owner no longer exists")
    assert of_type(intents, RemoveFinalizer)


def test_workloads_of_a_job_being_deleted_are_finished_and_let_go():
    intents = decide(view(job(metadata=DELETED), workload(job())))
    assert conditions(intents)["Finished"][1] == "OwnerNotFound"


def test_quota_of_a_job_being_deleted_is_kept_while_its_pods_run():
    assert decide(view(job(metadata=DELETED, status={"active": 1}), workload(job()))) == []
    elsewhere = job(metadata=DELETED, status={"active": 1}, managedBy=names.MULTIKUEUE_CONTROLLER)
    assert conditions(decide(view(elsewhere, workload(job()))))["Finished"][1] == "OwnerNotFound"


@pytest.mark.parametrize(("seconds_ago", "is_let_go"), [(10, False), (36, True)])
def test_quota_of_a_job_whose_dependents_go_first_is_kept_no_longer_than_its_pods_may_stay(seconds_ago, is_let_go):
    """Its Workload holds up its own deletion, and nobody tells any more how many pods run."""
    deleted = timestamps.rfc3339(NOW - timedelta(seconds=seconds_ago))
    going = job(metadata={"deletionTimestamp": deleted, "finalizers": ["foregroundDeletion"]}, status={"active": 1})
    intents = decide(view(going, workload(job())))
    assert bool(of_type(intents, RemoveFinalizer)) is is_let_go
    assert [each.seconds for each in of_type(intents, RequeueAfter)] == ([] if is_let_go else [25.0])


def test_finish_of_a_finished_orphan_keeps_its_reason():
    intents = decide(view(None, workload(job(), condition("Finished", reason="Succeeded"))))
    assert not conditions(intents)


def test_orphans_only_lose_their_finalizer_without_the_gate():
    policy = JobPolicy(finish_orphans=False)
    intents = decide(view(None, workload(job()), policy=policy))
    assert [type(intent) for intent in intents] == [RemoveFinalizer]


@pytest.mark.parametrize(
    "seen",
    [
        view(job(), namespace_labels=None),
        view(job(), policy=JobPolicy(namespaces=parse_label_query("managed=yes"))),
        view(job(queue="")),
    ],
    ids=["no namespace", "namespace not selected", "no queue name"],
)
def test_jobs_that_are_not_ours_are_left_alone(seen):
    assert decide(seen) == []


@pytest.mark.parametrize("queue", ["", "main-queue"])
def test_quota_of_an_earlier_job_of_the_same_name_is_not_kept(queue):
    earlier = put(workload(job()), ("metadata", "deletionTimestamp"), EARLIER)
    seen = view(job(queue=queue, metadata={"uid": "new"}), earlier)
    assert [intent.key.name for intent in of_type(decide(seen), RemoveFinalizer)] == [earlier["metadata"]["name"]]


def test_pod_that_nothing_holds_is_stopped_once_its_workload_is_gone():
    pod = {"metadata": {"name": "train", "namespace": "ns", "uid": "u", "labels": {names.MANAGED_LABEL: "true"}}}
    pod["metadata"]["labels"][names.QUEUE_NAME_LABEL] = "main-queue"
    running = {**pod, "spec": {"containers": []}, "status": {"phase": "Running"}}
    policy = JobPolicy(frameworks=frozenset({"pod"}))
    intents = decide(view(running, policy=policy, kind=Pod()))
    assert of_type(intents, PatchObject)
    assert of_type(intents, DeleteObject)


def test_all_jobs_are_ours_in_manage_all_mode():
    seen = view(job(queue=""), policy=JobPolicy(manage_without_queue_name=True))
    assert of_type(decide(seen), CreateObject)


def test_too_deep_nesting_is_told():
    intents = decide(view(job(), ancestry=Ancestry(error="too deep", too_deep=True)))
    assert events(intents) == [("JobNestingTooDeep", "too deep")]
    assert errors(intents) == ["too deep"]


# Children


@pytest.mark.parametrize(
    ("of_parent", "suspends"),
    [
        ((), True),
        ((workload(job("parent")),), True),
        ((admitted(job("parent")),), False),
        ((admitted(job("parent"), condition("Finished")),), True),
    ],
    ids=["no workload", "pending", "admitted", "finished"],
)
def test_child_runs_only_while_its_ancestor_is_admitted(of_parent, suspends):
    seen = view(job(suspend=False), ancestry=Ancestry(job("parent")), ancestor_workloads=of_parent)
    intents = decide(seen)
    assert bool(events(intents) == [("Suspended", "Kueue managed child job suspended")]) is suspends
    assert not of_type(intents, CreateObject)


def test_child_never_gets_a_workload():
    assert decide(view(job(), ancestry=Ancestry(job("parent")))) == []


# Creation


def test_new_job_gets_a_workload():
    (create, _) = intents = decide(view(job()))
    assert isinstance(create, CreateObject)
    assert events(intents) == [("CreatedWorkload", f"Created Workload: ns/{create.key.name}")]


def test_job_that_runs_without_workload_is_stopped_first():
    intents = decide(view(job(suspend=False)))
    assert [reason for reason, _ in events(intents)] == ["Stopped", "CreatedWorkload"]
    assert patched(intents)["spec"]["suspend"]


def test_workload_waits_for_pods_of_an_earlier_run():
    intents = decide(view(job(suspend=False, status={"active": 1})))
    assert not of_type(intents, CreateObject)
    assert not errors(intents)


def test_status_of_a_run_elsewhere_is_not_waited_for():
    elsewhere = job(status={"active": 1}, managedBy=names.MULTIKUEUE_CONTROLLER)
    assert of_type(decide(view(elsewhere)), CreateObject)


def test_finished_job_gets_no_workload():
    done = job(suspend=False, status={"conditions": [{"type": "Complete", "status": "True"}]})
    assert decide(view(done)) == []


def test_missing_priority_class_is_an_error_with_an_event():
    intents = decide(view(job(labels={names.PRIORITY_CLASS_LABEL: "no"})))
    assert events(intents) == [("WorkloadPriorityClassNotFound", 'WorkloadPriorityClass "no" not found')]
    assert errors(intents) == ['workloadpriorityclasses.kueue.x-k8s.io "no" not found']


# Finish


def test_finished_workload_is_let_go():
    intents = decide(view(job(), workload(job(), condition("Finished"), name="w")))
    assert events(intents) == [("FinishedWorkload", "Workload 'ns/w' is declared finished")]
    assert of_type(intents, RemoveFinalizer)


@pytest.mark.parametrize(("type_", "reason"), [("Complete", "Succeeded"), ("Failed", "Failed")])
def test_finished_job_finishes_its_workload(type_, reason):
    done = job(suspend=False, status={"conditions": [{"type": type_, "status": "True", "message": "m"}]})
    assert conditions(decide(view(done, admitted(job()))))["Finished"] == ("True", reason, "m")


def test_workload_deleted_under_a_running_job_stops_it():
    going = put(admitted(job()), ("metadata", "deletionTimestamp"), EARLIER)
    intents = decide(view(job(suspend=False), going))
    assert events(intents) == [("Stopped", "Workload is deleted")]
    assert of_type(intents, RemoveFinalizer)


# To rest


def test_finish_and_letting_go_happen_at_once():
    done = job(suspend=False, status={"conditions": [{"type": "Complete", "status": "True"}]})
    intents = job_lifecycle.decide_to_rest(view(done, admitted(job(), name="w")), NOW)
    assert conditions(intents)["Finished"][1] == "Succeeded"
    assert of_type(intents, RemoveFinalizer)
    assert events(intents) == [("FinishedWorkload", "Workload 'ns/w' is declared finished")]


def test_job_long_finished_is_silent():
    finished = put(workload(job(), condition("Finished")), ("metadata", "finalizers"), None)
    assert job_lifecycle.decide_to_rest(view(job(), finished), NOW) == []


def test_at_rest_nothing_is_written_again():
    seen = view(job(), admitted(job()), policy=JobPolicy())
    intents = job_lifecycle.decide_to_rest(seen, NOW)
    again = job_lifecycle.decide_to_rest(seen.after(intents, NOW), NOW)
    assert [intent for intent in again if not isinstance(intent, RequeueAfter)] == []


def test_retry_ends_the_decision():
    intents = job_lifecycle.decide_to_rest(view(job(suspend=False, parallelism=2), admitted(job())), NOW)
    assert errors(intents) == ["no matching workloads: deleted 1 workloads"]
    assert not of_type(intents, CreateObject)
