"""Intents become the fewest writes that carry them out."""

import asyncio

import pytest

from tests.unit.controllers.writing import FixedObjects, Writing, echo
from tests.unit.kube.fake_server import answer, status
from worker_agent.api.meta import Key
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
    SetCondition,
)
from worker_agent.kube.errors import Conflict, Forbidden, ReconcileError

KEY = Key("ns", "w")
OLD = "2026-01-01T00:00:00Z"


def workload(**status):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
        "spec": {"active": True},
        "status": status,
    }


def condition(type_, status="True", reason="R", message=""):
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": OLD}


def change(**fields):
    return ApplyStatus(resource=WORKLOADS, key=KEY, **fields)


def event(reason="Done"):
    return RecordEvent(resource=WORKLOADS, key=KEY, reason=reason, message="m")


def writing(document=None, *script):
    return Writing(FixedObjects((WORKLOADS, document or workload())), *script)


async def test_changes_of_one_manager_go_out_in_one_apply():
    shop = writing()
    reserved = change(conditions=(SetCondition("QuotaReserved", "True", "QuotaReserved"),))
    await shop.applier.apply([reserved, change(fields={"admission": {"clusterQueue": "q"}})])
    ((method, path, body),) = shop.sent
    assert (method, path) == ("PATCH", "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads/w/status")
    assert body["status"]["admission"] == {"clusterQueue": "q"}
    assert body["metadata"]["resourceVersion"] == "1"


async def test_apply_states_all_that_the_manager_owns():
    shop = writing(workload(conditions=[condition("Admitted"), condition("PodsReady")], requeueState={"count": 1}))
    await shop.applier.apply([change(conditions=(SetCondition("Requeued", "True", "x"),))])
    status = shop.sent[0][2]["status"]
    assert {c["type"] for c in status["conditions"]} == {"Admitted", "Requeued"}
    assert status["requeueState"] == {"count": 1}


async def test_nothing_is_sent_where_nothing_differs():
    shop = writing(workload(conditions=[condition("Admitted")]))
    await shop.applier.apply([change(conditions=(SetCondition("Admitted", "True", "R"),))])
    assert shop.sent == []


async def test_spec_patch_and_status_follow_each_other_without_conflict():
    shop = writing(None, echo("2"), echo("3"))
    before = workload()
    patch = PatchObject(resource=WORKLOADS, before=before, after={**before, "spec": {"active": False}})
    await shop.applier.apply([patch, change(conditions=(SetCondition("Evicted", "True", "Deactivated"),))])
    assert [body["metadata"]["resourceVersion"] for _, _, body in shop.sent] == ["1", "2"]
    assert shop.sent[0][2]["spec"] == {"active": False}


async def test_what_another_manager_keeps_is_removed_by_a_patch():
    told = {"clusterName": "worker1", "nominatedClusterNames": ["worker1"]}
    kept = {**workload(), "status": told}
    kept["metadata"] = {**kept["metadata"], "resourceVersion": "5"}
    shop = writing(workload(**told), answer(200, kept), echo("6"))
    change_both = change(fields={"clusterName": None, "nominatedClusterNames": ["worker2"]})
    await shop.applier.apply([change_both])
    assert [(method, body["status"]) for method, _, body in shop.sent] == [
        ("PATCH", {"nominatedClusterNames": ["worker2"]}),
        ("PATCH", {"clusterName": None}),
    ]
    assert shop.sent[1][2]["metadata"] == {"resourceVersion": "5"}


async def test_last_field_of_a_status_is_removed_by_a_patch_alone():
    shop = writing(workload(clusterName="worker1"), echo("2"))
    await shop.applier.apply([change(fields={"clusterName": None})])
    assert [(method, body["status"]) for method, _, body in shop.sent] == [("PATCH", {"clusterName": None})]


async def test_what_the_server_cannot_take_out_of_an_apply_is_removed_first():
    checks = [{"name": "budget", "state": "Ready"}]
    shop = writing(workload(admissionChecks=checks), answer(422, status(422, "Invalid")), echo("2"), echo("3"))
    reserved = (SetCondition("QuotaReserved", "True", "QuotaReserved"),)
    await shop.applier.apply([change(fields={"admissionChecks": None}, conditions=reserved)])
    refused, removal, again = [body["status"] for _, _, body in shop.sent]
    assert removal == {"admissionChecks": None}
    assert refused == again
    assert again["conditions"]


