from tests.unit.apiserver.world import CONFIG_MAPS, JOBS, PODS, World, config_map, job, owner, pod


def test_background_deletion_takes_dependents_along(world: World) -> None:
    made = world.post(JOBS, job("a"))
    world.post(PODS, pod("p", ownerReferences=[owner(made)]))
    world.delete(f"{JOBS}/a?propagationPolicy=Background")
    world.clean()
    assert world.names(PODS) == []


def test_dependents_of_dependents_go_too(world: World) -> None:
    top = world.post(CONFIG_MAPS, config_map("top"))
    middle = world.post(CONFIG_MAPS, config_map("middle", ownerReferences=[owner(top)]))
    world.post(CONFIG_MAPS, config_map("leaf", ownerReferences=[owner(middle)]))
    world.delete(f"{CONFIG_MAPS}/top")
    world.clean()
    assert world.names(CONFIG_MAPS) == []


def test_orphaned_dependents_forget_their_owner(world: World) -> None:
    made = world.post(JOBS, job("a"))
    world.post(PODS, pod("p", ownerReferences=[owner(made)]))
    world.delete(f"{JOBS}/a?propagationPolicy=Orphan")
    world.clean()
    assert world.get(f"{JOBS}/a").status == 404
    assert "ownerReferences" not in world.get(f"{PODS}/p").document["metadata"]


def test_foreground_deletion_waits_for_what_blocks(world: World) -> None:
    made = world.post(JOBS, job("a"))
    reference = owner(made, blocks=True)
    world.post(PODS, pod("p", ownerReferences=[reference], finalizers=["example.com/hold"]))
    world.delete(f"{JOBS}/a?propagationPolicy=Foreground")
    world.clean()
    assert world.get(f"{PODS}/p").document["metadata"]["deletionTimestamp"]
    assert world.get(f"{JOBS}/a").document["metadata"]["finalizers"] == ["foregroundDeletion"]
    world.patch(f"{PODS}/p", {"metadata": {"finalizers": None}})
    world.clean()
    assert world.get(f"{JOBS}/a").status == 404


def test_foreground_deletion_does_not_wait_for_others(world: World) -> None:
    made = world.post(JOBS, job("a"))
    world.post(PODS, pod("p", ownerReferences=[owner(made)], finalizers=["example.com/hold"]))
    world.delete(f"{JOBS}/a?propagationPolicy=Foreground")
    world.clean()
    assert world.get(f"{JOBS}/a").status == 404
    assert world.get(f"{PODS}/p").document["metadata"]["deletionTimestamp"]


def test_second_owner_keeps_a_dependent(world: World) -> None:
    first, second = world.post(JOBS, job("a")), world.post(JOBS, job("b"))
    world.post(PODS, pod("p", ownerReferences=[owner(first), owner(second)]))
    world.delete(f"{JOBS}/a?propagationPolicy=Background")
    world.clean()
    left = world.get(f"{PODS}/p").document["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in left] == ["b"]


def test_dependent_of_an_owner_that_never_was_goes(world: World) -> None:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "ghost", "uid": "no-such-uid"}
    world.post(PODS, pod("p", ownerReferences=[reference]))
    world.clean()
    assert world.names(PODS) == []


def test_owner_of_an_unknown_kind_is_believed(world: World) -> None:
    reference = {"apiVersion": "example.com/v1", "kind": "Mystery", "name": "m", "uid": "no-such-uid"}
    world.post(PODS, pod("p", ownerReferences=[reference]))
    world.clean()
    assert world.names(PODS) == ["p"]


def test_owner_of_another_namespace_is_none(world: World) -> None:
    far = world.post("/api/v1/namespaces/other/configmaps", config_map("far"))
    world.post(PODS, pod("p", ownerReferences=[owner(far)]))
    world.clean()
    assert world.names(PODS) == []
