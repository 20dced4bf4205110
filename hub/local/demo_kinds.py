"""One job of every kind that can run on another cluster, small enough for a demo."""

from collections.abc import Iterator
from typing import Any, Final

from hub.local.demo_jobs import RUN_LABEL
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    APP_WRAPPERS,
    CLUSTER_TRAINING_RUNTIMES,
    DEPLOYMENTS,
    JAX_JOBS,
    JOB_SETS,
    JOBS,
    LEADER_WORKER_SETS,
    MINI_CLUSTERS,
    MPI_JOBS,
    PADDLE_JOBS,
    PODS,
    PYTORCH_JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
    RAY_SERVICES,
    STATEFUL_SETS,
    TF_JOBS,
    TRAIN_JOBS,
    XGBOOST_JOBS,
    ResourceType,
)

NAMESPACE: Final = "training"
QUEUE: Final = "research"
RUNTIME: Final = "demo"
RUN_SECONDS: Final = "3"
_AMOUNTS: Final = {"cpu": "1", "memory": "1Gi"}


def prerequisites() -> list[Document]:
    """What the jobs refer to: it has to be on every cluster."""
    step = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
    node = {**step, "spec": {"template": _template("node", restartPolicy="Never")}}
    spec = {
        "mlPolicy": {"numNodes": 2},
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": node}]}},
    }
    resource = CLUSTER_TRAINING_RUNTIMES
    metadata = {"name": RUNTIME}
    return [{"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}]


def make(run: str) -> list[Document]:
    """One object of each kind, in a queue of the demo's federation. ``run`` keeps the names of two runs apart."""
    made = [_object(resource, run, spec) for resource, spec in _specs()]
    made += list(_pods(run))
    return made


def _specs() -> Iterator[tuple[ResourceType, Document]]:
    once = _template("train", restartPolicy="Never")
    yield JOBS, {"parallelism": 2, "completions": 2, "template": once}
    yield JOB_SETS, {"replicatedJobs": [{"name": "driver", "template": {"spec": {"template": once}}}]}
    yield MPI_JOBS, _roles("mpiReplicaSpecs", Launcher=1, Worker=2)
    yield PYTORCH_JOBS, _roles("pytorchReplicaSpecs", Master=1, Worker=2)
    yield TF_JOBS, _roles("tfReplicaSpecs", Chief=1, Worker=2)
    yield XGBOOST_JOBS, _roles("xgbReplicaSpecs", Master=1, Worker=1)
    yield PADDLE_JOBS, _roles("paddleReplicaSpecs", Worker=2)
    yield JAX_JOBS, _roles("jaxReplicaSpecs", Worker=2)
    yield TRAIN_JOBS, {"runtimeRef": {"name": RUNTIME}}
    yield RAY_JOBS, {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": _ray()}
    yield RAY_CLUSTERS, _ray()
    yield RAY_SERVICES, {"rayClusterConfig": _ray()}
    wrapped = _plain(JOBS, "wrapped", {"parallelism": 1, "completions": 1, "template": once})
    flux = {"image": "registry.example/flux:1", "command": "train.py", "resources": {"requests": _AMOUNTS}}
    pod = {"annotations": {"fedhub.dev/run-seconds": RUN_SECONDS}}
    yield MINI_CLUSTERS, {"size": 2, "containers": [flux], "pod": pod}
    yield APP_WRAPPERS, {"components": [{"template": wrapped}]}
    serving = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "serve"}},
        "template": _template("serve", app="serve", ends=False),
    }
    yield DEPLOYMENTS, serving
    yield STATEFUL_SETS, {**serving, "serviceName": "serve"}
    serve = _template("serve", ends=False)
    yield LEADER_WORKER_SETS, {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": serve}}


def _pods(run: str) -> Iterator[Document]:
    spec = _template("train", restartPolicy="Never")["spec"]
    yield _object(PODS, run, spec, name="pod", annotations={"fedhub.dev/run-seconds": RUN_SECONDS})
    for member in ("first", "second"):
        annotations = {
            "fedhub.dev/run-seconds": RUN_SECONDS,
            names.POD_GROUP_TOTAL_COUNT_ANNOTATION: "2",
        }
        made = _object(PODS, run, spec, name=f"pod-group-{member}", annotations=annotations)
        made["metadata"]["labels"][names.POD_GROUP_NAME_LABEL] = f"group-{run}"
        yield made


def _object(
    resource: ResourceType, run: str, spec: Document, *, name: str = "", annotations: Document | None = None
) -> Document:
    labels = {names.QUEUE_NAME_LABEL: QUEUE, RUN_LABEL: run}
    made = _plain(resource, f"{name or resource.kind.lower()}-{run}", spec)
    made["metadata"] |= {"namespace": NAMESPACE, "labels": labels}
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def _plain(resource: ResourceType, name: str, spec: Document) -> Document:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


def _template(container: str, app: str = "", *, ends: bool = True, **spec: Any) -> Document:
    containers = [{"name": container, "image": "registry.example/train:1", "resources": {"requests": _AMOUNTS}}]
    metadata: Document = {"annotations": {"fedhub.dev/run-seconds": RUN_SECONDS}} if ends else {}
    if app:
        metadata["labels"] = {"app": app}
    return {"metadata": metadata, "spec": {**spec, "containers": containers}}


def _roles(field: str, **counts: int) -> Document:
    names_ = {"mpiReplicaSpecs": "mpi", "pytorchReplicaSpecs": "pytorch", "tfReplicaSpecs": "tensorflow"}
    container = names_.get(field, "train")
    return {
        field: {
            role: {"replicas": count, "restartPolicy": "Never", "template": _template(container)}
            for role, count in counts.items()
        }
    }


def _ray() -> Document:
    group = {
        "groupName": "workers",
        "replicas": 2,
        "rayStartParams": {},
        "template": _template("ray-worker", ends=False),
    }
    head = {"rayStartParams": {}, "template": _template("ray-head", ends=False)}
    return {"headGroupSpec": head, "workerGroupSpecs": [group]}
