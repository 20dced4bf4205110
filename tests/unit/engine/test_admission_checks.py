"""Which AdmissionChecks a Workload has to pass (spec/engine 16.1)."""

from typing import Any

import msgspec
import pytest

from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.engine import admission_checks
from worker_agent.engine.policy import Policy
from worker_agent.engine.state import ClusterState


def cluster_queue(**on_flavors: list[str]) -> ClusterQueue:
    """A queue of the flavors "spot" and "on-demand" with these checks."""
    flavors: list[dict[str, Any]] = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": "4"}]} for name in ("spot", "on-demand")
    ]
    checks = [{"name": name, "onFlavors": flavors} for name, flavors in on_flavors.items()]
    spec = {
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "admissionChecksStrategy": {"admissionChecks": checks},
    }
    return msgspec.convert({"metadata": {"name": "q"}, "spec": spec}, ClusterQueue)


QUEUE = cluster_queue(everywhere=[], spot=["spot"])


@pytest.mark.parametrize(
    ("flavors", "checks"),
    [
        (None, {"everywhere"}),
        ({"on-demand"}, {"everywhere"}),
        ({"spot"}, {"everywhere", "spot"}),
        (set(), {"everywhere"}),
    ],
    ids=["pending", "unguarded flavor", "guarded flavor", "asks for nothing"],
)
def test_checks_follow_the_assigned_flavors(flavors, checks):
    assert admission_checks.required(QUEUE, flavors) == checks


def test_admission_without_flavors_waits_for_the_checks_of_all():
    state = ClusterState(Policy())
    state.put_cluster_queue(QUEUE)
    assert state.cluster_queues["q"].required_checks(()) == {"everywhere"}
