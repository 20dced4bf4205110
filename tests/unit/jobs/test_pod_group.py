"""How long the pods of a group hold quota (spec/jobs 9.10): one that hangs while it ends does not keep it for ever."""

import math

import pytest

from worker_agent.api import timestamps
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs.pod_group import PodGroup, compose

NOW = timestamps.parse("2026-01-01T12:00:00Z")
FAST = JobPolicy(fast_quota_release=True)


def pod(name="p", phase="Running", deleted="", grace=None):
    metadata = {"name": name, "namespace": "ns", "uid": name, "labels": {}, "annotations": {}}
    metadata |= {"deletionTimestamp": deleted} if deleted else {}
    metadata |= {"deletionGracePeriodSeconds": grace} if grace is not None else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}, "status": {"phase": phase}}


def held(*pods, policy=JobPolicy()):  # noqa: B008 - frozen
    return PodGroup().active_seconds(compose(list(pods)), policy, NOW)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_only_running_pods_hold_quota(phase):
    assert held(pod(phase=phase)) == 0


def test_running_pod_holds_it_until_it_says_otherwise():
    assert held(pod()) == math.inf


def test_hanging_pod_holds_it_for_its_grace_period():
    assert held(pod(deleted="2026-01-01T11:59:50Z", grace=30)) == 20


def test_pod_that_hangs_longer_holds_nothing():
    assert held(pod(deleted="2026-01-01T11:00:00Z", grace=30)) == 0


def test_one_that_hangs_does_not_speak_for_one_that_runs():
    assert held(pod("a", deleted="2026-01-01T11:00:00Z", grace=30), pod("b")) == math.inf


def test_fast_release_asks_for_no_grace():
    assert held(pod(deleted="2026-01-01T11:59:59Z", grace=30), policy=FAST) == 0
    assert held(pod(), policy=FAST) == math.inf