async def test_events_follow_successful_writes():
    shop = writing()
    await shop.applier.apply([event(), change(fields={"clusterName": "a"})])
    assert shop.recorder.told == [("Done", "m")]


async def test_refused_write_tells_no_event():
    shop = writing(None, answer(403, status(403, "Forbidden", "no")))
    with pytest.raises(Forbidden):
        await shop.applier.apply([event(), change(fields={"clusterName": "a"})])
    assert shop.recorder.told == []


async def test_conflict_makes_our_memory_of_the_object_go():
    shop = writing(None, answer(409, status(409, "Conflict", "changed")))
    with pytest.raises(Conflict):
        await shop.applier.apply([change(fields={"clusterName": "a"})])
    assert shop.known.document(WORKLOADS, KEY) is None


async def test_decision_on_an_old_version_is_void_without_asking_the_server():
    shop = writing()
    async with shop.known.turns.turn([(WORKLOADS, KEY)]):
        waiting = asyncio.create_task(shop.applier.apply([change(fields={"clusterName": "a"})]))
        await asyncio.sleep(0)
        newer = workload()
        newer["metadata"]["resourceVersion"] = "7"
        shop.known.objects[WORKLOADS, KEY] = newer
    with pytest.raises(Conflict, match="another part of this program"):
        await waiting
    assert shop.sent == []


async def test_status_of_an_object_made_in_the_same_decision():
    shop = Writing(FixedObjects(), echo("1"), echo("2"))
    create = CreateObject(resource=WORKLOADS, document=workload())
    await shop.applier.apply([create, change(conditions=(SetCondition("PodsReady", "False", "x"),), field_manager="m")])
    assert [method for method, _, _ in shop.sent] == ["POST", "PATCH"]
    assert shop.sent[1][2]["metadata"]["resourceVersion"] == "1"


async def test_finalizer_that_is_not_there_costs_nothing():
    shop = writing()
    await shop.applier.apply([RemoveFinalizer(resource=WORKLOADS, key=KEY, finalizer="f")])
    assert shop.sent == []


async def test_finalizer_is_taken_off_by_version():
    document = workload()
    document["metadata"]["finalizers"] = ["f", "g"]
    shop = writing(document)
    await shop.applier.apply([RemoveFinalizer(resource=WORKLOADS, key=KEY, finalizer="f")])
    assert shop.sent[0][2] == {"metadata": {"finalizers": ["g"], "resourceVersion": "1"}}


async def test_object_that_is_gone_counts_as_deleted():
    shop = writing(None, answer(404, status(404, "NotFound")))
    await shop.applier.apply([DeleteObject(resource=WORKLOADS, key=KEY, uid="u")])
    assert shop.sent[0][2]["preconditions"] == {"uid": "u"}


async def test_a_refused_deletion_of_the_very_object_is_a_conflict_and_the_object_stays_known():
    shop = writing(workload(), answer(409, status(409, "Conflict")), answer(200, workload()))
    uid = workload()["metadata"]["uid"]
    with pytest.raises(Conflict):
        await shop.applier.apply([DeleteObject(resource=WORKLOADS, key=KEY, uid=uid)])
    assert shop.known.document(WORKLOADS, KEY) is not None


async def test_what_was_made_anew_is_not_the_one_to_delete():
    shop = writing(workload(), answer(409, status(409, "Conflict")), answer(200, workload()))
    await shop.applier.apply([DeleteObject(resource=WORKLOADS, key=KEY, uid="an earlier one's")])
    assert [request.method for request in shop.transport.requests] == ["DELETE", "GET"]


async def test_unchanged_job_is_not_patched():
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ns"}, "spec": {}}
    shop = Writing(FixedObjects((JOBS, job)))
    await shop.applier.apply([PatchObject(resource=JOBS, before=job, after=dict(job))])
    assert shop.sent == []


async def test_wish_to_retry_is_raised_after_everything_else_was_done():
    shop = writing()
    with pytest.raises(ReconcileError, match="later"):
        await shop.applier.apply([change(fields={"clusterName": "a"}), event(), RetryWithError("later")])
    assert len(shop.sent) == 1
    assert shop.recorder.told


async def test_earliest_wish_to_look_again_counts():
    assert await writing().applier.apply([RequeueAfter(5.0), RequeueAfter(2.0)]) == 2.0
