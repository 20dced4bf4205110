"""What intents do to documents, and the bodies that are sent."""

from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS, WORKLOADS
from worker_agent.engine import intent_effects
from worker_agent.engine.intents import ApplyStatus, DeleteObject, PatchObject, RemoveFinalizer, SetCondition

from .builders import EARLIER, NOW, condition

KEY = Key("ns", "w")


def workload(**metadata: object) -> dict[str, object]:
    return {"metadata": {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "7", **metadata}}


def apply(*conditions: SetCondition, **changes: object) -> ApplyStatus:
    return ApplyStatus(resource=WORKLOADS, key=KEY, conditions=conditions, **changes)  # type: ignore[arg-type]


def test_new_condition_gets_the_present_time():
    after = intent_effects.status_after(workload(), apply(SetCondition("Evicted", "True", "Preempted", "m")), NOW)
    assert after["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_transition_time_stays_while_the_status_stays():
    before = {**workload(), "status": {"conditions": [condition("Evicted", reason="Old")]}}
    after = intent_effects.status_after(before, apply(SetCondition("Evicted", "True", "New", "")), NOW)
    assert after["status"]["conditions"] == [condition("Evicted", reason="New")]


def test_transition_time_moves_when_the_status_flips():
    before = {**workload(), "status": {"conditions": [condition("Evicted")]}}
    after = intent_effects.status_after(before, apply(SetCondition("Evicted", "False", "ByTest", "")), NOW)
    assert after["status"]["conditions"][0]["lastTransitionTime"] != EARLIER


def test_a_condition_that_follows_tells_which_generation_it_is_of():
    before = {**workload(generation=3), "status": {"conditions": [condition("Active") | {"observedGeneration": 2}]}}
    reason, message = before["status"]["conditions"][0]["reason"], before["status"]["conditions"][0]["message"]
    follows = apply(SetCondition("Active", "True", reason, message, follows=True))
    after = intent_effects.status_after(before, follows, NOW)
    assert after["status"]["conditions"] == [condition("Active") | {"observedGeneration": 3}]
    assert intent_effects.status_after(after, follows, NOW) is after
    assert intent_effects.status_after(before, apply(SetCondition("Active", "True", reason, message)), NOW) is before


def test_change_without_effect_returns_the_same_document():
    before = {**workload(), "status": {"conditions": [condition("Evicted")], "clusterName": "c"}}
    change = apply(SetCondition("Evicted", "True", "ByTest", ""), fields={"clusterName": "c", "requeueState": None})
    assert intent_effects.status_after(before, change, NOW) is before


def test_entries_are_merged_by_name():
    before = {**workload(), "status": {"admissionChecks": [{"name": "a", "state": "Pending"}, {"name": "b"}]}}
    change = apply(entries={"admissionChecks": ({"name": "a", "state": "Ready"},)})
    after = intent_effects.status_after(before, change, NOW)
    assert after["status"]["admissionChecks"] == [{"name": "a", "state": "Ready"}, {"name": "b"}]


def test_admission_apply_states_everything_its_manager_owns():
    status = {"admission": {"clusterQueue": "cq"}, "conditions": [condition("Admitted"), condition("PodsReady")]}
    body = intent_effects.applied_status({**workload(), "status": status}, [apply()])
    assert body["status"] == {"admission": {"clusterQueue": "cq"}, "conditions": [condition("Admitted")]}
    assert body["metadata"]["resourceVersion"] == "7"


def test_apply_of_another_manager_states_only_its_changes():
    status = {"admission": {}, "conditions": [condition("Admitted"), condition("Finished")]}
    change = apply(SetCondition("Finished", "True", "ByTest", ""), field_manager="other", strict=False)
    body = intent_effects.applied_status({**workload(), "status": status}, [change])
    assert body["status"] == {"conditions": [condition("Finished")]}
    assert "resourceVersion" not in body["metadata"]


def test_patch_body_holds_what_differs_and_the_version_it_was_made_from():
    before = {"metadata": {"name": "j", "resourceVersion": "3", "labels": {"a": "1"}}, "spec": {"x": 1, "y": 2}}
    after = {"metadata": {"name": "j", "resourceVersion": "3"}, "spec": {"x": 5, "y": 2}, "status": {"z": 1}}
    patch = PatchObject(resource=JOBS, before=before, after=after)
    assert intent_effects.patch_body(patch) == {"metadata": {"labels": None, "resourceVersion": "3"}, "spec": {"x": 5}}


def test_patch_without_difference_sends_nothing():
    document = {"metadata": {"name": "j", "resourceVersion": "3"}, "spec": {}}
    assert intent_effects.patch_body(PatchObject(resource=JOBS, before=document, after=document)) == {}


def test_status_patch_leaves_the_rest_alone():
    before = {"metadata": {"name": "j"}, "spec": {"x": 1}, "status": {"startTime": "t", "active": 1}}
    after = {"metadata": {"name": "j"}, "spec": {"x": 2}, "status": {"active": 1}}
    patch = PatchObject(resource=JOBS, before=before, after=after, subresource="status")
    assert intent_effects.patch_body(patch) == {"status": {"startTime": None}}
    assert intent_effects.effect(patch, before, NOW) == {**before, "status": {"active": 1}}


def test_object_with_finalizer_is_only_marked_by_a_delete():
    delete = DeleteObject(resource=WORKLOADS, key=KEY)
    marked = intent_effects.effect(delete, workload(finalizers=["f"]), NOW)
    assert marked is not None
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"


def test_last_finalizer_of_a_deleted_object_lets_it_go():
    removal = RemoveFinalizer(resource=WORKLOADS, key=KEY, finalizer="f")
    assert intent_effects.effect(removal, workload(finalizers=["f"], deletionTimestamp=EARLIER), NOW) is None


def test_delete_spares_a_namesake():
    before = workload()
    assert intent_effects.effect(DeleteObject(resource=WORKLOADS, key=KEY, uid="other"), before, NOW) is before


def test_long_messages_are_cut_at_bytes():
    assert intent_effects.truncated("ä" * 600, 1024).encode().__len__() <= 1024
