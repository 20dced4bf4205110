import pytest

from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from tests.unit.apiserver.world import CONFIG_MAPS, JOBS, JSON_PATCH, MERGE_PATCH, STRATEGIC, World, config_map, job

LOCKED = (
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the '
    "latest version and try again"
)


def test_put_replaces(world: World) -> None:
    made = world.post(CONFIG_MAPS, config_map("a", {"k": "1"})).document
    reply = world.put(f"{CONFIG_MAPS}/a", {**made, "data": {"k": "2"}})
    assert reply.status == 200
    assert world.get(f"{CONFIG_MAPS}/a").document["data"] == {"k": "2"}


def test_put_with_an_old_revision_is_a_conflict(world: World) -> None:
    made = world.post(CONFIG_MAPS, config_map("a")).document
    world.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "other"}})
    reply = world.put(f"{CONFIG_MAPS}/a", {**made, "data": {"k": "mine"}})
    assert (reply.status, reply.document["reason"], reply.message) == (409, "Conflict", LOCKED)


def test_put_without_revision_overwrites_a_config_map(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    assert world.put(f"{CONFIG_MAPS}/a", config_map("a", {"k": "v"})).status == 200


def test_put_without_revision_is_refused_for_leases(world: World) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    world.post(path, lease)
    reply = world.put(f"{path}/l", lease)
    assert reply.status == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in reply.message


def test_put_creates_a_lease(world: World) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    assert world.put(f"{path}/l", lease).status == 201


def test_put_of_nothing_is_not_found(world: World) -> None:
    reply = world.put(f"{CONFIG_MAPS}/a", config_map("a"))
    assert (reply.status, reply.message) == (404, 'configmaps "a" not found')


def test_name_must_be_that_of_the_url(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reply = world.put(f"{CONFIG_MAPS}/a", config_map("b"))
    assert (reply.status, reply.message) == (400, "the name of the object (b) does not match the name on the URL (a)")


def test_wrong_uid_is_a_precondition_that_fails(world: World) -> None:
    made = world.post(CONFIG_MAPS, config_map("a")).document
    reply = world.put(f"{CONFIG_MAPS}/a", config_map("a", uid="other"))
    uid = made["metadata"]["uid"]
    assert reply.status == 409
    assert reply.message.endswith(f"Precondition failed: UID in precondition: other, UID in object meta: {uid}")


def test_equal_write_keeps_the_revision(world: World) -> None:
    made = world.post(CONFIG_MAPS, config_map("a", {"k": "v"})).document
    reply = world.put(f"{CONFIG_MAPS}/a", config_map("a", {"k": "v"}))
    assert reply.document["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_generation_counts_changes_of_spec_only(world: World) -> None:
    world.post(JOBS, job("a"))
    assert world.patch(f"{JOBS}/a", {"metadata": {"labels": {"x": "y"}}}).document["metadata"]["generation"] == 1
    assert world.patch(f"{JOBS}/a", {"spec": {"suspend": True}}).document["metadata"]["generation"] == 2


def test_status_is_written_only_through_its_subresource(world: World) -> None:
    world.post(JOBS, job("a"))
    assert world.patch(f"{JOBS}/a", {"status": {"active": 1}}).document["status"] == {}
    wrote = world.patch(f"{JOBS}/a/status", {"status": {"active": 1}, "spec": {"suspend": True}}).document
    assert wrote["status"] == {"active": 1}
    assert "suspend" not in wrote["spec"]
    assert wrote["metadata"]["generation"] == 1


def test_creation_time_and_generation_cannot_be_changed(world: World) -> None:
    made = world.post(JOBS, job("a")).document
    metadata = {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9}
    changed = world.patch(f"{JOBS}/a", {"metadata": metadata}).document
    assert changed["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    assert changed["metadata"]["generation"] == 1


def test_dry_run_changes_nothing(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reply = world.patch(f"{CONFIG_MAPS}/a?dryRun=All", {"data": {"k": "v"}})
    assert reply.document["data"] == {"k": "v"}
    assert world.get(f"{CONFIG_MAPS}/a").document["data"] == {}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (MERGE_PATCH, {"data": {"k": "new", "gone": None}}),
        (STRATEGIC, {"data": {"k": "new", "gone": None}}),
        (
            JSON_PATCH,
            [{"op": "replace", "path": "/data/k", "value": "new"}, {"op": "remove", "path": "/data/gone"}],
        ),
    ],
)
def test_patches(world: World, kind: str, body: object) -> None:
    world.post(CONFIG_MAPS, config_map("a", {"k": "old", "gone": "x"}))
    assert world.patch(f"{CONFIG_MAPS}/a", body, kind).document["data"] == {"k": "new"}


def test_patch_with_an_old_revision_is_a_conflict(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reply = world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": "1"}, "data": {"k": "v"}})
    assert (reply.status, reply.message) == (409, LOCKED)


def test_failed_test_of_a_json_patch_is_unprocessable(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", {"k": "v"}))
    body = [{"op": "test", "path": "/data/k", "value": "w"}]
    assert world.patch(f"{CONFIG_MAPS}/a", body, JSON_PATCH).status == 422


def test_patch_of_unknown_kind_is_415(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reply = world.patch(f"{CONFIG_MAPS}/a", {}, "application/json")
    assert reply.status == 415


def test_apply_needs_a_manager(world: World) -> None:
    reply = world.patch(f"{CONFIG_MAPS}/a", config_map("a"), "application/apply-patch+yaml")
    assert reply.status == 422
    assert "fieldManager: Required value: is required for apply patch" in reply.message


def test_apply_creates_then_changes(world: World) -> None:
    url, kind = f"{CONFIG_MAPS}/a?fieldManager=me", "application/apply-patch+yaml"
    assert world.patch(url, config_map("a", {"k": "1"}), kind).status == 201
    reply = world.patch(url, config_map("a", {"k": "2"}), kind)
    assert (reply.status, reply.document["data"]) == (200, {"k": "2"})


def test_force_is_for_apply_only(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reply = world.patch(f"{CONFIG_MAPS}/a?force=true", {})
    assert reply.status == 422
    assert "force: Forbidden: may not be specified for non-apply patch" in reply.message


def test_patch_is_done_again_when_the_object_changed_meanwhile(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", {"k": "1"}))
    hook = {
        "name": "slow.example.com",
        "clientConfig": {"url": "https://slow"},
        "rules": [{"operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "slow"},
        "webhooks": [hook],
    }
    world.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration)

    def meanwhile(call: WebhookCall) -> WebhookAnswer:
        uid = call.review["request"]["uid"]
        if len(world.calls) == 1:
            world.patch(f"{CONFIG_MAPS}/a", {"data": {"other": "2"}})
        answer = {"uid": uid, "allowed": True}
        return WebhookAnswer({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": answer})

    world.webhook = meanwhile
    reply = world.patch(f"{CONFIG_MAPS}/a", {"data": {"mine": "3"}})
    assert reply.document["data"] == {"k": "1", "other": "2", "mine": "3"}
