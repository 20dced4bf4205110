"""One decision about a job: which step acts, what it writes, what it says."""

from datetime import timedelta

import msgspec
import pytest

from worker_agent.api import names
from worker_agent.api.document import Document, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.selectors import parse_label_query
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine import job_lifecycle
from worker_agent.engine.intents import (
    ApplyStatus,
    CreateObject,
    DeleteObject,
    Intent,
    PatchObject,
    RemoveFinalizer,
    RequeueAfter,
)
from worker_agent.engine.job_ancestors import Ancestry
from worker_agent.engine.job_view import JobView

from .builders import (
    ADMITTED,
    EARLIER,
    NOW,
    RESERVED,
    admission,
    admitted,
    condition,
    errors,
    events,
    job,
    patched,
    pod_template,
    view,
    workload,
)

DELETED = {"deletionTimestamp": EARLIER, "finalizers": ["user"]}


def decide(seen: JobView) -> list[Intent]:
    return job_lifecycle.decide(seen, NOW)


def conditions(intents: list[Intent]) -> dict[str, tuple[str, str, str]]:
    """Conditions written, by type: status, reason, message."""
    written = [c for intent in intents if isinstance(intent, ApplyStatus) for c in intent.conditions]
    return {c.type: (c.status, c.reason, c.message) for c in written}


def of_type(intents: list[Intent], type_: type) -> list[Intent]:
    return [intent for intent in intents if isinstance(intent, type_)]


# Gone, not ours


def test_workloads_of_a_missing_job_are_finished_and_let_go():
    intents = decide(view(None, workload(job())))
    assert conditions(intents)["Finished"] == ("True", "OwnerNotFound", "The workload's owner no longer exists")
    assert of_type(intents, RemoveFinalizer)


def test_workloads_of_a_job_being_deleted_are_finished_and_let_go():
    intents = decide(view(job(metadata=DELETED), workload(job())))
    assert conditions(intents)["Finished"][1] == "OwnerNotFound"


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


def test_finished_job_gets_no_workload():
    done = job(suspend=False, status={"conditions": [{"type": "Complete", "status": "True"}]})
    assert decide(view(done)) == []


def test_missing_priority_class_is_an_error_with_an_event():
    intents = decide(view(job(labels={names.PRIORITY_CLASS_LABEL: "no"})))
    assert events(intents) == [("WorkloadPriorityClassNotFound", 'WorkloadPriorityClass "no" not found')]
    assert errors(intents) == ['workloadpriorityclasses.kueue.x-k8s.io "no" not found']


# Prebuilt


PREBUILT = job(annotations={names.PREBUILT_WORKLOAD: "made-before"})


def ownerless(of: Document) -> Document:
    return put(workload(of, name="made-before"), ("metadata", "ownerReferences"), None)


def test_prebuilt_workload_is_adopted():
    intents = decide(view(PREBUILT, prebuilt=ownerless(PREBUILT)))
    owner = patched(intents, "Workload")["metadata"]["ownerReferences"][0]
    assert (owner["name"], owner["uid"], owner["controller"]) == ("train", "train-uid", True)
    assert not errors(intents)


def test_prebuilt_workload_of_another_job_counts_as_missing():
    other = workload(job("other"), name="made-before")
    assert errors(decide(view(PREBUILT, prebuilt=other))) == ["prebuilt workload not found"]


def test_prebuilt_workload_that_differs_is_out_of_sync():
    running = put(PREBUILT, ("spec", "suspend"), False)
    intents = decide(view(running, prebuilt=ownerless(job(parallelism=9))))
    told = "The prebuilt workload is out of sync with its user job"
    assert conditions(intents)["Finished"] == ("True", "OutOfSync", told)
    assert ("Stopped", "missing workload") in events(intents)
    assert errors(intents) == ["prebuilt workload not found"]


def test_admitted_prebuilt_workload_starts_the_job():
    owned = admitted(PREBUILT, name="made-before")
    assert events(decide(view(PREBUILT, owned, prebuilt=owned))) == [("Started", "Admitted by clusterQueue cq")]


# Matching


def test_second_workload_is_deleted():
    intents = decide(view(job(), workload(job(), name="a"), workload(job(), name="b")))
    assert [intent.key.name for intent in of_type(intents, DeleteObject)] == ["b"]
    assert errors(intents) == ["extra workloads: deleted 1 workloads"]


def test_workload_without_quota_is_rewritten():
    owned = put(workload(job(parallelism=5)), ("spec", "active"), False)
    intents = decide(view(job(), owned))
    spec = patched(intents, "Workload")["spec"]
    assert (spec["podSets"][0]["count"], spec["active"]) == (1, False)
    name = owned["metadata"]["name"]
    assert events(intents)[0] == ("UpdatedWorkload", f"Updated not matching Workload for suspended job: ns/{name}")


