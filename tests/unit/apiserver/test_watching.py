import msgspec
import pytest

from hub.local.apiserver.core import new_state
from hub.local.apiserver.store import Collection
from tests.unit.apiserver.world import CONFIG_MAPS, CRDS, JOBS, World, config_map, crd, job


def test_watch_without_revision_begins_with_what_is_there(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reader = world.watch(CONFIG_MAPS)
    assert reader.changes() == [("ADDED", "a")]
    world.delete(f"{CONFIG_MAPS}/a")
    assert reader.changes() == [("DELETED", "a")]


def test_watch_from_a_revision_shows_what_came_after(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    then = world.version
    world.post(CONFIG_MAPS, config_map("b"))
    world.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    reader = world.watch(f"{CONFIG_MAPS}?resourceVersion={then}")
    assert reader.changes() == [("ADDED", "b"), ("MODIFIED", "a")]


def test_deletion_carries_its_own_revision(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", {"k": "v"}))
    reader = world.watch(f"{CONFIG_MAPS}?resourceVersion={world.version}")
    world.delete(f"{CONFIG_MAPS}/a")
    (event,) = reader.events()
    assert event["object"]["metadata"]["resourceVersion"] == str(world.version)
    assert event["object"]["data"] == {"k": "v"}


def test_object_leaving_the_selection_is_deleted_from_it(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", labels={"on": "yes"}))
    reader = world.watch(f"{CONFIG_MAPS}?labelSelector=on=yes&resourceVersion={world.version}")
    world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"on": "no"}}})
    (left,) = reader.events()
    assert left["type"] == "DELETED"
    assert left["object"]["metadata"]["labels"] == {"on": "yes"}
    assert left["object"]["metadata"]["resourceVersion"] == str(world.version)
    world.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"on": "yes"}}})
    assert reader.changes() == [("ADDED", "a")]


def test_other_namespaces_are_not_shown(world: World) -> None:
    reader = world.watch(f"{CONFIG_MAPS}?resourceVersion={world.version}")
    world.post("/api/v1/namespaces/other/configmaps", config_map("z"))
    assert reader.events() == []


def test_watch_of_one_object(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    reader = world.watch(f"{CONFIG_MAPS}?fieldSelector=metadata.name=a&resourceVersion={world.version}")
    world.post(CONFIG_MAPS, config_map("b"))
    world.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    assert reader.changes() == [("MODIFIED", "a")]


def test_streaming_list_ends_with_a_bookmark(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    options = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    events = world.watch(f"{CONFIG_MAPS}?{options}").events()
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    metadata = events[-1]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert metadata["resourceVersion"] == str(world.version)


def test_streaming_list_needs_a_match(world: World) -> None:
    reply = world.get(f"{CONFIG_MAPS}?watch=1&sendInitialEvents=true")
    assert reply.status == 422
    assert "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" in reply.message


def test_revision_before_the_window_is_gone(world: World) -> None:
    world.core.state.collections["/configmaps"] = Collection(1, window=2)
    for name in "abcdef":
        world.post(CONFIG_MAPS, config_map(name))
    reader = world.watch(f"{CONFIG_MAPS}?resourceVersion=1")
    (event,) = reader.events()
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: 1 (")
    assert reader.watch.ended


def test_slow_watch_is_ended(world: World) -> None:
    world.core.state.collections["/configmaps"] = Collection(world.version, window=2)
    reader = world.watch(f"{CONFIG_MAPS}?resourceVersion={world.version}")
    for name in "abcdefgh":
        world.post(CONFIG_MAPS, config_map(name))
    assert reader.events()[-1]["object"]["code"] == 410


def test_revision_before_a_restart_is_gone() -> None:
    assert new_state(bytes, version=500).collection("/pods").oldest == 500


def test_unchanged_write_is_no_event(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", {"k": "v"}))
    reader = world.watch(f"{CONFIG_MAPS}?resourceVersion={world.version}")
    world.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    assert reader.events() == []


def test_status_write_is_seen(world: World) -> None:
    world.post(JOBS, job("a"))
    reader = world.watch(f"{JOBS}?resourceVersion={world.version}")
    world.patch(f"{JOBS}/a/status", {"status": {"active": 1}})
    (event,) = reader.events()
    assert event["object"]["status"] == {"active": 1}


def test_table_watch_heads_once(world: World) -> None:
    reader = world.watch(CONFIG_MAPS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    world.post(CONFIG_MAPS, config_map("a"))
    world.post(CONFIG_MAPS, config_map("b"))
    first, second = reader.events()
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"] == ["b"]


def test_watch_ends_when_its_kind_is_no_longer_served(world: World) -> None:
    world.post(CRDS, crd())
    reader = world.watch("/apis/example.com/v1/widgets")
    world.delete(f"{CRDS}/widgets.example.com")
    world.clean()
    reader.events()
    assert reader.watch.ended


@pytest.mark.parametrize("text", ["x", "-1"])
def test_revision_must_be_a_number(world: World, text: str) -> None:
    assert world.get(f"{CONFIG_MAPS}?watch=1&resourceVersion={text}").status == 500


def test_a_bookmark_does_not_run_ahead_of_what_is_not_yet_on_disk(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a"))
    safe = world.version
    watch = world.watch(f"{CONFIG_MAPS}?resourceVersion={safe}&allowWatchBookmarks=true").watch
    world.post(CONFIG_MAPS, config_map("b"))
    assert watch.read(lambda: world.now, safe) == []
    assert bookmarked(watch.bookmark()) == safe
    (frame,) = watch.read(lambda: world.now, world.version)
    assert b'"name":"b"' in frame
    assert bookmarked(watch.bookmark()) == world.version


def test_a_bookmark_counts_what_happened_to_other_kinds(world: World) -> None:
    watch = world.watch(f"{CONFIG_MAPS}?resourceVersion={world.version}&allowWatchBookmarks=true").watch
    world.post(JOBS, job("train"))
    watch.read(lambda: world.now)
    assert bookmarked(watch.bookmark()) == world.version


def bookmarked(frame: bytes) -> int:
    return int(msgspec.json.decode(frame)["object"]["metadata"]["resourceVersion"])
