"""Kueue's published topology examples, applied unchanged: pods land in the domains that the jobs ask for."""

import json
import time
from collections import Counter

import pytest

from tests.kueue_examples import FOLDER, needs_examples
from tests.local_federation import Kubectl

EXAMPLES = FOLDER / "tas"
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
HOST = "kubernetes.io/hostname"
PATIENCE_SECONDS = 120

pytestmark = needs_examples


@pytest.fixture(scope="module")
def queues(kubectl):
    kubectl("apply", "-f", str(EXAMPLES / "sample-queues.yaml"))
    kubectl.wait("clusterqueue/tas-cluster-queue", "condition=Active")
    kubectl.wait("localqueue/tas-user-queue", "condition=Active", "-n", "default")


def labels_of_nodes(kubectl: Kubectl) -> dict[str, dict[str, str]]:
    found = json.loads(kubectl("get", "nodes", "-o", "json"))["items"]
    return {node["metadata"]["name"]: node["metadata"]["labels"] for node in found}


def bound_pods(kubectl: Kubectl, job: str, count: int) -> list[dict[str, str]]:
    """The labels of the node of each pod, once all have one."""
    labels = labels_of_nodes(kubectl)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        pods = json.loads(kubectl("get", "pods", "-n", "default", "-l", f"job-name={job}", "-o", "json"))["items"]
        named = [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]
        if len(named) == count:
            return [labels[name] for name in named]
        time.sleep(0.5)
    raise AssertionError(f"{len(named)} of {count} pods of {job} have a node")


def create(kubectl: Kubectl, name: str) -> str:
    created = kubectl("create", "-f", str(EXAMPLES / name), "-n", "default", "-o", "name").strip()
    return created.rpartition("/")[2]


@pytest.mark.parametrize(
    ("example", "pods", "level"),
    [("sample-job-required.yaml", 10, RACK), ("sample-job-preferred.yaml", 40, BLOCK)],
)
def test_pods_land_in_one_domain(kubectl, queues, example, pods, level):
    job = create(kubectl, example)
    try:
        where = bound_pods(kubectl, job, pods)
        above = [BLOCK] if level == RACK else []
        assert len({tuple(labels[key] for key in [*above, level]) for labels in where}) == 1
    finally:
        kubectl("delete", "job", job, "-n", "default")


def test_unconstrained_pods_go_where_there_is_room(kubectl, queues):
    job = create(kubectl, "sample-job-unconstrained.yaml")
    try:
        where = Counter(labels[HOST] for labels in bound_pods(kubectl, job, 6))
        assert sum(where.values()) == 6
    finally:
        kubectl("delete", "job", job, "-n", "default")


def test_queues_with_devices(kubectl, queues):
    applied = kubectl("apply", "-f", str(EXAMPLES / "sample-gpu-queues.yaml"))
    assert "clusterqueue.kueue.x-k8s.io/tas-cluster-queue configured" in applied
    kubectl.wait("clusterqueue/tas-cluster-queue", "condition=Active")
    shown = kubectl("get", "clusterqueue", "tas-cluster-queue", "-o", "yaml")
    assert "nvidia.com/gpu" in shown
