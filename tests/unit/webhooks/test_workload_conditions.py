"""When the API server asks about a Workload: whenever the rules have something to say, and not otherwise."""

from typing import Any

import pytest

from worker_agent.api import cel_engine
from worker_agent.api.document import put
from worker_agent.webhooks import workload_conditions

cel = cel_engine.engine()
RESERVED = {"type": "QuotaReserved", "status": "True"}
WORKLOAD: dict[str, Any] = {
    "metadata": {"name": "w", "annotations": {"a": "1"}},
    "spec": {"podSets": [{"name": "main", "count": 2}]},
    "status": {
        "conditions": [RESERVED],
        "admission": {"clusterQueue": "q"},
        "nominatedClusterNames": ["w1"],
        "admissionChecks": [{"name": "c", "state": "Pending"}],
    },
}


def asked(new: Any, old: Any, subresource: str = "") -> bool:
    request = {"operation": "UPDATE"} | ({"subResource": subresource} if subresource else {})
    program = cel.compile(workload_conditions.CHANGES_WHAT_RULES_SAY)
    return bool(program.execute({"object": new, "oldObject": old, "request": request}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("conditions",), []),
        (("admission",), None),
        (("admission", "clusterQueue"), "other"),
        (("clusterName",), "w1"),
        (("reclaimablePods",), [{"name": "main", "count": 1}]),
        (("admissionChecks",), [{"name": "c", "state": "Ready"}]),
    ],
)
def test_status_writes_that_have_rules_are_asked_about(path, value):
    assert asked(put(WORKLOAD, ("status", *path), value), WORKLOAD, "status")


def test_conditions_alone_are_not_asked_about():
    ready = [RESERVED, {"type": "PodsReady", "status": "True"}]
    assert not asked(put(WORKLOAD, ("status", "conditions"), ready), WORKLOAD, "status")


def test_the_first_and_the_last_of_a_status_are_asked_about():
    bare = {name: value for name, value in WORKLOAD.items() if name != "status"}
    assert asked(WORKLOAD, bare, "status")
    assert asked(bare, WORKLOAD, "status")


def test_owners_and_finalizers_are_not_asked_about():
    owned = put(WORKLOAD, ("metadata", "ownerReferences"), [{"name": "job"}])
    assert not asked(put(owned, ("metadata", "finalizers"), ["f"]), WORKLOAD)


@pytest.mark.parametrize("path", [("spec", "podSets"), ("spec", "active"), ("metadata", "annotations", "a")])
def test_other_spec_or_annotations_are_asked_about(path):
    assert asked(put(WORKLOAD, path, "x"), WORKLOAD)


def test_creations_are_asked_about():
    assert asked(WORKLOAD, None)


@pytest.mark.parametrize(("pod_set", "expected"), [({"count": 2}, False), ({"count": 2, "minCount": 1}, True)])
def test_only_least_counts_are_defaulted(pod_set, expected):
    program = cel.compile(workload_conditions.NAMES_LEAST_COUNTS)
    assert program.execute({"object": {"spec": {"podSets": [pod_set]}}}) is expected
