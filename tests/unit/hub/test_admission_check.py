"""What an AdmissionCheck says of its configuration and clusters (spec/multikueue section 4)."""

import pytest

from hub.engine import admission_check
from worker_agent.api.admission_check import AdmissionCheck, AdmissionCheckParameters, AdmissionCheckSpec
from worker_agent.api.meta import Condition
from worker_agent.api.multikueue import MultiKueueConfig, MultiKueueConfigSpec

UP = Condition(type="Active", status="True")
DOWN = Condition(type="Active", status="False")


def check(**parameters):
    found = AdmissionCheckParameters(**parameters) if parameters else None
    return AdmissionCheck(spec=AdmissionCheckSpec(parameters=found))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "missing parameters reference"),
        ({"api_group": "kueue.x-k8s.io", "kind": "MultiKueueConfig"}, "empty name: bad parameters reference"),
        (
            {"api_group": "x", "kind": "y", "name": "c"},
            'wrong group "x", expecting "kueue.x-k8s.io": bad parameters reference',
        ),
        (
            {"api_group": "kueue.x-k8s.io", "kind": "y", "name": "c"},
            'wrong kind "y", expecting "MultiKueueConfig": bad parameters reference',
        ),
        (
            {"api_group": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "c"},
            'multikueueconfigs.kueue.x-k8s.io "c" not found',
        ),
    ],
)
def test_a_reference_that_leads_nowhere_says_why(parameters, message):
    with pytest.raises(admission_check.BadReference) as refused:
        admission_check.resolve(check(**parameters), {})
    stand = admission_check.bad_config(refused.value)
    assert (stand.status, stand.reason) == ("False", "BadConfig")
    assert stand.message == f"Cannot load the AdmissionChecks parameters: {message}"


@pytest.mark.parametrize(
    ("active", "expected"),
    [
        ({"a": UP, "b": UP, "c": UP}, ("True", "Active", "The admission check is active")),
        ({"a": UP, "c": DOWN}, ("True", "SomeActiveClusters", "Missing clusters: [b], Inactive clusters: [c]")),
        ({"b": None}, ("False", "NoUsableClusters", "Missing clusters: [a c], Inactive clusters: [b]")),
    ],
)
def test_the_clusters_are_summed_up(active, expected):
    config = MultiKueueConfig(spec=MultiKueueConfigSpec(clusters=["a", "b", "c"]))
    stand = admission_check.judge(config, active)
    assert (stand.status, stand.reason, stand.message) == expected
