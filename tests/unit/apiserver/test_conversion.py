"""Kinds with several versions and a webhook that converts between them, and definitions that change later."""

from typing import Any

import pytest

from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from tests.unit.apiserver.world import CRDS, World
from worker_agent.api.document import Document

V1 = "/apis/example.com/v1/namespaces/default/things"
V2 = "/apis/example.com/v2/namespaces/default/things"


def version(name: str, storage: bool, **fields: Document) -> Document:
    spec = {"type": "object", "properties": fields}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def things(**v1: Document) -> Document:
    client = {"url": "https://convert.example.com/convert"}
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
    versions = [version("v1", True, size={"type": "integer"}, **v1), version("v2", False, width={"type": "integer"})]
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "conversion": conversion}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {**spec, "versions": versions},
    }


def thing(name: str, api_version: str = "example.com/v1", **spec: object) -> Document:
    return {"apiVersion": api_version, "kind": "Thing", "metadata": {"name": name}, "spec": spec}


def convert(call: WebhookCall) -> WebhookAnswer:
    """``size`` in v1 is ``width`` in v2."""
    request = call.review["request"]
    wanted = request["desiredAPIVersion"]
    old, new = ("size", "width") if wanted.endswith("v2") else ("width", "size")
    objects = []
    for document in request["objects"]:
        spec = dict(document["spec"])
        if old in spec:
            spec[new] = spec.pop(old)
        objects.append({**document, "apiVersion": wanted, "spec": spec})
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    return WebhookAnswer({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response})


@pytest.fixture
def world() -> World:
    made = World(SchemaRegistry())
    made.webhook = convert
    assert made.post(CRDS, things()).status == 201
    return made


def test_an_object_is_shown_in_the_version_that_is_asked_for(world: World) -> None:
    world.post(V1, thing("a", size=3))
    assert world.get(f"{V1}/a").document["spec"] == {"size": 3}
    assert world.get(f"{V2}/a").document["spec"] == {"width": 3}


def test_a_write_in_another_version_is_kept_in_the_storage_version(world: World) -> None:
    written = world.post(V2, thing("a", "example.com/v2", width=3))
    assert (written.status, written.document["apiVersion"]) == (201, "example.com/v2")
    world.calls.clear()
    assert world.get(f"{V1}/a").document["spec"] == {"size": 3}
    assert not world.calls


def test_a_list_is_converted_in_one_call_and_only_once(world: World) -> None:
    for name in "abc":
        world.post(V1, thing(name, size=1))
    world.calls.clear()
    for _ in range(2):
        assert [item["spec"] for item in world.get(V2).document["items"]] == [{"width": 1}] * 3
    assert [len(call.review["request"]["objects"]) for call in world.calls] == [3]


def test_a_patch_sees_and_changes_the_object_in_its_own_version(world: World) -> None:
    world.post(V1, thing("a", size=3))
    assert world.patch(f"{V2}/a", {"spec": {"width": 4}}).document["spec"] == {"width": 4}
    assert world.get(f"{V1}/a").document["spec"] == {"size": 4}


def test_a_watch_shows_its_own_version(world: World) -> None:
    reader = world.watch(f"{V2}?resourceVersion={world.version}")
    world.post(V1, thing("a", size=3))
    world.patch(f"{V1}/a", {"spec": {"size": 4}})
    steps = reader.watch.unconverted()
    call = next(steps)
    with pytest.raises(StopIteration):
        steps.send(convert(call))
    assert [event["object"]["spec"] for event in reader.events()] == [{"width": 3}, {"width": 4}]


def test_a_watch_whose_conversion_fails_ends_with_the_error(world: World) -> None:
    reader = world.watch(f"{V2}?resourceVersion={world.version}")
    world.post(V1, thing("a", size=3))
    steps = reader.watch.unconverted()
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(WebhookAnswer(None, "nobody there"))
    (event,) = reader.events()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
    assert "conversion webhook for example.com/v1, Kind=Thing failed: nobody there" in event["object"]["message"]
    assert reader.watch.ended


def changed(key: str, value: Any, place: str = "") -> Any:
    def answer(call: WebhookCall) -> WebhookAnswer:
        review = convert(call).review
        assert review is not None
        for document in review["response"]["convertedObjects"]:
            if place:
                document[place] = {**document[place], key: value}
            else:
                document[key] = value
        return WebhookAnswer(review)

    return answer


@pytest.mark.parametrize(
    ("webhook", "words"),
    [
        (changed("kind", "Other"), "returned invalid object at index 0: invalid kind (expected Thing, received Other)"),
        (changed("name", "b", "metadata"), "returned invalid object: must have the same name: a != b"),
        (lambda call: WebhookAnswer(None, "no route"), "failed: no route"),
        (lambda call: WebhookAnswer({"kind": "Pod"}), "failed: expected webhook response of apiextensions.k8s.io/v1"),
    ],
)
def test_bad_answers_are_told(world: World, webhook: Any, words: str) -> None:
    world.post(V1, thing("a", size=3))
    world.webhook = webhook
    answer = world.get(f"{V2}/a")
    assert (answer.status, words in answer.message) == (500, True), answer.message


def test_metadata_that_is_the_servers_is_put_back(world: World) -> None:
    world.post(V1, thing("a", size=3))
    world.webhook = changed("generation", 77, "metadata")
    assert world.get(f"{V2}/a").document["metadata"]["generation"] == 1


def test_a_default_that_comes_later_shows_with_the_next_read(world: World) -> None:
    world.post(V1, thing("a", size=3))
    definition = world.get(f"{CRDS}/things.example.com").document
    renewed = things(color={"type": "string", "default": "red"})
    assert world.put(f"{CRDS}/things.example.com", {**renewed, "metadata": definition["metadata"]}).status == 200
    assert world.get(f"{V1}/a").document["spec"] == {"size": 3, "color": "red"}
    assert world.get(V1).document["items"][0]["spec"] == {"size": 3, "color": "red"}
