"""A core under test: requests in, decoded answers out, time and chance under the test's control."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

import msgspec

from hub.local.apiserver.answer import Answer
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.garbage import COLLECTOR, Cleaner
from hub.local.apiserver.identity import ADMIN, Identity
from hub.local.apiserver.schemas import Schemas
from hub.local.apiserver.watching import Watch
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from tests.unit.apiserver.plain_schemas import PlainSchemas
from worker_agent.kube.transport import Request

START = datetime(2026, 1, 1, tzinfo=UTC)
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Reply(NamedTuple):
    status: int
    document: Any
    headers: list[tuple[str, str]]

    @property
    def message(self) -> str:
        return str(self.document.get("message", ""))


class World:
    """``webhook`` answers admission calls; ``calls`` holds those made."""

    def __init__(self, schemas: Schemas | None = None) -> None:
        numbers = count(1)
        self.core = Core(new_state(lambda size: next(numbers).to_bytes(size, "big")), schemas or PlainSchemas())
        self.now = START
        self.calls: list[WebhookCall] = []
        self.webhook: Callable[[WebhookCall], WebhookAnswer] = lambda call: WebhookAnswer(None, "nobody listens")
        self.cleaner = Cleaner()
        for name in ("default", "other"):
            self.post(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def send(self, request: Request, identity: Identity = ADMIN) -> Answer:
        steps = self.core.handle(request, identity, self.now)
        try:
            call = next(steps)
            while True:
                self.calls.append(call)
                call = steps.send(self.webhook(call))
        except StopIteration as done:
            answer: Answer = done.value
        for event in self.core.state.take_events():
            self.cleaner.note(self.core.state, event)
        return answer

    def ask(self, method: str, url: str, body: Any = None, **headers: str) -> Reply:
        path, _, query = url.partition("?")
        pairs = tuple(tuple(pair.partition("=")[::2]) for pair in query.split("&") if pair)
        content = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.send(Request(method, path, pairs, named, content))  # type: ignore[arg-type]
        try:
            document = json.loads(answer.body)
        except ValueError:
            document = answer.body.decode()
        return Reply(answer.status, document, answer.headers)

    def get(self, url: str, **headers: str) -> Reply:
        return self.ask("GET", url, **headers)

    def post(self, url: str, body: Any, **headers: str) -> Reply:
        return self.ask("POST", url, body, **headers)

    def put(self, url: str, body: Any) -> Reply:
        return self.ask("PUT", url, body)

    def patch(self, url: str, body: Any, kind: str = MERGE_PATCH) -> Reply:
        return self.ask("PATCH", url, body, content_type=kind)

    def delete(self, url: str, body: Any = None) -> Reply:
        return self.ask("DELETE", url, body)

    def names(self, url: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(url).document["items"]]

    def watch(self, url: str, **headers: str) -> "Reader":
        path, _, query = url.partition("?")
        pairs = tuple(tuple(pair.partition("=")[::2]) for pair in f"{query}&watch=1".split("&") if pair)
        answer = self.send(Request("GET", path, pairs, headers))  # type: ignore[arg-type]
        assert answer.watch is not None, answer.body
        return Reader(answer.watch, self)

    def clean(self) -> None:
        """What happens by itself, until nothing more does."""
        while not self.cleaner.idle:
            for request in self.cleaner.requests(self.core.state, self.now):
                self.send(request, COLLECTOR)

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @property
    def version(self) -> int:
        return self.core.state.version


class Reader:
    """A watch read by a test: decoded events."""

    def __init__(self, watch: Watch, world: World) -> None:
        self.watch = watch
        self._world = world

    def events(self) -> list[Any]:
        lines = b"".join(self.watch.read(lambda: self._world.now)).splitlines()
        return [json.loads(line) for line in lines]

    def changes(self) -> list[tuple[str, str]]:
        """(type, name) of each event."""
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in self.events()]


def job(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **metadata}, "spec": spec}


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {}}


def pod(name: str, node: str = "", **metadata: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def owner(reply: Reply, *, blocks: bool = False) -> dict[str, Any]:
    """An owner reference to an object that was answered."""
    document = reply.document
    reference = {name: document[name] for name in ("apiVersion", "kind")}
    reference |= {name: document["metadata"][name] for name in ("name", "uid")}
    return {**reference, "blockOwnerDeletion": True} if blocks else reference


def crd(plural: str = "widgets", kind: str = "Widget", group: str = "example.com", **version: Any) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    first = {"name": "v1", "served": True, "storage": True, "schema": schema, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [first],
        },
    }
