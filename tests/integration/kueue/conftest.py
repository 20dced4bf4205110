"""One server for all tests, each in a namespace of its own; every write that a command sends is kept."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from typer.testing import CliRunner

from hub.cli import app
from tests import api_servers
from tests.realcluster.clusters import Server
from worker_agent.api.document import Document
from worker_agent.api.resource_type import NAMESPACES, ResourceType
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Response, Transport

T = TypeVar("T")
CONNECT = kubernetes_transport.connect
_NUMBERS = count(1)
AGE = re.compile(r"\b\d+(s|m\d*s?)$", re.MULTILINE)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with api_servers.kept(tmp_path_factory.mktemp("clusters")) as started:
        yield started


@dataclass
class Sent:
    """A write as the API server got it."""

    method: str
    path: str
    dry: bool
    body: Any


@dataclass
class Kueue:
    """``kueue("list", "cq")``: the output of a command that went well."""

    namespace: str
    kubeconfig: Path
    writes: list[Sent] = field(default_factory=list)

    def __call__(self, *arguments: str, answer: str = "") -> str:
        done = self.run(*arguments, answer=answer)
        assert done.exit_code == 0, done.output
        return done.stdout

    def fails(self, *arguments: str, code: int = 1) -> str:
        done = self.run(*arguments)
        assert done.exit_code == code, done.output
        assert "Traceback" not in done.output
        return done.output

    def run(self, *arguments: str, answer: str = "") -> Any:
        return CliRunner().invoke(app, ["kueue", *arguments, "-n", self.namespace], input=answer)

    def spec(self, kind: str, name: str) -> Document:
        """The stored spec, as the command itself prints it."""
        listed = msgspec.json.decode(self("list", kind, "-o", "json", "--field-selector", f"metadata.name={name}"))
        return listed["items"][0]["spec"]

    def put(self, resource: ResourceType, name: str, **fields: Any) -> Document:
        """Creates an object by other means, with its status."""
        metadata = {"name": name, **fields.pop("metadata", {})}
        if resource.namespaced:
            metadata["namespace"] = self.namespace
        document = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}
        namespace = self.namespace if resource.namespaced else ""

        async def creation(client: Client) -> Document:
            made = msgspec.json.decode(await client.create(resource, document, namespace))
            if "status" in fields:
                made["status"] = fields["status"]
                await client.update(resource, made, namespace, subresource="status")
            return made

        return asyncio.run(self._by_other_means(creation))

    def everything(self, *resources: ResourceType) -> list[bytes]:
        """All objects of these kinds, byte by byte; of namespaced ones those here, for others' are still collected."""

        async def listed(client: Client) -> list[bytes]:
            places = [(each, self.namespace if each.namespaced else "") for each in resources]
            return [item for each, namespace in places for item in (await client.list(each, namespace)).items]

        return asyncio.run(self._by_other_means(listed))

    async def _by_other_means(self, work: Callable[[Client], Awaitable[T]]) -> T:
        client = Client(CONNECT(kubeconfig.load(self.kubeconfig)), SystemClock())
        try:
            return await work(client)
        finally:
            await client.close()


@pytest.fixture
def kueue(server: Server, monkeypatch: pytest.MonkeyPatch) -> Kueue:
    made = Kueue(f"t{next(_NUMBERS):03}", server.kubeconfig_file)
    made.put(NAMESPACES, made.namespace)
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig_file))
    monkeypatch.setattr(kubernetes_transport, "connect", lambda config: _Noting(CONNECT(config), made.writes))
    return made


class _Noting:
    def __init__(self, inner: Transport, writes: list[Sent]) -> None:
        self._inner, self._writes = inner, writes

    async def request(self, request: Request) -> Response:
        if request.method != "GET":
            body = msgspec.json.decode(request.body) if request.body else None
            self._writes.append(Sent(request.method, request.path, ("dryRun", "All") in request.query, body))
        return await self._inner.request(request)

    async def close(self) -> None:
        await self._inner.close()


def masked(table: str) -> list[str]:
    """Lines with ages that hold for any moment."""
    return AGE.sub("<age>", table).splitlines()
