"""Jobs of other kinds than Jobs on their way to a worker and back (spec/multikueue 10.3, 10.4)."""

from dataclasses import replace

import pytest

from hub.engine import sync, sync_job, sync_owner, sync_removal
from hub.engine.intents import Revisit, flat
from hub.engine.remote_group import CAPACITY_AWARE, Component, Components, Remote, Sight
from hub.engine.sync_owner import Owner
from tests.unit.hub.groups import NOW, ORIGIN, POLICY, checked, copy, group, holding
from worker_agent.api import names
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.engine.intents import CreateObject, DeleteObject, PatchObject
from worker_agent.jobs import KINDS, declared, pod_group

GATE = {"name": names.ADMISSION_SCHEDULING_GATE}
HELD = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
ADMITTED = {"type": "Admitted", "status": "True", "reason": "Admitted", "lastTransitionTime": "2026-01-31T11:00:00Z"}


def pod(name, *, remote=False, gated=True, uid="", **status):
    labels = {"app": "x", names.POD_GROUP_NAME_LABEL: "wl"}
    if remote:
        labels[names.MULTIKUEUE_ORIGIN_LABEL] = ORIGIN
    metadata = {"name": name, "namespace": "ns", "uid": uid or f"{name}-{remote}", "labels": labels}
    spec = {"containers": [{"name": "c"}], **({"schedulingGates": [GATE]} if gated else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def of_kind(kind, local, remote=None, *, name="job", **more):
    there = holding(copy(ADMITTED), remote)
    found = group(checked("Ready", clusterName="w1"), {"w1": there}, **more)
    return replace(found, owner=Owner(kind, "", Key("ns", name), "uid"), job=local)


def synced(found, **how):
    return sync_job.validated(found, "w1", NOW, **how).intents


# Pods


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}, HELD),
        (
            {"type": "PodScheduled", "status": "True", "reason": "Scheduled"},
            {"type": "PodScheduled", "status": "True", "reason": "Scheduled"},
        ),
    ],
    ids=["not scheduled there", "scheduled there"],
)
def test_held_pod_keeps_its_own_word_until_the_other_has_a_node(there, told):
    local = pod("job", conditions=[HELD], phase="Pending")
    remote = pod("job", remote=True, gated=False, conditions=[there], phase="Running")
    (patch,) = synced(of_kind(KINDS["pod"], local, remote))
    assert patch.after["status"] == {"phase": "Running", "conditions": [told]}
    assert patch.after["spec"]["schedulingGates"] == [GATE]


def test_every_pod_of_a_group_is_sent_but_those_that_have_ended():
    local = pod_group.compose([pod("a"), pod("b"), pod("c", phase="Failed")])
    created = synced(of_kind(pod_group.PodGroup(), local), may_create=True)
    assert [intent.document["metadata"]["name"] for intent in created] == ["a", "b"]
    assert all(isinstance(intent, CreateObject) for intent in created)


def test_every_pod_of_a_group_is_taken_off_its_worker():
    remote = pod_group.compose([pod("a", remote=True), pod("b"), pod("c", remote=True)])
    found = of_kind(pod_group.PodGroup(), pod_group.compose([pod("a")]), remote)
    intents = sync_removal.on_cluster(found, "w1", found.connected["w1"])
    jobs = [intent for intent in intents if isinstance(intent, DeleteObject)]
    assert [intent.key.name for intent in jobs] == ["a", "c", "wl"]


def test_deletions_ask_for_the_dependents_too():
    for kind in KINDS.values():
        job = {**pod("job", remote=True), "kind": kind.resource.kind}
        found = of_kind(kind, None)
        intents = sync_removal.on_cluster(found, "w1", Remote(job=job))
        assert [intent.propagation for intent in intents] == ["Background"], kind.framework


# Sets whose pods are held here


