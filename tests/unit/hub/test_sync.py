"""MultiKueue's steps S1 to S9, one behaviour each (spec/multikueue section 8)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hub.engine import sync
from hub.engine.intents import CountDispatched, EachCluster, ForgetDeleted, flat
from hub.engine.remote_group import CAPACITY_AWARE, Remote
from hub.engine.sync_owner import Owner
from tests.unit.hub.found_intents import ADMITTED, EVICTED, check_of, of, one
from tests.unit.hub.groups import (
    NOW,
    ORIGIN,
    POLICY,
    QUOTA,
    checked,
    condition,
    copy,
    group,
    holding,
    job,
    workload,
)
from worker_agent.api import names
from worker_agent.api.resource_type import JOBS, WORKLOADS
from worker_agent.engine.intents import (
    ApplyStatus,
    CreateObject,
    DeleteObject,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    RequeueAfter,
    RetryWithError,
)

# Whose Workload it is


def test_a_workload_without_our_check_is_left_alone():
    assert sync.decide(group(workload(QUOTA)), NOW) == []


def test_a_rejected_check_is_left_alone():
    assert sync.decide(group(checked("Rejected")), NOW) == []


def deletions(intents):
    return [(each.cluster, each.resource.plural) for each in flat(intents) if isinstance(each, DeleteObject)]


RUNS_ON_W1 = {"w1": holding(copy(ADMITTED), job(suspend=False, origin=ORIGIN, active=1)), "w2": Remote()}


def test_of_a_deleted_workload_nothing_stays_on_a_worker_although_its_check_is_rejected():
    """Who waits for the job there to stop would wait for ever: nobody else removes it."""
    found = group(checked("Rejected", clusterName="w1"), RUNS_ON_W1, deleted=True)
    assert deletions(sync.decide(found, NOW)) == [("w1", "jobs"), ("w1", "workloads")]
    assert sync.decide(found, NOW)[-1] == ForgetDeleted()


def test_a_rejected_workload_that_is_evicted_leaves_its_worker():
    found = group(checked("Rejected", EVICTED, clusterName="w1"), RUNS_ON_W1)
    assert deletions(sync.decide(found, NOW)) == [("w1", "jobs"), ("w1", "workloads")]


def test_an_owner_without_adapter_is_rejected():
    ownerless = replace(group(checked("Pending")), owner=Owner(None, "/v1, Kind=Pod"))
    message = 'No multikueue adapter found for owner kind "/v1, Kind=Pod", Previously: "Pending"'
    assert check_of(sync.decide(ownerless, NOW)) == ("Rejected", message)


def test_a_job_that_is_not_managed_is_rejected():
    other = group(checked("Pending"), local_job=job(managed_by="kubernetes.io/job-controller"))
    state, message = check_of(sync.decide(other, NOW))
    assert state == "Rejected"
    assert 'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "kubernetes.io/job-controller"' in message


def test_a_missing_job_is_an_error():
    missing = replace(group(checked("Pending")), job=None)
    assert sync.decide(missing, NOW) == [RetryWithError('jobs.batch "job" not found')]


def test_an_unreadable_configuration_is_an_error():
    broken = group(checked("Pending"), config_error="missing parameters reference")
    assert sync.decide(broken, NOW) == [RetryWithError('admission check "mk": missing parameters reference')]


def test_a_deleted_workload_takes_its_remote_objects_along():
    gone = group(checked("Ready"), {"w1": holding(copy(), job(origin="multikueue"))}, deleted=True)
    intents = sync.decide(gone, NOW)
    assert [type(intent) for intent in intents] == [DeleteObject, RemoveFinalizer, DeleteObject, ForgetDeleted]
    assert [intent.resource for intent in of(DeleteObject, intents)] == [JOBS, WORKLOADS]


# S1


def test_s1_a_replaced_slice_keeps_its_remote_objects():
    finished = condition(names.FINISHED, names.WORKLOAD_SLICE_REPLACED)
    local = checked("Ready", finished)
    local["metadata"]["annotations"] = {names.ELASTIC_JOB_ANNOTATION: "true"}
    assert sync.decide(group(local, {"w1": holding(copy())}), NOW) == []


def test_s1_a_scale_up_without_quota_is_left_alone():
    local = workload(admissionChecks=[{"name": "mk", "state": "Pending"}])
    local["metadata"]["annotations"] = {
        names.ELASTIC_JOB_ANNOTATION: "true",
        names.SLICE_REPLACEMENT_FOR_ANNOTATION: "ns/old",
    }
    assert sync.decide(group(local, {"w1": holding(copy())}), NOW) == []


# S2


def test_s2_without_quota_every_cluster_is_cleaned_and_lost_ones_are_tried_later():
    local = workload(admissionChecks=[{"name": "mk", "state": "Pending"}])
    intents = sync.decide(group(local, {"w1": holding(copy()), "w2": NOW}), NOW)
    assert [served.cluster for served in one_each(intents).clusters] == ["w1"]
    assert one(RequeueAfter, intents).seconds == 900


def one_each(intents) -> EachCluster:
    return next(intent for intent in intents if isinstance(intent, EachCluster))


def test_s2_a_job_whose_copy_is_gone_is_deleted_too():
    finished = checked("Ready", condition(names.FINISHED))
    intents = sync.decide(group(finished, {"w1": Remote(job=job(origin="multikueue"))}), NOW)
    assert one(DeleteObject, intents).resource == JOBS


def test_s2_a_job_of_another_manager_stays():
    finished = checked("Ready", condition(names.FINISHED))
    intents = sync.decide(group(finished, {"w1": holding(copy(), job(origin="somebody"))}), NOW)
    assert one(DeleteObject, intents).resource == WORKLOADS


# S3


def test_s3_a_remote_finish_is_mirrored():
    done = condition(names.FINISHED, names.SUCCEEDED, message="Job finished successfully")
    ended = {"succeeded": 3, "conditions": [condition("Complete")]}
    remote = holding(copy(ADMITTED, done), job(origin="multikueue", suspend=False, **ended))
    intents = sync.decide(group(checked("Ready"), {"w1": remote}, local_job=job(suspend=False)), NOW)
    status = one(PatchObject, intents)
    assert status.after["status"] == ended
    finish = one(ApplyStatus, intents).conditions[0]
    assert (finish.reason, finish.message) == (names.SUCCEEDED, "Job finished successfully")


def test_s3_a_jobs_own_word_of_its_end_is_waited_for():
    done = condition(names.FINISHED, names.SUCCEEDED)
    remote = holding(copy(ADMITTED, done), job(origin="multikueue", suspend=False, active=3))
    assert sync.decide(group(checked("Ready"), {"w1": remote}), NOW) == [RequeueAfter(2.0)]
    much_later = sync.decide(group(checked("Ready"), {"w1": remote}), NOW + timedelta(minutes=1))
    assert one(ApplyStatus, much_later).conditions[0].type == names.FINISHED


def test_s3_a_foreign_job_is_an_error_and_nothing_is_mirrored():
    done = condition(names.FINISHED, names.SUCCEEDED)
    remote = holding(copy(done), job(origin="somebody"))
    error = one(RetryWithError, sync.decide(group(checked("Ready"), {"w1": remote}), NOW))
    assert error.message == (
        'remote object is not owned by MultiKueue: expected "kueue.x-k8s.io/multikueue-origin"="multikueue" '
        'on Job "ns/job"'
    )


@pytest.mark.parametrize("reason", [names.OUT_OF_SYNC, names.OWNER_NOT_FOUND])
def test_s3_a_copy_without_its_job_is_dispatched_again(reason):
    intents = sync.decide(group(checked("Ready"), {"w1": holding(copy(condition(names.FINISHED, reason)))}), NOW)
    assert check_of(intents)[0] == "Retry"
    assert one(RecordEvent, intents).type == "Warning"


def test_s3_out_of_sync_before_ready_does_nothing():
    remote = holding(copy(condition(names.FINISHED, names.OUT_OF_SYNC)))
    assert sync.decide(group(checked("Retry"), {"w1": remote}), NOW) == []


# S4


def test_s4_an_eviction_on_the_worker_resets_the_check():
    local = checked("Ready", clusterName="w1")
    intents = sync.decide(group(local, {"w1": holding(copy(ADMITTED, EVICTED))}), NOW)
    message = 'Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"'
    assert check_of(intents) == ("Retry", message)
    assert one(RecordEvent, intents).message == message


def test_s4_an_eviction_on_both_sides_only_mirrors_the_job():
    local = checked("Ready", EVICTED, clusterName="w1")
    remote = holding(copy(EVICTED), job(origin="multikueue", active=0))
    intents = sync.decide(group(local, {"w1": remote}, local_job=job(active=3)), NOW)
    assert [type(intent) for intent in intents] == [PatchObject]


# S5


def test_s5_a_copy_with_another_spec_is_removed_and_made_anew():
    other = copy(spec={"queueName": "another"})
    intents = sync.decide(group(checked("Pending"), {"w1": holding(other)}), NOW)
    assert [type(intent) for intent in flat(intents)] == [
        RemoveFinalizer,
        DeleteObject,
        ApplyStatus,
        CreateObject,
        CountDispatched,
    ]


def test_s5_a_changed_priority_is_written_into_the_copy():
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "low"}
    remote = copy(spec={"priority": 1, "priorityClassRef": reference})
    local = checked("Pending", nominatedClusterNames=["w1"])
    local["spec"] |= {"priority": 9, "priorityClassRef": {**reference, "name": "high"}}
    change = one(PatchObject, sync.decide(group(local, {"w1": holding(remote)}), NOW))
    assert (change.after["spec"]["priority"], change.cluster) == (9, "w1")


def test_s5_an_elastic_scale_down_is_written_into_the_copy():
    local = checked("Ready", clusterName="w1")
    local["metadata"]["annotations"] = {names.ELASTIC_JOB_ANNOTATION: "true"}
    local["spec"]["podSets"] = [{"name": "main", "count": 2, "template": {"spec": {}}}]
    intents = sync.decide(group(local, {"w1": holding(copy(ADMITTED), job(origin="multikueue"))}), NOW)
    change = next(patch for patch in of(PatchObject, intents) if patch.resource == WORKLOADS)
    assert change.after["spec"]["podSets"][0]["count"] == 2


def test_preemption_gates_are_no_drift():
    remote = copy(spec={"preemptionGates": [{"name": "kueue.x-k8s.io/multikueue"}]})
    local = checked("Pending", nominatedClusterNames=["w1"])
    assert sync.decide(group(local, {"w1": holding(remote)}), NOW) == []


# S7


def gated(position: str = "", *, blocked_at=NOW, opened_at=NOW):
    gate = "kueue.x-k8s.io/multikueue"
    states = [{"name": gate, "position": position, "lastTransitionTime": opened_at.strftime("%Y-%m-%dT%H:%M:%SZ")}]
    return holding(
        copy(
            condition(names.BLOCKED_ON_PREEMPTION_GATES, at=blocked_at),
            spec={"preemptionGates": [{"name": gate}]},
            preemptionGates=states if position else None,
        )
    )


ORCHESTRATED = replace(POLICY, orchestrated_preemption=True)


def test_s7_the_gate_that_was_blocked_longest_is_opened():
    remotes = {"w1": gated(), "w2": gated(blocked_at=NOW - timedelta(minutes=1))}
    local = checked("Pending", nominatedClusterNames=["w1", "w2"])
    change = one(ApplyStatus, sync.decide(group(local, remotes, policy=ORCHESTRATED), NOW))
    assert (change.cluster, change.fields["preemptionGates"][0]["position"]) == ("w2", "Open")


def test_s7_the_next_gate_waits_for_the_one_opened_before():
    remotes = {"w1": gated(), "w2": gated("Open", opened_at=NOW - timedelta(minutes=2))}
    local = checked("Pending", nominatedClusterNames=["w1", "w2"])
    assert sync.decide(group(local, remotes, policy=ORCHESTRATED), NOW) == [RequeueAfter(180)]


# S8, S9


@pytest.mark.parametrize(("state", "cluster"), [("Retry", ""), ("Pending", "w1")])
def test_s8_nothing_is_nominated_before_the_last_attempt_is_over(state, cluster):
    assert sync.decide(group(checked(state, clusterName=cluster)), NOW) == []


def test_s9_dispatch_waits_for_every_other_check():
    local = checked("Pending")
    local["status"]["admissionChecks"].append({"name": "other", "state": "Pending"})
    assert sync.decide(group(local), NOW) == []


def test_s9_all_at_once_nominates_every_connected_cluster_and_creates_the_copies():
    intents = sync.decide(group(checked("Pending"), {"w2": Remote(), "w1": Remote(), "w3": NOW}), NOW)
    assert one(ApplyStatus, intents).fields == {"nominatedClusterNames": ["w1", "w2"]}
    created = of(CreateObject, intents)
    assert sorted(intent.cluster for intent in created) == ["w1", "w2"]
    assert created[0].document["metadata"]["labels"] == {names.MULTIKUEUE_ORIGIN_LABEL: "multikueue"}
    assert "finalizers" not in created[0].document["metadata"]


def test_s9_an_outside_nomination_is_followed():
    policy = replace(POLICY, dispatcher=CAPACITY_AWARE)
    local = checked("Pending", nominatedClusterNames=["w2"])
    intents = sync.decide(group(local, {"w1": holding(copy()), "w2": Remote()}, policy=policy), NOW)
    assert one(DeleteObject, intents).cluster == "w1"
    assert one(CreateObject, intents).cluster == "w2"


def test_s9_a_nominated_cluster_out_of_contact_is_an_error_beside_the_others():
    policy = replace(POLICY, dispatcher=CAPACITY_AWARE)
    local = checked("Pending", nominatedClusterNames=["w1", "w2"])
    served = one_each(sync.decide(group(local, {"w1": NOW, "w2": Remote()}, policy=policy), NOW)).clusters
    assert served[0].error == "cluster w1: no remote client for nominated cluster"
    assert isinstance(served[1].steps[0], CreateObject)


def test_s9_a_namesake_that_is_not_ours_is_left_alone_and_reported():
    policy = replace(POLICY, dispatcher=CAPACITY_AWARE)
    local = checked("Pending", nominatedClusterNames=["w1"])
    served = one_each(sync.decide(group(local, {"w1": Remote(foreign=True)}, policy=policy), NOW)).clusters
    assert "does not come from this manager" in served[0].error
    assert served[0].steps == ()


def test_a_finished_copy_whose_job_seems_to_run_on_is_read_before_it_is_mirrored():
    done = copy(condition(names.FINISHED, names.SUCCEEDED))
    running = job(origin="multikueue", suspend=False, active=3)
    complete = job(origin="multikueue", conditions=[{"type": "Complete", "status": "True"}])
    assert sync.unseen_end(group(checked("Ready"), {"w1": holding(done, running)})) == "w1"
    assert sync.unseen_end(group(checked("Ready"), {"w1": holding(done, complete)})) == ""
    assert sync.unseen_end(group(checked("Ready"), {"w1": holding(copy(), running)})) == ""


# Pods that nobody tells of any more

OWN_DISPATCH = replace(POLICY, dispatcher=CAPACITY_AWARE)


def test_copy_evicted_by_its_worker_stays_until_this_cluster_evicts_too():
    remote = copy(condition(names.EVICTED, "Deactivated"), spec={"active": False})
    seen = group(
        checked(names.CHECK_RETRY, clusterName="w1"), {"w1": holding(remote, job(origin="multikueue", active=3))}
    )
    assert sync.decide(seen, NOW) == []


def running_here(**status):
    found = job(suspend=False, **status)
    return {**found, "metadata": {**found["metadata"], "uid": "job-uid"}}


def test_pods_are_forgotten_once_an_evicted_workload_has_no_copy():
    seen = group(checked(names.CHECK_PENDING, EVICTED), local_job=running_here(active=3), policy=OWN_DISPATCH)
    forget = one(PatchObject, sync.decide(seen, NOW))
    assert forget.after["status"] == {}


def test_pods_of_a_cluster_out_of_contact_are_not_forgotten():
    local = checked(names.CHECK_PENDING, EVICTED)
    assert sync.decide(group(local, {"w1": NOW}, local_job=running_here(active=3), policy=OWN_DISPATCH), NOW) == []


def test_pods_of_a_deleted_workload_go_with_its_copies():
    local = checked(names.CHECK_READY, clusterName="w1")
    seen = group(local, {"w1": holding(copy())}, local_job=running_here(active=3), deleted=True)
    forget = one(PatchObject, sync.decide(seen, NOW))
    assert forget.after["status"] == {}


def test_new_job_of_the_old_name_keeps_its_status():
    other = job(suspend=False, active=3)
    seen = group(checked(names.CHECK_READY, clusterName="w1"), local_job=other, deleted=True)
    assert not of(PatchObject, sync.decide(seen, NOW))
