"""Kueue's published examples of job kinds, submitted unchanged through kubectl, and how far each has come."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml

from hub.local.spec import NodeGroup
from tests.local_federation import Kubectl
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.jobs import KINDS

FOLDER: Final = Path(__file__).parents[1].parent / "shared/reference/kueue-examples"
needs_examples: Final = pytest.mark.skipif(
    not FOLDER.exists(), reason="Kueue's published examples are not beside this checkout"
)
PATIENCE_SECONDS: Final = 120
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
    "jobs/ray-job-autoscaling-sample.yaml",
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
CONFIG_MAPS: Final = ("jobs/ray-job-code-sample.yaml", "jobs/ray-job-autoscaling-code-sample.yaml")
"""What examples of RayJobs mount and do not bring themselves."""
NEEDS_FOREIGN_OPERATORS: Final = {
    "pod-based-workloads/sample-sandbox.yaml": "the agent sandbox controller makes the pod",
    "pod-based-workloads/tekton-hello-task.yaml": "Tekton makes the pods",
    "pod-based-workloads/tekton-sleep-task.yaml": "Tekton makes the pods",
    "pod-based-workloads/tekton-pipeline.yaml": "Tekton makes the pods",
    "pod-based-workloads/tekton-pipeline-run.yaml": "Tekton makes the pods",
    "pod-based-workloads/workflow-single-queue.yaml": "Argo Workflows makes the pods",
    "pod-based-workloads/workflow-queue-per-template.yaml": "Argo Workflows makes the pods",
    "serving-workloads/sample-hami.yaml": "HAMi's webhook and device plugin read what it asks for",
}
"""Their pods are queued as plain pods are, once somebody makes them."""
IN_TOPOLOGIES: Final = (
    "jobs/sample-jobset-tas-required.yaml",
    "jobs/sample-jobset-tas-sliced.yaml",
    "jobs/sample-jobset-tas-combined.yaml",
)
ADMITTED_ONLY: Final = "serving-workloads/sample-leaderworkerset-tas.yaml"
"""Its workers ask for GPUs without a limit: every API server refuses the StatefulSet with such pods."""
BY_SCHEDULE: Final = "jobs/sample-cronjob.yaml"
SCALABLE: Final = "jobs/sample-scalable-job.yaml"
AUTOSCALED: Final = "jobs/ray-job-autoscaling-sample.yaml"
QUOTA: Final = {"cpu": "100", "memory": "400Gi", "nvidia.com/gpu": "16"}
CAPACITY: Final = {"cpu": "64", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": "8"}


def topology_nodes() -> list[NodeGroup]:
    """The cluster of the topology examples: a group per worker of its kind configuration."""
    described = next(yaml.safe_load_all((FOLDER / "tas/kind-cluster.yaml").read_text()))
    workers = [node for node in described["nodes"] if node["role"] == "worker"]
    capacity = {"cpu": "12", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "2"}
    return [
        NodeGroup(name=f"worker{number}", count=1, capacity=capacity, labels=worker["labels"])
        for number, worker in enumerate(workers)
    ]


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
        kubectl("delete", *names, "-n", "default", "--timeout=90s", "--ignore-not-found")


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


def as_if(dry: Document, job: Document) -> Document:
    """What a dry run would have made, had it made this very job: some kinds write their name and UID into the spec."""
    text = json.dumps(dry)
    for field in ("uid", "name"):
        text = text.replace(json.dumps(dry["metadata"][field]), json.dumps(job["metadata"][field]))
    made_so: Document = json.loads(text)
    return made_so


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
