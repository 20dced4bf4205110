import pytest

from tests.unit.apiserver.world import CONFIG_MAPS, NAMESPACES, PODS, World, config_map, pod


@pytest.fixture
def maps(world: World) -> World:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red"), ("d", "green")):
        world.post(CONFIG_MAPS, config_map(name, labels={"color": color}))
    world.post("/api/v1/namespaces/other/configmaps", config_map("z"))
    return world


def test_list_of_built_in_kind_has_no_kind_in_its_items(maps: World) -> None:
    document = maps.get(CONFIG_MAPS).document
    assert (document["kind"], document["apiVersion"]) == ("ConfigMapList", "v1")
    assert document["metadata"] == {"resourceVersion": str(maps.version)}
    assert "kind" not in document["items"][0]


def test_list_of_all_namespaces(maps: World) -> None:
    assert maps.names("/api/v1/configmaps") == ["a", "b", "c", "d", "z"]


def test_empty_list(world: World) -> None:
    assert world.get(CONFIG_MAPS).document["items"] == []


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("color=red", ["a", "c"]),
        ("color==red", ["a", "c"]),
        ("color!=red", ["b", "d"]),
        ("color in (red,blue)", ["a", "b", "c"]),
        ("color notin (red, blue)", ["d"]),
        ("color", ["a", "b", "c", "d"]),
        ("!color", []),
        ("color=red,color!=red", []),
        ("size", []),
    ],
)
def test_label_selectors(maps: World, selector: str, names: list[str]) -> None:
    assert maps.names(f"{CONFIG_MAPS}?labelSelector={selector}") == names


@pytest.mark.parametrize("selector", ["color=red,", "=red", "color in red", "color in (red", "a b"])
def test_malformed_label_selector_is_a_bad_request(maps: World, selector: str) -> None:
    reply = maps.get(f"{CONFIG_MAPS}?labelSelector={selector}")
    assert reply.status == 400
    assert reply.message.startswith("unable to parse requirement") or reply.message.startswith("found '")


def test_field_selector_of_metadata(maps: World) -> None:
    assert maps.names("/api/v1/configmaps?fieldSelector=metadata.name=b") == ["b"]
    assert maps.names("/api/v1/configmaps?fieldSelector=metadata.namespace!=default") == ["z"]


def test_field_selectors_of_pods(world: World) -> None:
    world.post(PODS, pod("bound", node="n1"))
    world.post(PODS, pod("free"))
    assert world.names(f"{PODS}?fieldSelector=spec.nodeName=n1") == ["bound"]
    assert world.names(f"{PODS}?fieldSelector=spec.nodeName=,status.phase=Pending") == ["free"]


def test_unknown_field_is_named(world: World) -> None:
    reply = world.get(f"{PODS}?fieldSelector=spec.color=red")
    assert (reply.status, reply.message) == (400, "field label not supported: spec.color")


def test_pages_are_of_one_revision(maps: World) -> None:
    first = maps.get(f"{CONFIG_MAPS}?limit=2").document
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 2
    maps.post(CONFIG_MAPS, config_map("bb"))
    maps.delete(f"{CONFIG_MAPS}/c")
    second = maps.get(f"{CONFIG_MAPS}?limit=2&continue={first['metadata']['continue']}").document
    assert [item["metadata"]["name"] for item in second["items"]] == ["c", "d"]
    assert "continue" not in second["metadata"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_continue_of_another_namespace_is_refused(maps: World) -> None:
    token = maps.get(f"{CONFIG_MAPS}?limit=1").document["metadata"]["continue"]
    assert maps.get(f"/api/v1/namespaces/other/configmaps?limit=1&continue={token}").status == 400


def test_exact_revision_shows_the_past(maps: World) -> None:
    then = maps.version
    maps.delete(f"{CONFIG_MAPS}/a")
    maps.post(CONFIG_MAPS, config_map("e"))
    assert maps.names(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact") == ["a", "b", "c", "d"]
    assert maps.names(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=NotOlderThan") == ["b", "c", "d", "e"]


def test_revision_of_the_future_is_too_large(world: World) -> None:
    reply = world.get(f"{CONFIG_MAPS}?resourceVersion=9999&resourceVersionMatch=NotOlderThan")
    assert reply.status == 504
    assert reply.message == f"Timeout: Too large resource version: 9999, current: {world.version}"


def test_match_without_revision_is_invalid(world: World) -> None:
    reply = world.get(f"{CONFIG_MAPS}?resourceVersionMatch=Exact")
    assert reply.status == 422
    assert "resourceVersionMatch is forbidden unless resourceVersion is provided" in reply.message


def test_missing_object_is_named(world: World) -> None:
    reply = world.get("/apis/batch/v1/namespaces/default/jobs/nope")
    assert (reply.status, reply.message) == (404, 'jobs.batch "nope" not found')


def test_table_form(maps: World) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = maps.get(CONFIG_MAPS, accept=accept).document
    assert table["kind"] == "Table"
    assert [row["cells"][0] for row in table["rows"]] == ["a", "b", "c", "d"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_table_rows_carry_what_is_asked(maps: World) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    whole = maps.get(f"{CONFIG_MAPS}?includeObject=Object", accept=accept).document
    assert whole["rows"][0]["object"]["kind"] == "ConfigMap"
    none = maps.get(f"{CONFIG_MAPS}?includeObject=None", accept=accept).document
    assert none["rows"][0]["object"] is None


def test_partial_metadata_form(maps: World) -> None:
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    document = maps.get(CONFIG_MAPS, accept=accept).document
    assert document["kind"] == "PartialObjectMetadataList"
    assert set(document["items"][0]) == {"kind", "apiVersion", "metadata"}


def test_protobuf_falls_back_to_json(world: World) -> None:
    reply = world.get(NAMESPACES, accept="application/vnd.kubernetes.protobuf,application/json")
    assert reply.document["kind"] == "NamespaceList"


def test_yaml_is_answered_when_asked_first(world: World) -> None:
    world.post(CONFIG_MAPS, config_map("a", {"n": "1", "t": "x: y", "long": "two\nlines\n"}))
    text = world.get(f"{CONFIG_MAPS}/a", accept="application/yaml").document
    assert text.startswith('apiVersion: v1\ndata:\n  long: |\n    two\n    lines\n  "n": "1"\n')
    assert "  t: 'x: y'\n" in text or '  t: "x: y"\n' in text


def test_only_protobuf_is_not_acceptable(world: World) -> None:
    assert world.get(NAMESPACES, accept="application/vnd.kubernetes.protobuf").status == 406


@pytest.mark.parametrize("path", ["/apis/none/v1/things", "/nothing"])
def test_unknown_path_is_the_plain_404(world: World, path: str) -> None:
    reply = world.get(path)
    assert (reply.status, reply.document) == (404, "404 page not found\n")


def test_unknown_resource_of_a_served_version_is_a_status(world: World) -> None:
    reply = world.get("/api/v1/nonsense")
    assert (reply.status, reply.message) == (404, "the server could not find the requested resource")


def test_what_is_unsupported_says_so(world: World) -> None:
    reply = world.get(f"{PODS}/p/exec")
    assert (reply.status, reply.document["reason"]) == (501, "NotImplemented")