def test_workload_with_quota_is_replaced():
    intents = decide(view(job(parallelism=2), workload(job(), RESERVED, admission=admission())))
    assert of_type(intents, DeleteObject)
    assert errors(intents) == ["no matching workloads: deleted 1 workloads"]


def test_running_job_that_no_workload_matches_is_stopped_and_restored():
    intents = decide(view(job(suspend=False, parallelism=2), admitted(job())))
    told = "No matching Workload; restoring pod templates according to existent Workload"
    assert events(intents)[0] == ("Stopped", told)


def test_workload_being_deleted_just_loses_its_finalizer():
    going = put(workload(job(parallelism=2), name="old"), ("metadata", "deletionTimestamp"), EARLIER)
    intents = decide(view(job(), workload(job(), name="new"), going))
    assert [type(intent) for intent in intents] == [RemoveFinalizer]


# Priority and gates


def classes(**values: int) -> dict[str, WorkloadPriorityClass]:
    return {n: msgspec.convert({"metadata": {"name": n}, "value": v}, WorkloadPriorityClass) for n, v in values.items()}


def with_class(owned: Document, group: str, name: str) -> Document:
    return put(owned, ("spec", "priorityClassRef"), {"group": group, "kind": "any", "name": name})


def test_workload_follows_the_label():
    labelled = job(labels={names.PRIORITY_CLASS_LABEL: "high"})
    owned = with_class(workload(job()), "kueue.x-k8s.io", "low")
    intents = decide(view(labelled, owned, workload_priority_classes=classes(high=9)))
    spec = patched(intents, "Workload")["spec"]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (9, "high")


@pytest.mark.parametrize(
    "owned",
    [
        with_class(workload(job()), "scheduling.k8s.io", "pods"),
        workload(job(), RESERVED, admission=admission()),
        with_class(workload(job(), condition("Finished")), "kueue.x-k8s.io", "low"),
    ],
    ids=["pod priority class", "quota and no class", "finished"],
)
def test_priority_that_is_left_alone(owned):
    labelled = job(labels={names.PRIORITY_CLASS_LABEL: "high"})
    intents = decide(view(labelled, owned, workload_priority_classes=classes(high=9)))
    assert not of_type(intents, PatchObject)


def test_gates_follow_the_job():
    gated = job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "a.io/b,a.io/c"})
    intents = decide(view(job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "a.io/b"}), workload(gated)))
    assert events(intents) == [("UpdatedWorkload", 'Updated workload AdmissionGatedBy to "a.io/b"')]


def test_removed_gates_are_removed():
    gated = job(annotations={names.ADMISSION_GATED_BY_ANNOTATION: "a.io/b"})
    after = patched(decide(view(job(), workload(gated))), "Workload")
    assert names.ADMISSION_GATED_BY_ANNOTATION not in after["metadata"].get("annotations", {})


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


# Reclaimable pods and readiness


def test_reclaimable_pods_are_told():
    running = job(suspend=False, parallelism=3, status={"succeeded": 2})
    (apply,) = decide(view(running, admitted(job(parallelism=3), count=3)))
    assert isinstance(apply, ApplyStatus)
    assert apply.fields == {"reclaimablePods": [{"name": "main", "count": 2}]}
    assert apply.field_manager == "kueue-reclaimable-pods"


def test_reclaimable_pods_told_already_are_not_written():
    running = job(suspend=False, parallelism=3, status={"succeeded": 2})
    told = admitted(job(parallelism=3), count=3, reclaimablePods=[{"name": "main", "count": 2}])
    assert decide(view(running, told)) == []


@pytest.mark.parametrize(
    ("owned", "ready", "reason"),
    [
        (workload(job()), 0, "WaitForStart"),
        (admitted(job()), 0, "WaitForStart"),
        (admitted(job()), 1, "Started"),
        (admitted(job(), condition("PodsReady", reason="Started")), 0, "WaitForRecovery"),
        (admitted(job(), condition("PodsReady", "False", "WaitForRecovery")), 1, "Recovered"),
    ],
)
def test_readiness(owned, ready, reason):
    seen = view(job(suspend=False, status={"ready": ready, "active": 1}), owned, policy=JobPolicy())
    assert conditions(decide(seen))["PodsReady"][1] == reason


# Eviction


def evicted_by(reason: str, **status: object) -> Document:
    return admitted(job(), condition("Evicted", reason=reason, message="why"), **status)


def test_evicted_job_is_stopped_and_gives_its_quota_back():
    intents = decide(view(job(suspend=False), evicted_by("PodsReadyTimeout")))
    assert events(intents) == [("Stopped", "why")]
    written = conditions(intents)
    assert written["QuotaReserved"] == ("False", "PendingEvaluation", "why")
    assert written["Admitted"] == ("False", "NoReservation", "The workload has no reservation")
    assert written["Requeued"] == ("False", "PodsReadyTimeout", "why")


@pytest.mark.parametrize("reason", ["Preempted", "NodeFailures"])
def test_preempted_job_is_queued_again(reason):
    assert conditions(decide(view(job(suspend=False), evicted_by(reason))))["Requeued"][0] == "True"


