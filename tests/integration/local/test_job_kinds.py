"""Kueue's published examples of every job kind, unchanged, on a local cluster where their operators are played."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from hub.local.spec import FederationSpec, NodeGroup
from tests.local_federation import Kubectl, cluster, running
from worker_agent.api.document import Document
from worker_agent.jobs import KINDS

EXAMPLES = Path(__file__).parents[3].parent / "shared/reference/kueue-examples"
PATIENCE_SECONDS = 60
BESIDE = ("service/", "configmap/")
"""What an example brings along that is no job."""

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="Kueue's published examples are not beside this checkout")

ENDING = [
    "jobs/sample-job.yaml",
    "jobs/sample-job-partial-admission.yaml",
    "jobs/sample-jobset.yaml",
    "jobs/sample-mpijob.yaml",
    "jobs/sample-pytorchjob.yaml",
    "jobs/sample-tfjob.yaml",
    "jobs/sample-xgboostjob.yaml",
    "jobs/sample-paddlejob.yaml",
    "jobs/sample-jaxjob.yaml",
    "jobs/ray-job-sample.yaml",
    "jobs/sample-sparkapplication.yaml",
    "pods-kueue/kueue-pod.yaml",
    "pods-kueue/kueue-pod-group.yaml",
    "appwrapper/pytorch-sample.yaml",
]
SERVING = [
    "jobs/ray-cluster-sample.yaml",
    "jobs/ray-service-sample.yaml",
    "serving-workloads/sample-deployment.yaml",
    "serving-workloads/sample-statefulset.yaml",
    "serving-workloads/sample-leaderworkerset.yaml",
    "appwrapper/deployment-sample.yaml",
    "appwrapper/leaderworkerset-sample.yaml",
]
QUOTA = {"cpu": "100", "memory": "400Gi", "nvidia.com/gpu": "16"}


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    capacity = {"cpu": "64", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": "8"}
    nodes = NodeGroup(name="node", count=2, capacity=capacity)
    spec = FederationSpec(job_kinds=True, workers=[cluster("single", nodes)])
    folder = tmp_path_factory.mktemp("kinds")
    with running(spec, folder) as federation:
        made = Kubectl(federation, "single")
        path = folder / "queues.yaml"
        path.write_text(yaml.safe_dump_all(queues()))
        made("apply", "-f", str(path))
        made.wait("clusterqueue/cluster-queue", "condition=Active")
        yield made


def queues() -> list[Document]:
    kueue = "kueue.x-k8s.io/v1beta2"
    resources = [{"name": name, "nominalQuota": amount} for name, amount in QUOTA.items()]
    groups = [{"coveredResources": list(QUOTA), "flavors": [{"name": "default-flavor", "resources": resources}]}]
    queue = {"namespaceSelector": {}, "resourceGroups": groups}
    return [
        {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "default-flavor"}},
        {"apiVersion": kueue, "kind": "ClusterQueue", "metadata": {"name": "cluster-queue"}, "spec": queue},
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": "user-queue", "namespace": "default"},
            "spec": {"clusterQueue": "cluster-queue"},
        },
    ]


@contextmanager
def made(kubectl: Kubectl, example: str) -> Iterator[list[str]]:
    """The jobs of the example as ``kind.group/name``; all its objects are gone afterwards."""
    names = kubectl("create", "-f", str(EXAMPLES / example), "-n", "default", "-o", "name").split()
    try:
        yield [name for name in names if not name.startswith(BESIDE)]
    finally:
        kubectl("delete", *names, "-n", "default", "--timeout=30s")


def looked_at(kubectl: Kubectl, name: str) -> Document:
    found: Document = json.loads(kubectl("get", name, "-n", "default", "-o", "json"))
    return found


def until(kubectl: Kubectl, name: str, holds) -> Document:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        document = looked_at(kubectl, name)
        if holds(document):
            return document
        if time.monotonic() > deadline:
            raise AssertionError(f"{name}: {json.dumps(document.get('status'))}")
        time.sleep(0.2)


def kind_of(document: Document):
    return next(kind for kind in KINDS.values() if kind.resource.kind == document["kind"])


def ended_well(document: Document) -> bool:
    if document["kind"] == "Pod":
        return bool(document.get("status", {}).get("phase") == "Succeeded")
    finish = kind_of(document).finished(document)
    return finish is not None and finish.success


def is_served(document: Document) -> bool:
    status = document.get("status") or {}
    if document["kind"] in ("Deployment", "StatefulSet", "LeaderWorkerSet"):
        return bool(status.get("readyReplicas", 0) >= document["spec"].get("replicas", 1))
    return kind_of(document).pods_ready(document)


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
