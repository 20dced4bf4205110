"""Kueue's published examples of job kinds that ask for a topology, unchanged: admitted to one domain, and served."""

import json
import time

import pytest
import yaml

from hub.local.spec import FederationSpec
from tests.kueue_examples import (
    ADMITTED_ONLY,
    FOLDER,
    IN_TOPOLOGIES,
    PATIENCE_SECONDS,
    is_served,
    made,
    needs_examples,
    topology_nodes,
    until,
)
from tests.local_federation import Kubectl, cluster, running

pytestmark = [pytest.mark.embedded, needs_examples]
RACK = "cloud.provider.com/topology-rack"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    spec = FederationSpec(job_kinds=True, workers=[cluster("single", *topology_nodes())])
    with running(spec, tmp_path_factory.mktemp("topologies")) as federation:
        found = Kubectl(federation, "single")
        found("apply", "-f", str(FOLDER / "tas/sample-gpu-queues.yaml"))
        metadata = {"name": "user-queue", "namespace": "default"}
        queue = {"metadata": metadata, "spec": {"clusterQueue": "tas-cluster-queue"}}
        queue |= {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
        found("apply", "-f", "-", stdin=yaml.safe_dump(queue))
        found.wait("clusterqueue/tas-cluster-queue", "condition=Active")
        yield found


def domains(kubectl):
    """Per Workload the racks that its pod sets were given."""
    nodes = json.loads(kubectl("get", "nodes", "-o", "json"))["items"]
    rack_of = {node["metadata"]["name"]: node["metadata"]["labels"][RACK] for node in nodes}
    workloads = json.loads(kubectl("get", "workloads", "-n", "default", "-o", "json"))["items"]
    pods = json.loads(kubectl("get", "pods", "-n", "default", "-o", "json"))["items"]
    found = {}
    for workload in workloads:
        name = workload["metadata"]["name"]
        mine = [p for p in pods if p["metadata"]["annotations"].get("kueue.x-k8s.io/workload") == name]
        found[name] = [rack_of[pod["spec"]["nodeName"]] for pod in mine if pod["spec"].get("nodeName")]
    return found


@pytest.mark.parametrize("example", IN_TOPOLOGIES)
def test_example_is_placed_and_gets_ready(kubectl, example):
    with made(kubectl, example) as (name,):
        until(kubectl, name, is_served)
        placed = domains(kubectl)
        assert placed
        assert all(placed.values())
        if "required" in example:
            assert all(len(set(racks)) == 1 for racks in placed.values())


def test_groups_are_admitted_where_their_pods_could_not_be_made(kubectl):
    with made(kubectl, ADMITTED_ONLY):
        for index in (0, 1):
            until_admitted(kubectl, f"nginx-leaderworkerset-{index}")


def until_admitted(kubectl, group):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        names = kubectl("get", "workloads", "-n", "default", "-o", "name").split()
        if found := [name for name in names if f"-{group}-" in name]:
            kubectl.wait(found[0], "condition=Admitted", "-n", "default", seconds=50)
            return
        assert time.monotonic() < deadline, f"{group} has no Workload"
        time.sleep(0.2)
