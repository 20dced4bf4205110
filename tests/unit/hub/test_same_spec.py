"""Whether a copy still says what the manager's Workload says."""

import pytest

from hub.engine.remote_objects import same_spec

SPEC = {"queueName": "lq", "podSets": [{"name": "main", "count": 1}]}
GATES = [{"name": "kueue.x-k8s.io/multikueue"}]


@pytest.mark.parametrize(
    ("copy", "same"),
    [
        (SPEC, True),
        ({**SPEC, "priority": None, "tolerations": []}, True),
        ({**SPEC, "preemptionGates": GATES}, True),
        ({**SPEC, "podSets": [{"name": "main", "count": 2}]}, False),
        ({**SPEC, "active": False}, False),
        (None, False),
    ],
    ids=["word for word", "nothing said otherwise", "gates", "other pods", "more said", "empty"],
)
def test_specs_agree_but_for_gates_and_ways_to_say_nothing(copy, same):
    assert same_spec({"spec": copy}, {"spec": SPEC}) is same
