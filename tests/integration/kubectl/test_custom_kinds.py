import json
from collections.abc import Iterator

import pytest

from tests.integration.kubectl.conftest import Kubectl
from tests.integration.kubectl.manifests import CRD, GADGET

GADGETS = "/apis/example.com/v1/gadgets"


@pytest.fixture
def gadgets(kubectl: Kubectl) -> Iterator[Kubectl]:
    kubectl("apply", "-f", "-", stdin=CRD)
    kubectl("wait", "--for=condition=Established", "crd/gadgets.example.com", "--timeout=90s")
    yield kubectl
    kubectl("delete", "crd", "gadgets.example.com", "--timeout=90s")


def test_defaults_columns_and_short_names(gadgets: Kubectl) -> None:
    assert gadgets("apply", "-f", "-", stdin=GADGET) == "gadget.example.com/g created\n"
    lines = [line.split() for line in gadgets("get", "gd").splitlines()]
    assert lines == [["NAME", "SIZE"], ["g", "3"]]


def test_client_side_apply_changes_it(gadgets: Kubectl) -> None:
    gadgets("apply", "-f", "-", stdin=GADGET)
    changed = GADGET.replace("spec: {}", "spec: {size: 7}")
    assert gadgets("apply", "-f", "-", stdin=changed) == "gadget.example.com/g configured\n"
    gadgets("apply", "-f", "-", stdin=GADGET)
    assert gadgets("get", "gadget", "g", "-o", "jsonpath={.spec.size}") == "3"


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("{size: 0}", "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ("{size: 100}", "spec: Invalid value: too big"),
        ("{colour: red}", 'strict decoding error: unknown field "spec.colour"'),
    ],
)
def test_what_is_refused(gadgets: Kubectl, spec: str, complaint: str) -> None:
    assert complaint in gadgets.fails("create", "-f", "-", stdin=GADGET.replace("spec: {}", f"spec: {spec}"))


def test_explain(gadgets: Kubectl) -> None:
    assert "How big it is." in gadgets("explain", "gadget.spec.size")


def test_describe_and_status(gadgets: Kubectl) -> None:
    gadgets("apply", "-f", "-", stdin=GADGET)
    body = json.dumps({"status": {"phase": "Ready"}})
    gadgets("patch", "gadget", "g", "--subresource=status", "--type=merge", "-p", body)
    described = gadgets("describe", "gadget", "g")
    assert "Phase:  Ready" in described
    assert gadgets("get", "gadget", "g", "-o", "jsonpath={.metadata.generation}") == "1"


def test_kind_is_gone_with_its_definition(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=CRD)
    kubectl("apply", "-f", "-", stdin=GADGET)
    kubectl("delete", "crd", "gadgets.example.com", "--timeout=90s")
    assert "gadgets" not in kubectl("api-resources", "--cached=false")
    assert "the server could not find the requested resource" in kubectl.fails("get", "--raw", GADGETS)
