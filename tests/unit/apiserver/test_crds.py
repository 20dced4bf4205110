import pytest

from tests.unit.apiserver.world import CRDS, World, crd

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def widget(name: str, **content: object) -> dict[str, object]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, **content}


@pytest.fixture
def served(world: World) -> World:
    world.post(CRDS, crd(subresources={"status": {}}))
    return world


def test_kind_is_served_at_once(served: World) -> None:
    assert served.post(WIDGETS, widget("a", spec={"size": 1})).status == 201
    document = served.get(WIDGETS).document
    assert (document["kind"], document["apiVersion"]) == ("WidgetList", "example.com/v1")
    assert document["items"][0]["kind"] == "Widget"


def test_conditions_say_so(served: World) -> None:
    status = served.get(f"{CRDS}/widgets.example.com").document["status"]
    assert [(condition["type"], condition["status"]) for condition in status["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    assert status["acceptedNames"]["singular"] == "widget"
    assert status["storedVersions"] == ["v1"]


def test_generation_counts_everything_but_metadata_and_status(served: World) -> None:
    served.post(WIDGETS, widget("a", spec={"size": 1}))
    assert served.patch(f"{WIDGETS}/a", {"spec": {"size": 2}}).document["metadata"]["generation"] == 2
    assert served.patch(f"{WIDGETS}/a/status", {"status": {"x": 1}}).document["metadata"]["generation"] == 2


def test_status_write_leaves_labels_alone(served: World) -> None:
    served.post(WIDGETS, widget("a"))
    wrote = served.patch(f"{WIDGETS}/a/status", {"metadata": {"labels": {"x": "y"}}, "status": {"x": 1}}).document
    assert wrote["status"] == {"x": 1}
    assert "labels" not in wrote["metadata"]


def test_without_subresource_status_is_a_field(world: World) -> None:
    world.post(CRDS, crd())
    made = world.post(WIDGETS, widget("a", status={"x": 1})).document
    assert made["status"] == {"x": 1}
    assert world.patch(f"{WIDGETS}/a/status", {}).status == 404


def test_second_version_shows_the_same_objects(served: World) -> None:
    document = crd(subresources={"status": {}})
    document["spec"]["versions"].append({**document["spec"]["versions"][0], "name": "v2", "storage": False})
    served.patch(f"{CRDS}/widgets.example.com", {"spec": document["spec"]})
    served.post(WIDGETS, widget("a", spec={"size": 1}))
    shown = served.get(WIDGETS.replace("v1", "v2") + "/a").document
    assert (shown["apiVersion"], shown["spec"]) == ("example.com/v2", {"size": 1})


def test_deletion_takes_objects_along(served: World) -> None:
    served.post(WIDGETS, widget("a"))
    going = served.delete(f"{CRDS}/widgets.example.com").document
    assert going["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    served.clean()
    assert served.get(f"{CRDS}/widgets.example.com").status == 404
    assert served.get(WIDGETS).document == "404 page not found\n"


def test_deletion_waits_for_held_objects(served: World) -> None:
    held = widget("a")
    held["metadata"] = {"name": "a", "finalizers": ["example.com/hold"]}
    served.post(WIDGETS, held)
    served.delete(f"{CRDS}/widgets.example.com")
    served.clean()
    assert served.get(f"{CRDS}/widgets.example.com").status == 200
    served.patch(f"{WIDGETS}/a", {"metadata": {"finalizers": None}})
    served.clean()
    assert served.get(f"{CRDS}/widgets.example.com").status == 404


def test_name_must_be_plural_and_group(world: World) -> None:
    document = crd()
    document["metadata"]["name"] = "wrong"
    reply = world.post(CRDS, document)
    assert reply.status == 422
    assert 'metadata.name: Invalid value: "wrong": must be spec.names.plural+"."+spec.group' in reply.message


def test_deprecated_version_warns(world: World) -> None:
    world.post(CRDS, crd(deprecated=True))
    headers = world.get(WIDGETS).headers
    assert ("warning", '299 - "example.com/v1 Widget is deprecated"') in headers


def test_selectable_fields(world: World) -> None:
    world.post(CRDS, crd(selectableFields=[{"jsonPath": ".spec.color"}]))
    for name, color in (("a", "red"), ("b", "blue")):
        world.post(WIDGETS, widget(name, spec={"color": color}))
    assert world.names(f"{WIDGETS}?fieldSelector=spec.color=red") == ["a"]


def test_scale_of_a_custom_resource(world: World) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.on"}
    world.post(CRDS, crd(subresources={"status": {}, "scale": paths}))
    world.post(WIDGETS, widget("a", spec={"size": 2}))
    world.patch(f"{WIDGETS}/a/status", {"status": {"size": 1, "on": "x=y"}})
    scale = world.get(f"{WIDGETS}/a/scale").document
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "x=y"})
    world.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 5}})
    assert world.get(f"{WIDGETS}/a").document["spec"] == {"size": 5}


def test_scale_without_replicas(world: World) -> None:
    world.post(
        CRDS, crd(subresources={"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}})
    )
    world.post(WIDGETS, widget("a"))
    reply = world.get(f"{WIDGETS}/a/scale")
    assert reply.status == 500
    assert 'the spec replicas field ".spec.size" does not exist' in reply.message


def test_custom_resources_are_not_patched_strategically(served: World) -> None:
    served.post(WIDGETS, widget("a"))
    assert served.patch(f"{WIDGETS}/a", {}, "application/strategic-merge-patch+json").status == 415
