"""Kueue's published examples of job kinds, submitted unchanged through kubectl, and how far each has come."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.local_federation import Kubectl
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.jobs import KINDS

FOLDER: Final = Path(__file__).parents[1].parent / "shared/reference/kueue-examples"
needs_examples: Final = pytest.mark.skipif(
    not FOLDER.exists(), reason="Kueue's published examples are not beside this checkout"
)
PATIENCE_SECONDS: Final = 60
BESIDE: Final = ("service/", "configmap/")
"""What an example brings along that is no job."""

ENDING: Final = (
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
)
SERVING: Final = (
    "jobs/ray-cluster-sample.yaml",
    "jobs/ray-service-sample.yaml",
    "serving-workloads/sample-deployment.yaml",
    "serving-workloads/sample-statefulset.yaml",
    "serving-workloads/sample-leaderworkerset.yaml",
    "appwrapper/deployment-sample.yaml",
    "appwrapper/leaderworkerset-sample.yaml",
)
QUOTA: Final = {"cpu": "100", "memory": "400Gi", "nvidia.com/gpu": "16"}
CAPACITY: Final = {"cpu": "64", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": "8"}


def queues(checks: Iterable[str] = ()) -> list[Document]:
    """The queues that the examples name, with room for each of them."""
    kueue = "kueue.x-k8s.io/v1beta2"
    resources = [{"name": name, "nominalQuota": amount} for name, amount in QUOTA.items()]
    groups = [{"coveredResources": list(QUOTA), "flavors": [{"name": "default-flavor", "resources": resources}]}]
    queue: Document = {"namespaceSelector": {}, "resourceGroups": groups}
    if checks:
        queue["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
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
    names = kubectl("create", "-f", str(FOLDER / example), "-n", "default", "-o", "name").split()
    try:
        yield [name for name in names if not name.startswith(BESIDE)]
    finally:
        kubectl("delete", *names, "-n", "default", "--timeout=30s")


def until(kubectl: Kubectl, name: str, holds: Callable[[Document], bool]) -> Document:
    """The object once ``holds`` is true of it; AssertionError with its status after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        document: Document = json.loads(kubectl("get", name, "-n", "default", "-o", "json"))
        if holds(document):
            return document
        if time.monotonic() > deadline:
            raise AssertionError(f"{name}: {json.dumps(document.get('status'))}")
        time.sleep(0.2)


def kind_of(document: Document) -> JobKind:
    return next(kind for kind in KINDS.values() if kind.resource.kind == document["kind"])


def ended_well(document: Document) -> bool:
    if document["kind"] == "Pod":
        return bool((document.get("status") or {}).get("phase") == "Succeeded")
    finish = kind_of(document).finished(document)
    return finish is not None and finish.success


def is_served(document: Document) -> bool:
    status = document.get("status") or {}
    if document["kind"] in ("Deployment", "StatefulSet", "LeaderWorkerSet"):
        return bool(status.get("readyReplicas", 0) >= document["spec"].get("replicas", 1))
    return kind_of(document).pods_ready(document)
