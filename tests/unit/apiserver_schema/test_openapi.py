"""OpenAPI documents: what kubectl explain and client-side validation look for."""

from tests.unit.apiserver_schema.things import crd, registry_of, things
from worker_agent.api import openapi_data


def test_a_built_in_kind_is_found_by_its_path():
    document = things().openapi_v3("batch", "v1")
    item = document["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]
    assert item["patch"]["x-kubernetes-group-version-kind"] == {"group": "batch", "version": "v1", "kind": "Job"}
    assert "fieldValidation" in [parameter["name"] for parameter in item["patch"]["parameters"]]
    assert "io.k8s.api.batch.v1.Job" in document["components"]["schemas"]


def test_every_reference_is_in_the_document():
    for group, version in (("", "v1"), ("ex.io", "v1")):
        schemas = things().openapi_v3(group, version)["components"]["schemas"]
        assert set(_references(schemas)) <= schemas.keys()


def _references(value):
    if isinstance(value, dict):
        if "$ref" in value and isinstance(value["$ref"], str):
            yield value["$ref"].removeprefix(openapi_data.REFERENCE_PREFIX)
        for child in value.values():
            yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)


def test_a_custom_resource_has_its_schema_and_paths():
    document = things().openapi_v3("ex.io", "v1")
    schema = document["components"]["schemas"]["io.ex.v1.Thing"]
    assert schema["properties"]["spec"]["properties"]["count"]["format"] == "int32"
    assert "/apis/ex.io/v1/namespaces/{namespace}/things/{name}/status" in document["paths"]


def test_an_unknown_group_has_none():
    assert things().openapi_v3("no", "v1") is None


def test_a_removed_crd_leaves_the_document():
    registry = registry_of(crd())
    assert registry.openapi_v3("ex.io", "v1") is not None
    registry.remove_crd(crd())
    assert registry.openapi_v3("ex.io", "v1") is None


def test_the_pod_template_can_be_put_into_a_crd():
    schema = openapi_data.expanded(openapi_data.POD_TEMPLATE_SPEC)
    assert not list(_references(schema))
    ports = schema["properties"]["spec"]["properties"]["containers"]["items"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
