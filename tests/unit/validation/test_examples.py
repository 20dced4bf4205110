"""Every published example of our kinds is taken as it stands: no unknown field, no refusal but the one named here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.validation.front_door import refusals, unknown_fields
from worker_agent.api import crds

EXAMPLES = Path(__file__).parents[3].parent / "shared" / "reference" / "kueue-examples"
KINDS = {(crd["spec"]["group"], crd["spec"]["names"]["kind"]) for crd in crds.documents()}

REFUSED = {
    "admin/minimal-cq.yaml-0-ClusterQueue": [
        'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "default-flavor"'
    ]
}
"""A fragment without quotas, taken by the schema; the reference webhook refuses its like (conformance/webhooks)."""


def examples() -> Iterator[Any]:
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        for index, document in enumerate(yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)):
            if (
                isinstance(document, dict)
                and (str(document.get("apiVersion")).split("/")[0], document["kind"]) in KINDS
            ):
                yield pytest.param(document, id=f"{path.relative_to(EXAMPLES)}-{index}-{document['kind']}")


def test_the_examples_are_here() -> None:
    if not EXAMPLES.is_dir():
        pytest.skip(f"the reference examples are not here: {EXAMPLES}")
    assert len(list(examples())) >= 60


@pytest.mark.parametrize("document", list(examples()))
def test_example_is_accepted(document: dict[str, Any], request: pytest.FixtureRequest) -> None:
    assert unknown_fields(document) == []
    assert refusals(document) == REFUSED.get(request.node.callspec.id, [])
