"""Settings resolved into policies."""

from datetime import timedelta

import pytest

from worker_agent.app import configuration
from worker_agent.app.configuration import ConfigurationError
from worker_agent.engine.feature_gates import FeatureGateError
from worker_agent.settings import AgentSettings


def resolve(**settings):
    return configuration.resolve(AgentSettings(**settings))


def test_defaults_are_those_of_kueue():
    made = resolve()
    assert made.rules.pods_ready is not None
    assert made.rules.pods_ready.timeout == 1800
    assert made.rules.pods_ready.recovery_timeout == 1800
    assert made.rules.retention_after_finished is None
    assert made.jobs.frameworks == {"batch/job"}
    assert not made.policy.fair_sharing


def test_pods_ready_follows_stanza_and_gate():
    off = resolve(feature_gates={"DisableWaitForPodsReady": True})
    assert off.rules.pods_ready is None
    assert not off.jobs.wait_for_pods_ready
    unchecked = resolve(wait_for_pods_ready={"timeout": "5m", "recovery_timeout": "0s"})
    assert (unchecked.rules.pods_ready.timeout, unchecked.rules.pods_ready.recovery_timeout) == (300, None)


@pytest.mark.parametrize(("namespace", "managed"), [("team-a", True), ("kube-system", False), ("kueue-system", False)])
def test_system_namespaces_are_left_alone(namespace, managed):
    labels = {"kubernetes.io/metadata.name": namespace}
    assert resolve().jobs.namespaces.matches(labels) is managed


def test_selector_that_takes_a_system_namespace_is_refused():
    with pytest.raises(ConfigurationError, match='should not match the "kube-system" namespace'):
        resolve(managed_jobs_namespace_selector={})


def test_selector_that_cannot_be_read_is_refused():
    broken = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
    with pytest.raises(ConfigurationError, match='"Near" is not a valid label selector operator'):
        resolve(managed_jobs_namespace_selector=broken)


def test_unknown_gate_is_refused():
    with pytest.raises(FeatureGateError, match="Levitation"):
        resolve(feature_gates={"Levitation": True})


def test_engine_policy_takes_fair_sharing_and_resources():
    made = resolve(
        fair_sharing={"preemption_strategies": ["LessThanInitialShare"]},
        resources={"exclude_resource_prefixes": ["example.com/"]},
    )
    assert made.policy.fair_sharing
    assert made.policy.preemption_strategies == ("LessThanInitialShare",)
    assert made.policy.exclude_resource_prefixes == ("example.com/",)


def test_retention_is_in_seconds():
    kept = resolve(object_retention_policies={"workloads": {"after_finished": "90s"}})
    assert kept.rules.retention_after_finished == 90


def test_profiles_are_refused_by_name():
    with pytest.raises(ConfigurationError, match="pprofBindAddress: ':8083': profiles of Go are not served"):
        resolve(pprof_bind_address=":8083")


@pytest.mark.parametrize(
    ("rules", "seconds"),
    [
        ({}, 300),
        ({"timeout": "10m", "recovery_timeout": "10m"}, 300),
        ({"timeout": "9m"}, 0),
        ({"block_admission": True}, 0),
        ({"timeout": "10m", "recovery_timeout": "1m"}, 0),
        ({"timeout": "10m", "recovery_timeout": "0s"}, 0),
    ],
)
def test_copies_keep_back_that_their_pods_are_ready_where_nothing_hangs_on_it(rules, seconds):
    assert resolve(wait_for_pods_ready=rules).jobs.copies_keep_ready_back == timedelta(seconds=seconds)
