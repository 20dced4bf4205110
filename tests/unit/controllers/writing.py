"""An applier on a scripted API server: what was sent, and what is known of each object."""

import json

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ResourceType
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.kube import retry
from worker_agent.kube.client import Client


class Recorder:
    """Takes events in place of the real one."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def record(self, regarding: object, type: str, reason: str, message: str, action: str = "") -> None:
        self.told.append((reason, message))


class FixedObjects(KnownObjects):
    """Knows what the test says, and what was written since."""

    def __init__(self, *documents: tuple[ResourceType, Document]) -> None:
        super().__init__()
        self.objects = {(resource, key(document)): document for resource, document in documents}

    def document(self, resource: ResourceType, name: Key) -> Document | None:
        return self.objects.get((resource, name))

    def note(self, resource: ResourceType, raw: bytes) -> Document:
        document = json.loads(raw)
        self.objects[resource, key(document)] = document
        return document

    def drop(self, resource: ResourceType, name: Key) -> None:
        self.objects.pop((resource, name), None)


def key(document: Document) -> Key:
    return Key(document["metadata"].get("namespace", ""), document["metadata"]["name"])


def echo(version: str = "2"):
    """Answers a write with what it said, as an object of that version."""

    def answered(request):
        body = json.loads(request.body)
        metadata = {**body.get("metadata", {}), "resourceVersion": version, "uid": "u"}
        name = request.path.removesuffix("/status").rpartition("/")[2]
        parts = request.path.split("/")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        return answer(200, {**body, "metadata": {"name": name, "namespace": namespace, **metadata}})

    return answered


class Writing:
    def __init__(self, known: FixedObjects, *script: object) -> None:
        self.transport = ScriptedTransport(*(script or (echo(),)))
        self.known = known
        self.recorder = Recorder()
        self.client = Client(self.transport, clock(), retry_policy=retry.NEVER)
        self.applier = Applier(self.client, known, self.recorder, self.client.clock)

    @property
    def sent(self) -> list[tuple[str, str, Document]]:
        """(method, path, body) of each request."""
        return [(r.method, r.path, json.loads(r.body)) for r in self.transport.requests]
