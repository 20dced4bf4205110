import pytest

from tests.unit.apiserver.world import CONFIG_MAPS, JOBS, NAMESPACES, PODS, World, config_map, job, pod


def test_deletion_answers_with_success_and_uid(world: World) -> None:
    made = world.post(CONFIG_MAPS, config_map("a")).document
    reply = world.delete(f"{CONFIG_MAPS}/a")
    assert (reply.status, reply.document["status"]) == (200, "Success")
    assert reply.document["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert world.get(f"{CONFIG_MAPS}/a").status == 404


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_preconditions(world: World, field: str) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reply = world.delete(f"{CONFIG_MAPS}/a", {"preconditions": {field: "999"}})
    assert reply.status == 409
    assert "in the precondition (999) does not match" in reply.message


def test_finalizer_holds_an_object(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", finalizers=["example.com/hold"]))
    held = world.delete(f"{CONFIG_MAPS}/a").document
    assert held["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    reader = world.watch(f"{CONFIG_MAPS}?resourceVersion={world.version}")
    world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
    assert reader.changes() == [("DELETED", "a")]
    assert world.get(f"{CONFIG_MAPS}/a").status == 404


def test_second_deletion_of_a_held_object_writes_nothing(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", finalizers=["example.com/hold"]))
    world.delete(f"{CONFIG_MAPS}/a")
    version = world.version
    assert world.delete(f"{CONFIG_MAPS}/a").status == 200
    assert world.version == version


def test_deletion_time_cannot_be_taken_back(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", finalizers=["example.com/hold"]))
    world.delete(f"{CONFIG_MAPS}/a")
    kept = world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"deletionTimestamp": None}}).document
    assert kept["metadata"]["deletionTimestamp"]


def test_bound_pod_gets_its_grace(world: World) -> None:
    world.post(PODS, pod("a", node="n1"))
    going = world.delete(f"{PODS}/a").document
    assert going["metadata"]["deletionGracePeriodSeconds"] == 30
    assert going["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert world.delete(f"{PODS}/a", {"gracePeriodSeconds": 0}).status == 200
    assert world.get(f"{PODS}/a").status == 404


def test_unbound_pod_goes_at_once(world: World) -> None:
    world.post(PODS, pod("a"))
    assert world.delete(f"{PODS}/a").document["kind"] == "Pod"
    assert world.get(f"{PODS}/a").status == 404


def test_grace_can_only_be_shortened(world: World) -> None:
    world.post(PODS, pod("a", node="n1"))
    world.delete(f"{PODS}/a")
    longer = world.delete(f"{PODS}/a", {"gracePeriodSeconds": 99}).document
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 30
    shorter = world.delete(f"{PODS}/a", {"gracePeriodSeconds": 5}).document
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"


def test_pod_with_grace_and_finalizer_is_held_by_the_finalizer(world: World) -> None:
    world.post(PODS, pod("a", node="n1", finalizers=["example.com/hold"]))
    world.delete(f"{PODS}/a")
    held = world.delete(f"{PODS}/a", {"gracePeriodSeconds": 0}).document
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    world.patch(f"{PODS}/a", {"metadata": {"finalizers": None}})
    assert world.get(f"{PODS}/a").status == 404


def test_job_without_policy_orphans_its_pods_and_warns(world: World) -> None:
    world.post(JOBS, job("a"))
    reply = world.delete(f"{JOBS}/a")
    assert reply.document["metadata"]["finalizers"] == ["orphan"]
    assert any("child pods are preserved by default" in value for name, value in reply.headers if name == "warning")


def test_unknown_policy_is_refused(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reply = world.delete(f"{CONFIG_MAPS}/a?propagationPolicy=Never")
    assert reply.status == 422
    assert 'propagationPolicy: Unsupported value: "Never"' in reply.message


def test_dry_run_deletes_nothing(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    assert world.delete(f"{CONFIG_MAPS}/a?dryRun=All").status == 200
    assert world.get(f"{CONFIG_MAPS}/a").status == 200


def test_collection_is_deleted_by_selector(world: World) -> None:
    for name, color in (("a", "red"), ("b", "blue")):
        world.post(CONFIG_MAPS, config_map(name, labels={"color": color}))
    reply = world.delete(f"{CONFIG_MAPS}?labelSelector=color=red")
    assert [item["metadata"]["name"] for item in reply.document["items"]] == ["a"]
    assert world.names(CONFIG_MAPS) == ["b"]


def test_default_namespace_may_not_be_deleted(world: World) -> None:
    reply = world.delete(f"{NAMESPACES}/default")
    assert (reply.status, reply.message) == (
        403,
        'namespaces "default" is forbidden: this namespace may not be deleted',
    )


def test_namespace_is_emptied_then_gone(world: World) -> None:
    path = "/api/v1/namespaces/other/configmaps"
    world.post(path, config_map("a"))
    world.post(path, config_map("held", finalizers=["example.com/hold"]))
    going = world.delete(f"{NAMESPACES}/other").document
    assert going["status"]["phase"] == "Terminating"
    world.clean()
    assert world.names(path) == ["held"]
    world.patch(f"{path}/held", {"metadata": {"finalizers": None}})
    world.clean()
    assert world.get(f"{NAMESPACES}/other").status == 404
