"""The patch leads from the one document to the other, whatever changed, and looks only where something did."""

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from worker_agent.webhooks import object_patch

names = st.sampled_from(["a", "b", "~", "/", "a~1/", ""])
values = st.recursive(
    st.sampled_from([None, True, False, 0, 1, -7, "", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(names, values, max_size=4)


@given(documents, documents)
def test_applied_it_gives_the_other_document(before, after):
    made = jsonpatch.apply_patch(before, object_patch.operations(before, after))
    assert made == after


@given(documents)
def test_no_change_needs_no_operation(document):
    assert object_patch.operations(document, dict(document)) == []


def test_true_is_not_one():
    assert object_patch.operations({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]


def test_what_is_shared_is_not_walked():
    deep = inner = {}
    for _ in range(100_000):
        inner["a"] = inner = {}
    operations = object_patch.operations({"deep": deep, "x": 1}, {"deep": deep, "x": 2})
    assert operations == [{"op": "replace", "path": "/x", "value": 2}]
    while deep:  # or freeing it is what recurses
        deep = deep.pop("a", None)