def stateful(kind, **spec):
    metadata = {"name": "web", "namespace": "ns", "uid": "the-uid", "labels": {"app": "web"}}
    return {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("framework", ["statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"])
def test_set_is_sent_with_the_uid_its_workloads_are_named_by(framework):
    kind = KINDS[framework]
    (created,) = synced(of_kind(kind, stateful(kind), name="web"), may_create=True)
    annotations = created.document["metadata"]["annotations"]
    assert annotations[names.MULTIKUEUE_ORIGIN_UID_ANNOTATION] == "the-uid"
    assert (names.PREBUILT_WORKLOAD in annotations) is kind.points_at_workload
    assert created.may_exist is not kind.points_at_workload


def test_status_of_a_set_stays_where_it_is():
    kind = KINDS["statefulset"]
    remote = {**stateful(kind), "status": {"readyReplicas": 3}}
    remote["metadata"]["labels"][names.MULTIKUEUE_ORIGIN_LABEL] = ORIGIN
    assert synced(of_kind(kind, stateful(kind), remote, name="web")) == ()


def test_last_group_to_leave_takes_the_set_along():
    kind = KINDS["leaderworkerset.x-k8s.io/leaderworkerset"]
    remote = stateful(kind)
    remote["metadata"]["labels"] = {names.MULTIKUEUE_ORIGIN_LABEL: ORIGIN}

    def removed(other_cluster):
        members = (Component(Key("ns", "wl"), 0, "w1"), Component(Key("ns", "wl-1"), 1, other_cluster))
        found = replace(of_kind(kind, stateful(kind), remote), components=Components(2, members))
        return [each.resource.kind for each in sync_removal.on_cluster(found, "w1", found.connected["w1"])]

    assert "LeaderWorkerSet" not in removed("w1")
    assert "LeaderWorkerSet" in removed("")


# What follows a job while it runs


def ray(kind, remote=False, **spec):
    labels = {names.MULTIKUEUE_ORIGIN_LABEL: ORIGIN} if remote else {}
    metadata = {"name": "job", "namespace": "ns", "uid": "u", "generation": 2, "labels": labels}
    return {"apiVersion": "ray.io/v1", "kind": kind.resource.kind, "metadata": metadata, "spec": spec}


def test_what_a_ray_service_serves_follows_it():
    kind = KINDS["ray.io/rayservice"]
    (patch,) = synced(of_kind(kind, ray(kind, serveConfigV2="new"), ray(kind, True, serveConfigV2="old", extra=1)))
    assert isinstance(patch, PatchObject)
    assert patch.after["spec"] == {"serveConfigV2": "new", "extra": 1}
    assert patch.cluster == "w1"


def test_size_of_an_elastic_ray_cluster_follows_it():
    kind, policy = KINDS["ray.io/raycluster"], JobPolicy(elastic_jobs=True)
    local, remote = (ray(kind, workerGroupSpecs=[{"groupName": "g", "replicas": count}]) for count in (2, 3))
    local["metadata"]["annotations"] = {names.ELASTIC_JOB_ANNOTATION: "true"}
    wanted = kind.remote_patch(local, remote, "slice", policy)
    assert wanted["spec"]["workerGroupSpecs"] == [{"groupName": "g", "replicas": 2}]
    assert wanted["metadata"]["annotations"][names.PREBUILT_WORKLOAD] == "slice"


# Kinds of other programs


def test_copy_of_a_foreign_kind_has_nothing_of_the_managers_object():
    kind = declared.external("Foo.v1.example.com")
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "1"}
    metadata = {"name": "job", "namespace": "ns", "uid": "u", "resourceVersion": "7", "finalizers": ["f"]}
    metadata |= {"ownerReferences": [{"name": "p"}], "annotations": annotations, "labels": {"app": "x"}}
    spec = {"managedBy": names.MULTIKUEUE_CONTROLLER, "size": 3}
    local = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata, "spec": spec}
    (created,) = synced(of_kind(kind, local), may_create=True)
    assert set(created.document["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert created.document["metadata"]["labels"] == {"app": "x", names.MULTIKUEUE_ORIGIN_LABEL: ORIGIN}
    assert created.document["spec"] == {"size": 3}
    assert created.resource.plural == "foos"


# Whose Workload it is


def test_pods_of_a_group_are_found_by_the_workloads_name():
    document = checked("Pending")
    document["metadata"]["annotations"] = {names.IS_GROUP_WORKLOAD_ANNOTATION: "true"}
    document["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}]
    owner = sync_owner.find(Sight.of(document).view, sync_owner.table([KINDS["pod"]]))
    assert owner.kind is sync_owner.GROUP
    assert owner.key == Key("ns", "wl")


# A cluster that is lost


def test_next_copy_of_a_job_of_several_parts_has_all_of_them():
    parts = [{"name": name, "count": count, "template": {"spec": {}}} for name, count in (("driver", 1), ("worker", 3))]
    local = checked("Pending", nominatedClusterNames=["w2"])
    local["spec"]["podSets"] = parts
    found = group(local, {"w1": NOW, "w2": Remote()}, policy=replace(POLICY, dispatcher=CAPACITY_AWARE))
    created = [each for each in flat(sync.decide(found, NOW)) if isinstance(each, CreateObject)]
    assert [(each.cluster, each.document["spec"]["podSets"]) for each in created] == [("w2", parts)]


# Workloads that go together


def lws_group(index, *clusters):
    members = tuple(Component(Key("ns", f"wl-{n}" if n != index else "wl"), n, at) for n, at in enumerate(clusters))
    kind = KINDS["leaderworkerset.x-k8s.io/leaderworkerset"]
    found = group(checked("Pending"), {"w1": Remote(), "w2": Remote()})
    owner = Owner(kind, "", Key("ns", "web"), "u")
    return replace(found, owner=owner, job=stateful(kind), components=Components(len(clusters), members))


def revisited(found):
    return [key.name for each in sync.decide(found, NOW) if isinstance(each, Revisit) for key in each.keys]


def test_later_groups_wake_the_first_alone_and_it_wakes_nobody():
    assert revisited(lws_group(0, "", "", "")) == []
    assert revisited(lws_group(1, "", "", "")) == ["wl-0"]
    assert revisited(lws_group(2, "", "", "")) == ["wl-0"]


def test_later_groups_follow_the_first():
    found = lws_group(1, "w2", "", "")
    created = [each for each in flat(sync.decide(found, NOW)) if isinstance(each, CreateObject)]
    assert [each.cluster for each in created] == ["w2"]
    assert revisited(found) == []