def test_quota_is_kept_until_no_pod_runs():
    intents = decide(view(job(suspend=False, status={"active": 1}), evicted_by("Preempted")))
    assert events(intents) == [("Stopped", "why")]
    assert not conditions(intents)


def test_execution_time_is_added_up():
    (apply,) = of_type(decide(view(job(suspend=False), evicted_by("Preempted"))), ApplyStatus)
    assert isinstance(apply, ApplyStatus)
    assert apply.fields["accumulatedPastExecutionTimeSeconds"] == 60


@pytest.mark.parametrize(("period", "left"), [(30, None), (90, 30.0)])
def test_deactivated_job_is_deleted_when_its_time_is_over(period, left):
    owned = put(evicted_by("DeactivatedDueToRequeuingLimitExceeded"), ("spec", "active"), False)
    policy = JobPolicy(wait_for_pods_ready=False, retain_deactivated=timedelta(seconds=period))
    intents = decide(view(job(suspend=False), owned, policy=policy))
    assert [i.seconds for i in intents if isinstance(i, RequeueAfter)] == ([] if left is None else [left])
    deleted = [i.key.name for i in intents if isinstance(i, DeleteObject)]
    assert deleted == (["train"] if left is None else [])


def test_job_deactivated_by_its_user_is_kept():
    owned = put(evicted_by("Deactivated"), ("spec", "active"), False)
    policy = JobPolicy(wait_for_pods_ready=False, retain_deactivated=timedelta(0))
    assert not of_type(decide(view(job(suspend=False), owned, policy=policy)), DeleteObject)


# Start


def test_admitted_job_is_started_with_its_flavors():
    intents = decide(view(job(), admitted(job())))
    after = patched(intents)
    assert not after["spec"]["suspend"]
    assert after["spec"]["template"]["spec"]["nodeSelector"] == {"tier": "spot"}
    labels = after["spec"]["template"]["metadata"]["labels"]
    assert labels[names.POD_SET_LABEL] == "main"
    assert labels[names.LOCAL_QUEUE_NAME_LABEL] == "main-queue"
    assert labels[names.CLUSTER_QUEUE_NAME_LABEL] == "cq"


def test_conflict_at_start_is_final():
    conflicting = job(template=pod_template(nodeSelector={"tier": "gold"}))
    intents = decide(view(conflicting, admitted(conflicting)))
    status, reason, message = conditions(intents)["Finished"]
    assert (status, reason) == ("True", "FailedToStart")
    assert "conflict for nodeSelector" in message
    assert not of_type(intents, PatchObject)


def test_lost_flavor_is_tried_again():
    intents = decide(view(job(), admitted(job()), flavors={}))
    assert errors(intents) == ['resourceflavors.kueue.x-k8s.io "spot" not found']


def test_copies_of_a_hub_mark_their_pods():
    owned = put(admitted(job()), ("metadata", "labels", names.MULTIKUEUE_ORIGIN_LABEL), "hub")
    after = patched(decide(view(job(), owned)))
    assert after["spec"]["template"]["metadata"]["labels"][names.MULTIKUEUE_WORKER_POD_LABEL] == "true"


def test_topology_assignment_gates_the_pods():
    placed = admission()
    placed["podSetAssignments"][0]["topologyAssignment"] = {"levels": ["host"], "slices": []}
    owned = workload(job(), RESERVED, ADMITTED, admission=placed)
    template = patched(decide(view(job(), owned)))["spec"]["template"]
    assert template["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
    assert template["metadata"]["annotations"][names.UNCONSTRAINED_TOPOLOGY_ANNOTATION] == "true"


def test_pending_checks_are_told():
    checks = [
        {"name": "a", "state": "Pending", "message": "soon"},
        {"name": "b", "state": "Ready", "message": "done"},
        {"name": "c", "state": "Pending", "message": "later"},
    ]
    intents = decide(view(job(), workload(job(), RESERVED, admission=admission(), admissionChecks=checks)))
    assert events(intents) == [("UpdatedAdmissionCheck", "a: soon; c: later")]


def test_queue_follows_the_label():
    assert patched(decide(view(job(queue="other"), workload(job()))), "Workload")["spec"]["queueName"] == "other"


def test_running_job_without_admission_is_stopped():
    intents = decide(view(job(suspend=False), workload(job())))
    assert events(intents) == [("Stopped", "Not admitted by cluster queue")]


def test_running_admitted_job_is_left_alone():
    assert decide(view(patched(decide(view(job(), admitted(job())))), admitted(job()))) == []


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
    assert job_lifecycle.decide_to_rest(seen.after(intents, NOW), NOW) == []


def test_retry_ends_the_decision():
    intents = job_lifecycle.decide_to_rest(view(job(suspend=False, parallelism=2), admitted(job())), NOW)
    assert errors(intents) == ["no matching workloads: deleted 1 workloads"]
    assert not of_type(intents, CreateObject)
