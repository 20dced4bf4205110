"""MultiKueue's step S6: the copy that was admitted runs the job (spec/multikueue section 8)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from hub.engine import sync
from hub.engine.intents import CountAdmitted
from hub.engine.remote_group import Remote, RemoteGroup
from tests.unit.hub.found_intents import ADMITTED, EVICTED, check_of, of, one
from tests.unit.hub.groups import (
    BATCH_JOB,
    KEY,
    NOW,
    POLICY,
    checked,
    condition,
    copy,
    group,
    holding,
    job,
)
from worker_agent.api import names
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import JOBS
from worker_agent.engine.intents import (
    ApplyStatus,
    CreateObject,
    DeleteObject,
    PatchObject,
    RecordEvent,
    RequeueAfter,
    RetryWithError,
)
from worker_agent.jobs import declared


def adopted(**status) -> RemoteGroup:
    early, late = NOW - timedelta(minutes=2), NOW
    return group(
        checked("Pending", nominatedClusterNames=["w1", "w2"], admission={"clusterQueue": "cq"}, **status),
        {
            "w1": holding(copy(condition(names.ADMITTED, at=late))),
            "w2": holding(copy(condition(names.ADMITTED, at=early))),
        },
    )


def test_s6_a_job_that_the_manager_has_started_is_made_as_its_user_wrote_it():
    """The manager may start its Job between the record of the choice and the job's creation."""
    started = job(suspend=False)
    started["spec"]["template"] = {
        "metadata": {"labels": {"app": "a", names.CLUSTER_QUEUE_NAME_LABEL: "global"}},
        "spec": {"nodeSelector": {"kind": "any"}},
    }
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {}}
    pod_sets = {"podSets": [{"name": "main", "count": 3, "template": template}]}
    local = checked("Ready", clusterName="w1")
    local["spec"] |= pod_sets
    remote = holding(copy(ADMITTED, spec=pod_sets))
    created = one(CreateObject, sync.decide(group(local, {"w1": remote}, local_job=started), NOW)).document["spec"]
    assert created["suspend"]
    assert created["template"]["metadata"] == {"labels": {"app": "a"}}
    assert not created["template"]["spec"].get("nodeSelector")


def test_s6_the_choice_is_on_record_before_the_job_is_made():
    intents = sync.decide(adopted(), NOW)
    assert intents.index(one(ApplyStatus, intents)) < intents.index(one(CreateObject, intents))


@pytest.mark.parametrize(("by_label", "where"), [({"w1"}, "labels"), ({"w2"}, "annotations"), (set(), "annotations")])
def test_s6_where_an_older_kueue_may_run_the_job_points_at_its_workload_by_label(by_label, where):
    placed = group(checked("Ready", clusterName="w1"), {"w1": holding(copy(ADMITTED))})
    created = one(CreateObject, sync.decide(replace(placed, by_label=frozenset(by_label)), NOW)).document["metadata"]
    assert created[where][names.PREBUILT_WORKLOAD] == "wl"


@pytest.mark.parametrize("state", ["Retry", "Rejected"])
def test_s6_no_job_is_made_for_a_workload_that_leaves(state):
    local = checked(state, clusterName="w1")
    assert of(CreateObject, sync.decide(group(local, {"w1": holding(copy(ADMITTED))}), NOW)) == []


def test_s6_no_job_is_made_in_another_cluster_than_the_recorded_one():
    local = checked("Pending", clusterName="w2")
    intents = sync.decide(group(local, {"w1": holding(copy(ADMITTED)), "w2": Remote()}), NOW)
    refusal = next(place for place, intent in enumerate(intents) if isinstance(intent, RetryWithError))
    assert not of(CreateObject, intents[:refusal])


def test_s3_a_job_that_is_gone_after_its_end_is_not_made_again():
    done = condition(names.FINISHED, names.SUCCEEDED)
    local = checked("Ready", clusterName="w1")
    assert of(CreateObject, sync.decide(group(local, {"w1": holding(copy(ADMITTED, done))}), NOW)) == []


