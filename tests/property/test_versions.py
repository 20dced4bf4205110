"""An object that is converted to the other version and back is what it was, whatever its fields say."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.schema_objects import WORDS, of_schema
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.versions.convert import convert
from worker_agent.api.versions.kinds import CONVERTED, OLD_VERSIONS

VERSIONS = ("v1beta1", "v1beta2")
SCHEMAS = {
    (crd["spec"]["names"]["kind"], version["name"]): version["schema"]["openAPIV3Schema"]
    for crd in crds.documents()
    for version in crd["spec"]["versions"]
}


@st.composite
def assignments(draw: st.DrawFn) -> tuple[list[str], list[list[tuple[list[str], int]]]]:
    """Levels, and domains in slices: values per level and pods."""
    levels = draw(st.sampled_from([["kubernetes.io/hostname"], ["block", "kubernetes.io/hostname"]]))
    domain = st.tuples(st.lists(WORDS, min_size=len(levels), max_size=len(levels)), st.integers(1, 3))
    return levels, draw(st.lists(st.lists(domain, min_size=1, max_size=3), max_size=3))


def by_domain(drawn: tuple[list[str], list[list[tuple[list[str], int]]]]) -> Document:
    levels, slices = drawn
    domains = [{"values": values, "count": pods} for part in slices for values, pods in part]
    return {"levels": levels, "domains": domains}


def by_slice(drawn: tuple[list[str], list[list[tuple[list[str], int]]]]) -> Document:
    """Not as short as it could be: nothing is shared by the domains of a slice."""
    levels, slices = drawn
    return {
        "levels": levels,
        "slices": [
            {
                "domainCount": len(part),
                "podCounts": {"individual": [pods for _, pods in part]},
                "valuesPerLevel": [
                    {"individual": {"roots": [values[level] for values, _ in part]}} for level in range(len(levels))
                ],
            }
            for part in slices
        ],
    }


ASSIGNMENTS = {"v1beta1": assignments().map(by_domain), "v1beta2": assignments().map(by_slice)}


def objects(kind: str, version: str) -> st.SearchStrategy[Document]:
    head = {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind}
    metadata = st.fixed_dictionaries(
        {"name": WORDS}, optional={"annotations": st.dictionaries(WORDS, WORDS, min_size=1, max_size=2)}
    )
    instead: dict[str, Any] = {
        "spec.podSets[].template": st.just({"spec": {"containers": [{"name": "c"}]}}),
        "status.admission.podSetAssignments[].topologyAssignment": ASSIGNMENTS[version],
    }
    fields = of_schema(SCHEMAS[kind, version], instead)
    return st.builds(lambda said, meta: {**said, **head, "metadata": meta}, fields, metadata)


def remembered(document: Document) -> Document:
    """The object without what nobody writes any more."""
    rewrites = OLD_VERSIONS[document["kind"]].rewrites
    return rewrites.forget(document) if rewrites and document["apiVersion"].endswith(VERSIONS[0]) else document


@pytest.mark.parametrize("kind", CONVERTED)
@pytest.mark.parametrize("version", VERSIONS)
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=25)
@given(data=st.data())
def test_there_and_back_is_the_same(kind: str, version: str, data: st.DataObject) -> None:
    document = data.draw(objects(kind, version))
    other = convert(document, f"kueue.x-k8s.io/{VERSIONS[1 - VERSIONS.index(version)]}")
    back = convert(other, document["apiVersion"])
    assert back == remembered(document)
    assert convert(back, other["apiVersion"]) == other
