import pytest

from tests.conformance import comparison


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": None, "b": {}, "c": []}, {}),
        ({"resources": {"requests": {}}}, {}),
        ({"cpu": "1000m"}, {"cpu": "1"}),
        ({"cpu": "-1"}, {"cpu": -1}),
        ({"at": "2026-01-01T01:00:00+01:00"}, {"at": "2026-01-01T00:00:00Z"}),
        ({"conditions": [{"type": "A"}, {"type": "B"}]}, {"conditions": [{"type": "B"}, {"type": "A"}]}),
        ({"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "2"}}),
    ],
)
def test_equal(expected: object, actual: object) -> None:
    assert comparison.differences(expected, actual) == []


@pytest.mark.parametrize(
    ("expected", "actual", "line"),
    [
        ({"a": 1}, {"a": 2}, "a: expected 1, got 2"),
        ({"a": True}, {"a": 1}, "a: expected true, got 1"),
        ({"a": {"b": "x"}}, {}, 'a.b: expected "x", got null'),
        ({"l": [1, 2]}, {"l": [2, 1]}, "l[0]: expected 1, got 2"),
        ({"conditions": [{"type": "A", "status": "True"}]}, {}, 'conditions[A].status: expected "True", got null'),
    ],
)
def test_different(expected: object, actual: object, line: str) -> None:
    assert line in comparison.differences(expected, actual)


def test_ignored_fields_by_name_and_by_parent() -> None:
    expected, actual = (
        {"metadata": {"uid": "a"}, "spec": {"uid": "a"}},
        {"metadata": {"uid": "b"}, "spec": {"uid": "b"}},
    )
    assert comparison.differences(expected, actual, ignore=["uid"]) == []
    assert comparison.differences(expected, actual, ignore=["metadata.uid"]) == ['spec.uid: expected "a", got "b"']


def test_keyed_lists_and_zeros() -> None:
    assert comparison.differences({"names": ["a", "b"]}, {"names": ["b", "a"]}, keyed={"names": ""}) == []
    assert comparison.differences({"count": 0, "on": False}, {}, zeros_absent=True) == []
    assert comparison.differences({"count": 0}, {}) == ["count: expected 0, got null"]


def test_multiset_counts_repetitions() -> None:
    assert comparison.multiset([{"r": 1}, {"r": 1}], [{"r": 1}], "event") == ['missing event: {"r":1}']
