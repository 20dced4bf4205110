"""Switches resolved to a policy (spec/engine 1)."""

import json
from pathlib import Path

import pytest

from worker_agent.engine import feature_gates, policy

SHARED = Path(__file__).parents[3].parent / "shared"


def test_gates_and_dependencies_are_those_of_the_reference() -> None:
    recorded = SHARED / "conformance" / "feature-gate-defaults.json"
    if not recorded.exists():
        pytest.skip(f"{recorded.name} is not there: the recorded data is not part of the project")
    expected = json.loads(recorded.read_text())
    assert dict(feature_gates.DEFAULTS) == {name: gate["default"] for name, gate in expected["gates"].items()}
    assert {name: list(parents) for name, parents in feature_gates.DEPENDENCIES.items()} == expected["dependencies"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"NoSuchGate": True}, "unrecognized feature gate: NoSuchGate; known are .*TopologyAwareScheduling"),
        ({"MultiKueu": True}, "unrecognized feature gate: MultiKueu; did you mean MultiKueue?"),
        ({"TLSOptions": False}, "cannot set feature gate TLSOptions to false, feature is locked to true"),
        (
            {"FlavorFungibility": False, "FlavorFungibilityPreserveScanProgress": True},
            "feature gate FlavorFungibilityPreserveScanProgress requires FlavorFungibility to be enabled as well",
        ),
    ],
)
def test_impossible_overrides_name_the_gate_and_the_remedy(overrides: dict[str, bool], message: str) -> None:
    with pytest.raises(feature_gates.FeatureGateError, match=message):
        feature_gates.resolve(overrides)


def test_a_dependent_that_nobody_asked_for_goes_off_with_its_parent() -> None:
    assert not feature_gates.resolve({"FlavorFungibility": False})["FlavorFungibilityPreserveScanProgress"]


def test_no_overrides_and_no_configuration_give_the_default() -> None:
    assert policy.resolve({}, {}) == policy.DEFAULT


def test_configuration_turns_features_on() -> None:
    found = policy.resolve(
        {},
        {
            "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
            "waitForPodsReady": {"blockAdmission": True, "requeuingStrategy": {"timestamp": "Creation"}},
            "resources": {"quotaCheckStrategy": "IgnoreUndeclared", "transformations": [{"input": "gpu"}]},
        },
    )
    assert (found.fair_sharing, found.preemption_strategies) == (True, ("LessThanInitialShare",))
    assert (found.block_admission, found.eviction_timestamp, found.ignore_undeclared) == (True, False, True)
    assert "gpu" in found.transformations


def test_the_escape_hatch_switches_waiting_for_pods_off() -> None:
    found = policy.resolve({"DisableWaitForPodsReady": True}, {"waitForPodsReady": {"blockAdmission": True}})
    assert not found.block_admission
