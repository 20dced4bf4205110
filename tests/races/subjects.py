"""What is raced: one small object of each job kind, and where its users turn it."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from hub.local import demo_kinds
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.resource_type import PODS, SPARK_APPLICATIONS, STATEFUL_SETS
from worker_agent.jobs import KINDS

NAMESPACE: Final = demo_kinds.NAMESPACE
QUEUE: Final = demo_kinds.QUEUE
POD: Final = "Pod"
GROUP: Final = "Pod group"
FOR_EVER: Final = "100000000"
QUEUE_POINTER: Final = f"/metadata/labels/{names.QUEUE_NAME_LABEL.replace('/', '~1')}"


@dataclass(frozen=True, slots=True)
class Subject:
    """``scale`` and ``image`` are JSON pointers into the object; ``sizes`` what it is scaled to. ``ends``: its pods end
    by themselves, and so does it. ``of_pods``: it is pods, which nobody makes again. ``size_kept``: scaled to zero it
    comes back with as many replicas as it had."""

    label: str
    kind: JobKind
    image: str
    scale: str = ""
    sizes: tuple[int, ...] = ()
    ends: bool = True
    of_pods: bool = False
    size_kept: bool = False

    def documents(self, run_seconds: int) -> list[Document]:
        """The objects as their user writes them."""
        return _timed(_documents()[self.label], run_seconds)


def value_at(document: Document, pointer: str) -> Any:
    """What stands there; None where nothing does."""
    found: Any = document
    for part in _parts(pointer):
        if isinstance(found, list):
            found = found[int(part)] if int(part) < len(found) else None
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found


def with_value(document: Document, pointer: str, value: Any) -> Document:
    """A copy in which ``value`` stands there."""
    copied: Document = msgspec.json.decode(msgspec.json.encode(document))
    *path, last = _parts(pointer)
    place: Any = copied
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
    return copied


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/") for part in pointer.split("/")[1:]]


def _timed(documents: list[Document], run_seconds: int) -> list[Document]:
    text = msgspec.json.encode(documents)
    usual = f'"fedhub.dev/run-seconds":"{demo_kinds.RUN_SECONDS}"'
    made: list[Document] = msgspec.json.decode(
        text.replace(usual.encode(), f'"fedhub.dev/run-seconds":"{run_seconds}"'.encode())
    )
    for document in made:
        _make_last(document)
    return made


def _make_last(part: Any) -> None:
    """Pods of which nothing is said end after seconds, and are started again and again: those of servers shall not."""
    if isinstance(part, list):
        for each in part:
            _make_last(each)
    if not isinstance(part, dict):
        return
    if "containers" in (part.get("spec") or {}) and part.get("kind") != "MiniCluster":
        annotations = part.setdefault("metadata", {}).setdefault("annotations", {})
        annotations.setdefault("fedhub.dev/run-seconds", FOR_EVER)
    for each in list(part.values()):
        _make_last(each)


@cache
def _documents() -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for made in (*demo_kinds.make("race"), _spark()):
        label = str(made["kind"])
        if label == POD and names.POD_GROUP_NAME_LABEL in made["metadata"]["labels"]:
            label = GROUP
        found.setdefault(label, []).append(made)
    return found


def _spark() -> Document:
    role = {"coreRequest": "1", "memory": "512m", "annotations": {"fedhub.dev/run-seconds": demo_kinds.RUN_SECONDS}}
    labels = {names.QUEUE_NAME_LABEL: QUEUE}
    return {
        "apiVersion": SPARK_APPLICATIONS.api_version,
        "kind": SPARK_APPLICATIONS.kind,
        "metadata": {"name": "sparkapplication-race", "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "type": "Python",
            "mode": "cluster",
            "image": "registry.example/spark:1",
            "sparkVersion": "3.5.0",
            "mainApplicationFile": "local:///train.py",
            "driver": role,
            "executor": {**role, "instances": 1},
        },
    }


TEMPLATE: Final = "/spec/template/spec/containers/0/image"
CONTAINER: Final = "/template/spec/containers/0/image"


def _replica_role(field: str, role: str) -> tuple[str, str]:
    return f"/spec/{field}/{role}{CONTAINER}", f"/spec/{field}/{role}/replicas"


def _ray(path: str) -> tuple[str, str]:
    group = f"/spec{path}/workerGroupSpecs/0"
    return f"{group}{CONTAINER}", f"{group}/replicas"


_PLACES: Final[dict[str, tuple[str, str]]] = {
    "Job": (TEMPLATE, "/spec/parallelism"),
    "JobSet": (f"/spec/replicatedJobs/0/template/spec{CONTAINER}", "/spec/replicatedJobs/0/replicas"),
    "MPIJob": _replica_role("mpiReplicaSpecs", "Worker"),
    "PyTorchJob": _replica_role("pytorchReplicaSpecs", "Worker"),
    "TFJob": _replica_role("tfReplicaSpecs", "Worker"),
    "XGBoostJob": _replica_role("xgbReplicaSpecs", "Worker"),
    "PaddleJob": _replica_role("paddleReplicaSpecs", "Worker"),
    "JAXJob": _replica_role("jaxReplicaSpecs", "Worker"),
    "TrainJob": ("/spec/trainer/image", "/spec/trainer/numNodes"),
    "RayJob": _ray("/rayClusterSpec"),
    "RayCluster": _ray(""),
    "RayService": _ray("/rayClusterConfig"),
    "AppWrapper": (
        f"/spec/components/0/template/spec{CONTAINER}",
        "/spec/components/0/template/spec/parallelism",
    ),
    "MiniCluster": ("/spec/containers/0/image", "/spec/size"),
    "SparkApplication": ("/spec/image", "/spec/executor/instances"),
    "Deployment": (TEMPLATE, "/spec/replicas"),
    "StatefulSet": (TEMPLATE, "/spec/replicas"),
    "LeaderWorkerSet": (
        f"/spec/leaderWorkerTemplate/workerTemplate{CONTAINER.removeprefix('/template')}",
        "/spec/replicas",
    ),
}
_SERVING: Final = ("Deployment", "StatefulSet", "LeaderWorkerSet", "RayCluster", "RayService")
_TO_ZERO: Final = ("Deployment", "StatefulSet", "LeaderWorkerSet")


def _subject(label: str) -> Subject:
    kind = next(each for each in KINDS.values() if each.resource.kind == label)
    image, scale = _PLACES[label]
    sizes = (0, 2, 3) if label in _TO_ZERO else (1, 2, 3)
    return Subject(
        label, kind, image, scale, sizes, ends=label not in _SERVING, size_kept=kind.resource == STATEFUL_SETS
    )


_pod: Final = next(each for each in KINDS.values() if each.resource == PODS)
SUBJECTS: Final[dict[str, Subject]] = {
    **{label: _subject(label) for label in _PLACES},
    POD: Subject(POD, _pod, "/spec/containers/0/image", of_pods=True),
    GROUP: Subject(GROUP, _pod, "/spec/containers/0/image", of_pods=True),
}
"""By the label of its row in the table."""
