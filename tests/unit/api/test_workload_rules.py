"""The rules of Workloads keep what Kueue's rules keep, whatever was and is there."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.api import test_crd_fields as definitions
from worker_agent.api import cel_engine

cel = cel_engine.engine()
REFERENCES = [
    {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "a"},
    {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "a"},
    {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "b"},
]
SOURCES = ["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""]
conditions = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["QuotaReserved", "Admitted", "Finished"]),
            "status": st.sampled_from(["True", "False"]),
        }
    ),
    max_size=3,
)


@st.composite
def workloads(draw: st.DrawFn) -> dict[str, Any]:
    spec: dict[str, Any] = {"podSets": [{"name": str(number)} for number in range(draw(st.integers(1, 2)))]}
    optional = {
        "queueName": st.sampled_from(["q", "r", ""]),
        "maximumExecutionTimeSeconds": st.sampled_from([1, 2]),
        "priorityClassRef": st.sampled_from(REFERENCES),
        "priorityClassSource": st.sampled_from(SOURCES),
        "priorityClassName": st.sampled_from(["a", "b"]),
    }
    spec |= {name: draw(values) for name, values in optional.items() if draw(st.booleans())}
    found: dict[str, Any] = {"spec": spec}
    if draw(st.integers(0, 5)):
        status: dict[str, Any] = {}
        if draw(st.integers(0, 5)):
            status["conditions"] = draw(conditions)
        if draw(st.booleans()):
            status["admission"] = {"podSetAssignments": [{"name": "0"}] * draw(st.integers(1, 2))}
        found["status"] = status
    return found


def rules(kinds: dict[str, Any], version: str) -> dict[str, Any]:
    schema = definitions.version(kinds["Workload"], version)["schema"]["openAPIV3Schema"]
    return {rule["message"]: rule["rule"] for rule in schema["x-kubernetes-validations"]}


@pytest.fixture(scope="module")
def both() -> dict[str, list[tuple[str, Any, Any]]]:
    """By version: message, Kueue's rule and ours."""
    theirs, mine = definitions.reference(), definitions.ours()
    return {
        version: [
            (message, cel.compile(rule), cel.compile(rules(mine, version)[message]))
            for message, rule in rules(theirs, version).items()
        ]
        for version in ("v1beta1", "v1beta2")
    }


@settings(max_examples=500, deadline=None)
@given(old=workloads(), new=workloads())
def test_rules_say_what_theirs_say(both: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> None:
    for pairs in both.values():
        for message, theirs, mine in pairs:
            about = {"self": new, "oldSelf": old}
            assert mine.execute(about) is theirs.execute(about), message


def test_transition_rules_stay_so(both: dict[str, Any]) -> None:
    theirs, mine = definitions.reference(), definitions.ours()
    for version in both:
        ours = rules(mine, version)
        assert {message: "oldSelf" in rule for message, rule in rules(theirs, version).items()} == {
            message: "oldSelf" in rule for message, rule in ours.items()
        }