def test_s6_the_first_admitted_copy_wins_and_the_others_go():
    intents = sync.decide(adopted(), NOW)
    assert one(DeleteObject, intents).cluster == "w1"
    created = one(CreateObject, intents)
    assert (created.resource, created.cluster) == (JOBS, "w2")
    assert "managedBy" not in created.document["spec"]
    change = one(ApplyStatus, intents)
    assert (change.fields["clusterName"], change.fields["nominatedClusterNames"]) == ("w2", None)
    assert change.fields["admissionChecks"][0]["message"] == 'The workload was admitted on "w2"'
    assert one(CountAdmitted, intents) == CountAdmitted("cq", "w2")
    assert one(RequeueAfter, intents).seconds == 900


def test_s6_a_copy_admitted_while_the_workload_was_nominated_elsewhere_is_nominated_before_it_is_adopted():
    local = checked("Pending", nominatedClusterNames=["w2"])
    intents = sync.decide(group(local, {"w1": holding(copy(ADMITTED)), "w2": holding(copy())}), NOW)
    assert one(DeleteObject, intents).cluster == "w2"
    assert one(ApplyStatus, intents).fields == {"nominatedClusterNames": ["w1"]}
    assert of(CreateObject, intents) == []


def test_s6_another_cluster_name_is_an_error_and_nothing_is_written():
    intents = sync.decide(adopted(clusterName="gone"), NOW)
    assert one(RetryWithError, intents).message == 'attempting to change immutable ClusterName from "gone" to "w2"'
    assert of(ApplyStatus, intents) == []


def test_s6_an_eviction_on_the_manager_deactivates_the_copy():
    local = checked("Ready", EVICTED, clusterName="w1")
    change = one(ApplyStatus, sync.decide(group(local, {"w1": holding(copy(ADMITTED))}), NOW))
    assert change.cluster == "w1"
    assert change.conditions[0].message == "Evicted on manager: Preempted to accommodate another"


def test_s6_a_status_that_may_not_be_copied_yet_is_looked_at_again_soon():
    remote = holding(copy(ADMITTED), job(origin="multikueue", suspend=False, active=3))
    intents = sync.decide(group(checked("Ready", clusterName="w1"), {"w1": remote}, local_job=job(suspend=True)), NOW)
    assert one(RequeueAfter, intents).seconds == 2


def waiting_for_start(admitted_for: timedelta, *, suspended: bool = True) -> RemoteGroup:
    """The remote job runs for long; the Workload here was admitted a while ago, and its job is not started yet."""
    local = checked("Ready", condition(names.ADMITTED, at=NOW - admitted_for), clusterName="w1")
    remote = holding(copy(ADMITTED), job(origin="multikueue", suspend=False, active=3))
    return group(local, {"w1": remote}, local_job=job(suspend=suspended))


def test_s6_a_job_that_is_about_to_be_started_here_is_not_marked_as_suspended():
    assert of(PatchObject, sync.decide(waiting_for_start(timedelta(minutes=1)), NOW)) == []


def test_s6_a_job_that_is_not_started_here_for_long_is_marked_as_suspended():
    (mark,) = one(PatchObject, sync.decide(waiting_for_start(timedelta(minutes=6)), NOW)).after["status"]["conditions"]
    assert (mark["type"], mark["reason"]) == ("Suspended", "MultiKueueAdapter")


@pytest.mark.parametrize(("admitted_for", "seconds"), [(1, 2), (4, 2), (60, 30), (600, 2)])
def test_s6_the_longer_a_start_here_takes_the_rarer_are_looks_at_it(admitted_for, seconds):
    found = waiting_for_start(timedelta(seconds=admitted_for))
    assert one(RequeueAfter, sync.decide(found, NOW)).seconds == seconds


def test_s6_a_started_job_gets_its_status_at_once():
    change = one(PatchObject, sync.decide(waiting_for_start(timedelta(minutes=1), suspended=False), NOW))
    assert change.after["status"] == {"active": 3}


