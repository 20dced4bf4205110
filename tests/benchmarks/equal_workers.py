"""A manager and any number of equal workers with room for a given number of one-pod Jobs, as manifests in a folder."""

from pathlib import Path

import yaml

from hub.local.spec import Cluster, FederationSpec, NodeGroup
from tests.benchmarks.federation_load import NAMESPACE, QUEUE
from worker_agent.api.document import Document

PODS_PER_NODE = 100
ALONE = "alone"
SPARE = 1.5
"""Room of all workers together for each Job of the load: whoever dispatches has a choice, and nobody waits for room."""


def write(folder: Path, workers: int, jobs: int) -> FederationSpec:
    """The manifests of the federation are in ``folder`` after this; the specification is returned."""
    nodes = max(1, -(-int(jobs * SPARE) // (workers * PODS_PER_NODE)))
    names = [f"worker-{number:02d}" for number in range(1, workers + 1)]
    each = nodes * PODS_PER_NODE
    check = {"admissionChecksStrategy": {"admissionChecks": [{"name": "anywhere"}]}}
    _write(folder / "manager", [*_queues("any", each * workers, check), *_federation(names)])
    for name in names:
        _write(folder / "workers" / name, _queues("general", each, {}))
    return FederationSpec(
        manager=Cluster(name="manager"), workers=[Cluster(name=name, node_groups=[_nodes(nodes)]) for name in names]
    )


def write_alone(folder: Path, jobs: int, workloads: int) -> FederationSpec:
    """One cluster without a manager: nodes for ``jobs`` one-pod Jobs, quota for these and for ``workloads`` beside."""
    nodes = max(1, -(-int(jobs * SPARE) // PODS_PER_NODE))
    _write(folder / "workers" / ALONE, _queues("general", nodes * PODS_PER_NODE + workloads, {}))
    return FederationSpec(workers=[Cluster(name=ALONE, node_groups=[_nodes(nodes)])])


def _nodes(count: int) -> NodeGroup:
    capacity = {"cpu": str(PODS_PER_NODE), "memory": f"{PODS_PER_NODE}Gi", "pods": str(PODS_PER_NODE + 10)}
    return NodeGroup(name="general", count=count, capacity=capacity)


def _queues(flavor: str, cpus: int, more: Document) -> list[Document]:
    quotas = [{"name": "cpu", "nominalQuota": cpus}, {"name": "memory", "nominalQuota": f"{cpus}Gi"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": flavor, "resources": quotas}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        _kueue("ResourceFlavor", flavor, {}),
        _kueue("ClusterQueue", "all", {"namespaceSelector": {}, "resourceGroups": [group], **more}),
        _kueue("LocalQueue", QUEUE, {"clusterQueue": "all"}, NAMESPACE),
    ]


def _federation(workers: list[str]) -> list[Document]:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "anywhere"}
    check = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
    return [
        _kueue("AdmissionCheck", "anywhere", check),
        _kueue("MultiKueueConfig", "anywhere", {"clusters": workers}),
    ]


def _kueue(kind: str, name: str, spec: Document, namespace: str = "") -> Document:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


def _write(folder: Path, documents: list[Document]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "objects.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))
