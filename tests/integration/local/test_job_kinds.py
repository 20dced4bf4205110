"""Kueue's published examples of every job kind, unchanged, on a local cluster where their operators are played."""

import pytest
import yaml

from hub.local.spec import FederationSpec, NodeGroup
from tests.kueue_examples import CAPACITY, ENDING, SERVING, ended_well, is_served, made, needs_examples, queues, until
from tests.local_federation import Kubectl, cluster, running

pytestmark = [
    pytest.mark.embedded,
    needs_examples,
]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    nodes = NodeGroup(name="node", count=2, capacity=CAPACITY)
    spec = FederationSpec(job_kinds=True, workers=[cluster("single", nodes)])
    folder = tmp_path_factory.mktemp("kinds")
    with running(spec, folder) as federation:
        found = Kubectl(federation, "single")
        found("apply", "-f", "-", stdin=yaml.safe_dump_all(queues()))
        found.wait("clusterqueue/cluster-queue", "condition=Active")
        yield found


@pytest.mark.parametrize("example", ENDING)
def test_example_is_queued_runs_and_ends(kubectl, example):
    with made(kubectl, example) as names:
        for name in names:
            until(kubectl, name, ended_well)


@pytest.mark.parametrize("example", SERVING)
def test_example_is_queued_and_serves(kubectl, example):
    with made(kubectl, example) as names:
        for name in names:
            until(kubectl, name, is_served)
