"""Whatever a user writes is taken or refused with words: nothing on the way raises, and nothing is changed."""

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.validation.front_door import refusals
from tests.unit.validation.manifests import CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR, WORKLOAD, changed, reserved

VALID = [CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR, WORKLOAD, reserved()]
VALID.append(
    changed(
        CLUSTER_QUEUE,
        spec__admissionChecksStrategy={"admissionChecks": [{"name": "c", "onFlavors": ["default"]}]},
        spec__namespaceSelector={"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]},
        spec__fairSharing={"weight": "2"},
    )
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "0", "-1", "1e3", "1Gi", "a", "A b", "default", "True", "Never", "2026-01-01T00:00:00Z"]),
    st.text(max_size=8),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=2)),
    max_leaves=4,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [path, *(place for key, child in inside for place in places(child, (*path, key)))]


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    document = deepcopy(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 3))):
        below = [place for place in places(document) if place and place[0] in ("spec", "status")]
        *parents, last = draw(st.sampled_from(below))
        holder: Any = document
        for parent in parents:
            holder = holder[parent]
        holder[last] = draw(values)
    return document


@settings(max_examples=300, deadline=None)
@given(broken())
def test_any_creation_or_update_is_answered(document: dict[str, Any]) -> None:
    before = deepcopy(document)
    valid = next(valid for valid in VALID if valid["kind"] == document["kind"])
    told = refusals(document)
    assert all(told)
    assert all(refusals(document, valid))
    # A status is written over the spec that is stored.
    assert all(refusals({**document, "spec": valid["spec"]}, valid, subresource="status"))
    if not told:
        assert all(refusals(valid, document))
    assert document == before
