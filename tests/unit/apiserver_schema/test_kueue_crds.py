"""The CRDs this server lives for: ours from worker_agent.api, and Kueue's own where they lie beside the checkout."""

from pathlib import Path

import pytest
import yaml

from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.schemas import GVK
from worker_agent.api import crds

REFERENCE = Path(__file__).parents[3].parent / "shared" / "reference" / "kueue-crds"


def registry_of(documents):
    registry = SchemaRegistry()
    for document in documents:
        registry.add_crd(document)
    return registry


def workload(**spec):
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    pod_set = {"name": "main", "count": 3, "template": {"spec": {"containers": containers}}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "ns", "resourceVersion": "1"},
        "spec": {"podSets": [pod_set], "queueName": "q", **spec},
    }


WORKLOAD = GVK("kueue.x-k8s.io", "v1beta2", "Workload")


def test_what_another_server_compiled_serves_this_one():
    (first,) = (crd for crd in crds.documents() if crd["spec"]["names"]["kind"] == "Workload")
    second = {**first, "metadata": {**first["metadata"], "uid": "another"}}
    one, other = registry_of([first]), registry_of([second])
    assert one.schema(WORKLOAD) is other.schema(WORKLOAD)
    stricter = yaml.safe_load(yaml.safe_dump(first))
    for version in stricter["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["required"] = ["spec"]
    third = registry_of([stricter])
    lacking = {name: value for name, value in workload().items() if name != "spec"}
    assert one.validate(WORKLOAD, lacking, None, "") == []
    assert "spec" in [error.field for error in third.validate(WORKLOAD, lacking, None, "")]


def test_our_crds_are_taken_up():
    registry = registry_of(crds.documents())
    document = registry.default(WORKLOAD, registry.prune(WORKLOAD, workload())[0])
    assert registry.validate(WORKLOAD, document, None, "") == []


@pytest.fixture(scope="module")
def kueue():
    if not REFERENCE.is_dir():
        pytest.skip(f"Kueue's CRDs are not at {REFERENCE}: nothing to load")
    return registry_of(
        document for path in sorted(REFERENCE.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())
    )


def test_every_schema_and_rule_of_kueue_compiles(kueue):
    assert kueue.schema(WORKLOAD).deep_rules


def test_a_rule_of_kueue_is_kept(kueue):
    document = workload(podSets=[{**workload()["spec"]["podSets"][0], "minCount": 5}])
    (error,) = kueue.validate(WORKLOAD, document, None, "")
    assert str(error) == "spec.podSets[0]: Invalid value: minCount should be positive and less or equal to count"


def test_a_workload_with_quota_stays_in_its_queue(kueue):
    condition = {"type": "QuotaReserved", "status": "True", "reason": "r", "message": ""}
    reserved = {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    old = {**workload(), "status": reserved}
    new = {**workload(queueName="other"), "status": reserved}
    (error,) = kueue.validate(WORKLOAD, new, old, "")
    assert str(error) == "<nil>: Invalid value: queueName is immutable while workload quota reserved"
