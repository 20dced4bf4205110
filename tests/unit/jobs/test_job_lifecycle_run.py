"""A job with its Workload: readiness, eviction, start."""

from datetime import timedelta
from typing import Any

import pytest

from worker_agent.api import names
from worker_agent.api.document import Document, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine.intents import (
    ApplyStatus,
    DeleteObject,
    PatchObject,
    RemoveFinalizer,
    RequeueAfter,
)

from .builders import (
    ADMITTED,
    EARLIER,
    RESERVED,
    admission,
    admitted,
    condition,
    conditions,
    decide,
    errors,
    events,
    job,
    of_type,
    patched,
    pod_template,
    view,
    workload,
)

DELETED = {"deletionTimestamp": EARLIER, "finalizers": ["user"]}


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


# Jobs that run on another cluster


def dispatched(**spec: Any) -> Document:
    return job(suspend=False, managedBy=names.MULTIKUEUE_CONTROLLER, status={"active": 2}, **spec)


def test_templates_wait_until_pods_elsewhere_have_ended():
    intents = decide(view(dispatched(), admitted(job(), condition(names.EVICTED))))
    (stop,) = of_type(intents, PatchObject)
    assert stop.after["spec"]["suspend"]
    assert stop.after["metadata"]["annotations"][names.STOPPING_ANNOTATION] == "true"


def test_deleted_workload_is_kept_while_pods_run_elsewhere():
    owned = admitted(job())
    deleted = put(owned, ("metadata", "deletionTimestamp"), EARLIER)
    assert not of_type(decide(view(dispatched(), deleted)), RemoveFinalizer)
    ended = put(dispatched(), ("status", "active"), None)
    assert of_type(decide(view(ended, deleted)), RemoveFinalizer)


def test_edited_job_takes_its_workload_back_before_it_gets_another():
    edited = dispatched(parallelism=4)
    intents = decide(view(edited, admitted(job())))
    assert of_type(intents, DeleteObject)
    assert not of_type(intents, RemoveFinalizer)
    assert ("DeletedWorkload", f"Deleted not matching Workload: ns/{workload(job())['metadata']['name']}") in events(
        intents
    )


def test_workload_taken_back_is_not_deleted_again():
    edited = put(dispatched(parallelism=4), ("metadata", "annotations", names.STOPPING_ANNOTATION), "true")
    deleted = put(admitted(job()), ("metadata", "deletionTimestamp"), EARLIER)
    assert decide(view(put(edited, ("spec", "suspend"), True), deleted)) == []
