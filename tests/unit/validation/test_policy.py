import json
from pathlib import Path

import pytest

from worker_agent.validation import ValidationPolicy, policy

DEFAULTS = Path(__file__).parents[3].parent / "shared" / "conformance" / "feature-gate-defaults.json"


def test_defaults_are_those_of_the_gates():
    if not DEFAULTS.is_file():
        pytest.skip(f"the recorded gate defaults are not here: {DEFAULTS}")
    gates = {name: gate["default"] for name, gate in json.loads(DEFAULTS.read_text())["gates"].items()}
    assert set(policy._GATES.values()) <= gates.keys()
    assert ValidationPolicy.from_gates(gates) == ValidationPolicy()


def test_a_gate_sets_its_rule():
    assert ValidationPolicy.from_gates({"PriorityBoost": True, "Unknown": True}).priority_boost
