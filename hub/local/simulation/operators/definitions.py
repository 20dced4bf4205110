"""Definitions of the job kinds that other projects bring, for clusters where their operators are played.

They hold what defaulting and a start by kubectl need; every other field is let through as it is written.
"""

from typing import Any, Final

from worker_agent.api import resource_type as kinds
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType

_ANY: Final[Document] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(**properties: Any) -> Document:
    return {**_ANY, "properties": properties}


def _default(type_: str, value: Any) -> Document:
    return {"type": type_, "default": value}


def _items(**properties: Any) -> Document:
    return {"type": "array", "items": _object(**properties)}


_JOB_SET: Final = _object(
    suspend={"type": "boolean"},
    replicatedJobs=_items(name={"type": "string"}, replicas=_default("integer", 1), template=_ANY),
)
_RUNTIME: Final = _object(template=_object(spec=_JOB_SET))
_ONE: Final = _default("integer", 1)
_RAY_CLUSTER: Final = _object(workerGroupSpecs=_items(replicas=_ONE, numOfHosts=_ONE))
_SPECS: Final[dict[ResourceType, Document]] = {
    kinds.JOB_SETS: _JOB_SET,
    kinds.MPI_JOBS: _object(runPolicy=_ANY, slotsPerWorker=_default("integer", 1)),
    kinds.PYTORCH_JOBS: _object(runPolicy=_ANY),
    kinds.TF_JOBS: _object(runPolicy=_ANY),
    kinds.XGBOOST_JOBS: _object(runPolicy=_ANY),
    kinds.PADDLE_JOBS: _object(runPolicy=_ANY),
    kinds.JAX_JOBS: _object(runPolicy=_ANY),
    kinds.TRAIN_JOBS: _object(
        suspend=_default("boolean", False),
        runtimeRef=_object(
            apiGroup=_default("string", "trainer.kubeflow.org"), kind=_default("string", "ClusterTrainingRuntime")
        ),
    ),
    kinds.TRAINING_RUNTIMES: _RUNTIME,
    kinds.CLUSTER_TRAINING_RUNTIMES: _RUNTIME,
    kinds.RAY_CLUSTERS: _RAY_CLUSTER,
    kinds.RAY_JOBS: _object(submissionMode=_default("string", "K8sJobMode"), rayClusterSpec=_RAY_CLUSTER),
    kinds.RAY_SERVICES: _object(rayClusterConfig=_RAY_CLUSTER),
    kinds.APP_WRAPPERS: _object(suspend=_default("boolean", False)),
    kinds.SPARK_APPLICATIONS: _object(suspend=_default("boolean", False), mode=_default("string", "cluster")),
    kinds.MINI_CLUSTERS: _object(
        size=_default("integer", 1),
        tasks=_default("integer", 1),
        deadlineSeconds=_default("integer", 31500000),
        containers=_items(image={"type": "string"}),
    ),
    kinds.LEADER_WORKER_SETS: _object(
        replicas=_default("integer", 1),
        leaderWorkerTemplate=_object(size=_default("integer", 1)),
    ),
}
_SCALED: Final = {
    kinds.LEADER_WORKER_SETS: (".spec.replicas", ".status.replicas"),
    kinds.MINI_CLUSTERS: (".spec.size", ".status.size"),
}


def documents() -> list[Document]:
    """One CustomResourceDefinition for each kind."""
    return [_definition(resource, spec) for resource, spec in _SPECS.items()]


def _approval(resource: ResourceType) -> Document:
    """Groups of the Kubernetes project want to know who has looked at a definition."""
    if not resource.group.endswith(".k8s.io"):
        return {}
    return {"annotations": {"api-approved.kubernetes.io": "unapproved, stands in for the project's own"}}


def _definition(resource: ResourceType, spec: Document) -> Document:
    subresources: Document = {"status": {}}
    if resource in _SCALED:
        wanted, told = _SCALED[resource]
        subresources["scale"] = {"specReplicasPath": wanted, "statusReplicasPath": told}
    schema = {"type": "object", "properties": {"spec": spec, "status": _ANY}}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": subresources,
        "additionalPrinterColumns": [
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    names = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}", **_approval(resource)},
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }
