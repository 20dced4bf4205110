"""One real AdmissionReview per kind and operation, with the path at which it is answered."""

from collections.abc import Iterator
from dataclasses import dataclass

from hub.local import demo_kinds
from hub.local.objects import resource_of
from tests import builders
from worker_agent.api.document import Document
from worker_agent.api.resource_type import SPARK_APPLICATIONS, ResourceType
from worker_agent.webhooks.configurations import Served
from worker_agent.webhooks.review import REVIEW_VERSION


@dataclass(frozen=True, slots=True)
class Seed:
    """A request body as the API server would write it, still as a document."""

    path: str
    review: Document


def seeds() -> list[Seed]:
    """Of every kind that is defaulted or validated; created and updated, asked for defaults and for validation."""
    made = []
    for number, document in enumerate(_objects()):
        resource = resource_of(document)
        served = Served(resource)
        for verb in ("mutate", "validate"):
            for operation in ("CREATE", "UPDATE"):
                uid = f"review-{number}-{verb}-{operation}"
                made.append(Seed(served.path(verb), review(resource, document, operation, uid)))
    return made


def review(resource: ResourceType, document: Document, operation: str, uid: str) -> Document:
    metadata = document["metadata"]
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    plural = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    old = None
    if operation == "UPDATE":
        old = {**document, "metadata": {**metadata, "resourceVersion": "7", "uid": "object-uid"}}
    request: Document = {
        "uid": uid,
        "kind": kind,
        "resource": plural,
        "requestKind": kind,
        "requestResource": plural,
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "operation": operation,
        "userInfo": {"username": "alice", "groups": ["team-a", "system:authenticated"]},
        "object": document,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"kind": "AdmissionReview", "apiVersion": REVIEW_VERSION, "request": request}


def _objects() -> Iterator[Document]:
    yield from demo_kinds.make("seed")
    yield _spark()
    yield builders.workload("seed", queue="research", cpu=2)
    yield builders.cluster_queue("seed", {"default": {"cpu": 4}}, cohort="all")
    yield builders.cohort("all")
    yield builders.flavor("default", labels={"zone": "a"})


def _spark() -> Document:
    role = {"cores": 1, "memory": "512m"}
    spec = {"type": "Python", "mode": "cluster", "driver": role, "executor": {**role, "instances": 2}}
    metadata = {"name": "seed", "namespace": "training", "labels": {"kueue.x-k8s.io/queue-name": "research"}}
    resource = SPARK_APPLICATIONS
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
