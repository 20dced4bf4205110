"""JSON merge patch, JSON patch and strategic merge patch."""

import copy

import pytest

from hub.local.apiserver.schema import json_merge, json_patch
from hub.local.apiserver.schema.patch_error import PatchError
from tests.unit.apiserver_schema.things import JOB, POD, THING, job, thing, things


def pod(*containers, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": list(containers), **spec},
    }


def named(*names):
    return [{"name": name, "image": name} for name in names]


def merged(live, patch):
    return things().strategic_merge(POD, live, patch)


def names(document):
    return [container["name"] for container in document["spec"]["containers"]]


def test_merge_patch_deletes_with_null_and_replaces_lists():
    live = {"a": {"b": 1, "c": [1, 2]}, "d": 1}
    assert json_merge.merge(live, {"a": {"b": None, "c": [3]}, "e": {"f": None}}) == {"a": {"c": [3]}, "d": 1, "e": {}}


def test_json_patch_leaves_its_argument_alone():
    live = {"a": [1]}
    assert json_patch.apply(live, [{"op": "add", "path": "/a/-", "value": 2}]) == {"a": [1, 2]}
    assert live == {"a": [1]}


@pytest.mark.parametrize(
    ("operations", "status"),
    [
        ({"op": "add"}, 400),
        ([{"op": "remove", "path": "/nope"}], 422),
        ([{"op": "test", "path": "/a", "value": 5}], 422),
        ([{"op": "add", "path": "/a", "value": 1}] * 10_001, 413),
    ],
)
def test_json_patch_that_does_not_fit(operations, status):
    with pytest.raises(PatchError) as caught:
        json_patch.apply({"a": 1}, operations)
    assert caught.value.status == status


def test_lists_merge_by_key():
    result = merged(pod(*named("a", "b")), {"spec": {"containers": [{"name": "b", "image": "new"}]}})
    assert result["spec"]["containers"] == [{"name": "a", "image": "a"}, {"name": "b", "image": "new"}]


def test_an_item_is_deleted_by_directive():
    assert names(merged(pod(*named("a", "b")), {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}})) == ["b"]


def test_a_list_is_replaced_by_directive():
    patch = {"spec": {"containers": [{"$patch": "replace"}, {"name": "c", "image": "c"}]}}
    assert names(merged(pod(*named("a", "b")), patch)) == ["c"]


def test_an_order_is_set_by_directive():
    order = [{"name": "c"}, {"name": "a"}]
    patch = {"spec": {"$setElementOrder/containers": order, "containers": [{"name": "c", "image": "c"}]}}
    assert names(merged(pod(*named("a", "b")), patch)) == ["c", "a", "b"]


def test_primitive_lists_merge_and_lose_items_by_directive():
    live = {**pod(), "metadata": {"name": "p", "finalizers": ["a/b", "c/d"]}}
    added = merged(live, {"metadata": {"finalizers": ["e/f"]}})
    assert set(added["metadata"]["finalizers"]) == {"a/b", "c/d", "e/f"}
    removed = merged(live, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}})
    assert removed["metadata"]["finalizers"] == ["c/d"]


def test_retain_keys_drops_the_others():
    live = pod(volumes=[{"name": "v", "emptyDir": {}}])
    change = {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}
    result = merged(live, {"spec": {"volumes": [change]}})
    assert result["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/x"}}]


def test_lists_without_a_strategy_are_replaced():
    live = pod({"name": "a", "command": ["x", "y"]})
    result = merged(live, {"spec": {"containers": [{"name": "a", "command": ["z"]}]}})
    assert result["spec"]["containers"][0]["command"] == ["z"]


def test_a_map_is_replaced_by_directive():
    live = job()
    result = things().strategic_merge(JOB, live, {"metadata": {"$patch": "replace", "name": "n"}})
    assert result["metadata"] == {"name": "n"}


def test_an_item_without_its_key_is_refused():
    with pytest.raises(PatchError, match="map: map\\[image:x\\] does not contain declared merge key: name"):
        merged(pod(*named("a")), {"spec": {"containers": [{"image": "x"}]}})


def test_an_unknown_directive_is_refused():
    with pytest.raises(PatchError, match="unknown patch type: swap in map"):
        merged(pod(), {"spec": {"$patch": "swap"}})


def test_custom_resources_have_no_strategic_merge():
    with pytest.raises(PatchError) as caught:
        things().strategic_merge(THING, thing(), {})
    assert caught.value.status == 415


def test_strategic_merge_leaves_its_arguments_alone():
    live, patch = pod(*named("a")), {"spec": {"containers": [{"name": "a", "env": [{"name": "x", "value": "1"}]}]}}
    before = copy.deepcopy((live, patch))
    merged(live, patch)
    assert (live, patch) == before


def test_a_new_item_takes_the_place_of_a_deleted_one():
    change = [{"name": "x", "image": "x"}, {"name": "z", "$patch": "delete"}]
    patch = {"spec": {"$setElementOrder/containers": [{"name": "x"}], "containers": change}}
    assert names(merged(pod(*named("c", "z")), patch)) == ["c", "x"]