def test_s6_a_delayed_topology_is_ready_once_the_worker_has_assigned_it():
    pending = {"podSetAssignments": [{"name": "main", "delayedTopologyRequest": "Pending"}]}
    assigned = {"podSetAssignments": [{"name": "main", "topologyAssignment": {"levels": ["host"]}}]}
    local = checked("Ready", clusterName="w1", admission=pending)
    intents = sync.decide(group(local, {"w1": holding(copy(ADMITTED, admission=assigned))}), NOW)
    written = one(ApplyStatus, intents).fields["admission"]["podSetAssignments"]
    assert written == [{"name": "main", "delayedTopologyRequest": "Ready"}]


def test_s6_a_lost_worker_is_waited_for():
    local = checked("Ready", clusterName="w1")
    intents = sync.decide(group(local, {"w1": NOW - timedelta(minutes=5)}), NOW)
    assert intents == [RequeueAfter(600)]


@pytest.mark.parametrize(
    ("cluster", "remotes", "message"),
    [
        ("w1", {"w1": NOW - timedelta(hours=1)}, 'Admitting remote lost, Previously: "Ready"'),
        ("w1", {"w1": Remote()}, 'Admitting remote no longer exists, Previously: "Ready"'),
        (
            "",
            {"w1": Remote()},
            "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it, "
            'Previously: "Ready"',
        ),
    ],
)
def test_s6_a_ready_check_without_an_admitted_copy_is_retried(cluster, remotes, message):
    intents = sync.decide(group(checked("Ready", clusterName=cluster), remotes), NOW)
    assert check_of(intents) == ("Retry", message)


def test_s6_of_a_kind_that_no_agent_knows_its_users_are_warned_when_its_worker_is_given_up():
    foreign = declared.external("Foo.v1.example.com")
    lost = group(checked("Ready", clusterName="w1"), {"w1": NOW - timedelta(hours=1)})
    warned = of(RecordEvent, sync.decide(replace(lost, owner=replace(lost.owner, kind=foreign)), NOW))
    assert [(event.type, "only the program that made it there" in event.message) for event in warned] == [
        ("Warning", True)
    ]
    assert of(RecordEvent, sync.decide(lost, NOW)) == []


def test_s6_pods_of_a_lost_worker_do_not_hold_the_quota():
    local, running = checked("Ready", clusterName="w1"), job(suspend=False, active=3, startTime="t")
    intents = sync.decide(group(local, {"w1": NOW - timedelta(hours=1)}, local_job=running), NOW)
    assert one(PatchObject, intents).after["status"] == {"startTime": "t"}
    assert one(PatchObject, intents).subresource == "status"


def test_s6_the_chosen_copy_stays_though_a_returning_worker_admitted_its_own_earlier():
    early = holding(copy(condition(names.ADMITTED, at=NOW - timedelta(hours=1))))
    chosen = holding(copy(ADMITTED), job(origin="multikueue"))
    intents = sync.decide(group(checked("Ready", clusterName="w2"), {"w1": early, "w2": chosen}), NOW)
    assert one(DeleteObject, intents).cluster == "w1"
    assert of(RetryWithError, intents) == []


def test_s6_work_on_a_lost_worker_is_kept_where_the_policy_says_so():
    policy = replace(POLICY, keep_when_lost=True)
    lost = group(checked("Ready", clusterName="w1"), {"w1": NOW - timedelta(days=1)}, policy=policy)
    assert sync.decide(lost, NOW) == [RequeueAfter(900)]


def test_s6_no_copy_takes_the_place_of_one_out_of_contact():
    remotes = {"w1": NOW, "w2": holding(copy(ADMITTED))}
    assert sync.decide(group(checked("Ready", clusterName="w1"), remotes), NOW) == [RequeueAfter(900)]


def test_the_prebuilt_pointer_is_a_label_where_annotations_are_off():
    policy = replace(POLICY, jobs=JobPolicy(identifier_annotations=False))
    created = one(CreateObject, sync.decide(replace(adopted(), policy=policy), NOW))
    assert created.document["metadata"]["labels"][names.PREBUILT_WORKLOAD] == KEY.name
    assert created.resource == BATCH_JOB.resource
