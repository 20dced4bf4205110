from tests.unit.apiserver.world import CRDS, World, crd

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_groups_are_listed(world: World) -> None:
    groups = world.get("/apis").document["groups"]
    assert {"batch", "apps", "coordination.k8s.io"} <= {group["name"] for group in groups}


def test_resources_of_a_version(world: World) -> None:
    document = world.get("/apis/batch/v1").document
    names = [resource["name"] for resource in document["resources"]]
    assert (document["groupVersion"], names) == ("batch/v1", ["cronjobs", "cronjobs/status", "jobs", "jobs/status"])


def test_custom_kinds_are_discovered(world: World) -> None:
    world.post(CRDS, crd())
    assert world.get("/apis/example.com/v1").document["resources"][0]["name"] == "widgets"


def test_aggregated_discovery(world: World) -> None:
    document = world.get("/apis", accept=AGGREGATED).document
    assert document["kind"] == "APIGroupDiscoveryList"
    batch = next(item for item in document["items"] if item["metadata"]["name"] == "batch")
    job = batch["versions"][0]["resources"][1]
    assert (job["resource"], job["scope"], job["subresources"][0]["subresource"]) == ("jobs", "Namespaced", "status")


def test_openapi_index_changes_with_the_kinds(world: World) -> None:
    before = world.get("/openapi/v3").document["paths"]["apis/batch/v1"]["serverRelativeURL"]
    world.post(CRDS, crd())
    paths = world.get("/openapi/v3").document["paths"]
    assert paths["apis/batch/v1"]["serverRelativeURL"] != before
    assert "apis/example.com/v1" in paths


def test_version_and_health(world: World) -> None:
    assert world.get("/version").document["minor"] == "36"
    assert world.get("/readyz").document == "ok"
