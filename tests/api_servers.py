"""API servers for tests that run in an event loop, of the sort that ``--cluster`` names, each empty when it is given.

The embedded ones are made anew. Real ones start once per run, which takes seconds, and are wiped between tests: the
controllers on them collect garbage and end namespaces, but run no Jobs; tests write what those would report.
"""

import asyncio
import atexit
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hub.local.apiserver import api_server, bootstrap, serve
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.serve import ServerConfig
from tests import cluster_choice
from tests.realcluster.clusters import Clusters, Server
from worker_agent.api import crds
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Transport

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
BUILT_IN = (
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/batch/v1/jobs",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/limitranges",
    "/api/v1/podtemplates",
    "/apis/events.k8s.io/v1/events",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/api/v1/namespaces",
)


class ApiServer(Protocol):
    """What both sorts give."""

    @property
    def transport(self) -> Transport:
        """A new connection as the administrator."""


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[ApiServer]:
    """An empty server with our definitions and an autoscaler's, for the length of a test."""
    sort = cluster_choice.chosen()
    if sort != cluster_choice.EMBEDDED:
        async with _pool(sort).taken() as real:
            yield real
        return
    running = await serve.start(ServerConfig(data_dir=folder, crds=_definitions()))
    try:
        yield running
    finally:
        await running.stop()


@asynccontextmanager
async def in_memory(count: int) -> AsyncIterator[list[ApiServer]]:
    """So many empty servers with our definitions; embedded ones listen on no port and keep nothing."""
    sort = cluster_choice.chosen()
    if sort == cluster_choice.EMBEDDED:
        yield [_InMemory(_embedded_server()) for _ in range(count)]
        return
    async with AsyncExitStack() as loans:
        yield [await loans.enter_async_context(_pool(sort).taken()) for _ in range(count)]


def _embedded_server() -> api_server.ApiServer:
    clock = SystemClock()
    core = Core(new_state(os.urandom), SchemaRegistry())
    bootstrap.fill(core, _definitions(), clock.now())
    core.state.take_events()
    return api_server.ApiServer(core, clock)


@dataclass(frozen=True)
class _InMemory:
    server: api_server.ApiServer

    @property
    def transport(self) -> Transport:
        return InProcessTransport(self.server)


@dataclass
class _Real:
    """A control plane that is on loan; connections are closed when it is given back."""

    server: Server
    _connections: AsyncExitStack

    @property
    def transport(self) -> Transport:
        connection = kubernetes_transport.connect(kubeconfig.load(msgspec.json.encode(self.server.kubeconfig)))
        self._connections.push_async_callback(connection.close)
        return connection


@dataclass
class _Pool:
    """Control planes of one sort: as many as were needed at one time."""

    sort: str
    clusters: Clusters
    free: list[Server] = field(default_factory=list)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[_Real]:
        server = self.free.pop() if self.free else await self._started()
        try:
            async with AsyncExitStack() as connections:
                real = _Real(server, connections)
                await _wipe(real.transport)
                yield real
        finally:
            self.free.append(server)

    async def _started(self) -> Server:
        (server,) = await asyncio.to_thread(self.clusters.start, self.sort, crds=_definitions())
        return server


_pools: dict[str, _Pool] = {}


def _pool(sort: str) -> _Pool:
    """Started with the first test that needs it, stopped when the run ends."""
    if sort not in _pools:
        folder = tempfile.TemporaryDirectory()
        clusters = Clusters(Path(folder.name)).__enter__()
        atexit.register(folder.cleanup)
        atexit.register(clusters.__exit__)
        _pools[sort] = _Pool(sort, clusters)
    return _pools[sort]


async def _wipe(transport: Transport) -> None:
    """Removes everything that tests make, whatever holds it; returns when it is gone."""
    custom = [f"/apis/{crd['spec']['group']}/{_stored(crd)}/{crd['spec']['names']['plural']}" for crd in _definitions()]
    paths = [*BUILT_IN[:2], *custom, *BUILT_IN[2:]]
    while any([await _wipe_kind(transport, path) for path in paths]):
        pass  # controllers may have made more meanwhile


@cache
def _definitions() -> list[dict[str, Any]]:
    return list(crds.with_autoscaler())


def _stored(crd: dict[str, Any]) -> str:
    return next(str(version["name"]) for version in crd["spec"]["versions"] if version["storage"])


async def _wipe_kind(transport: Transport, path: str) -> bool:
    """One pass over all objects of a kind; whether any was left."""
    found = await _ask(transport, "GET", path)
    own = [item["metadata"] for item in found.get("items") or () if _is_of_a_test(item["metadata"], path)]
    for metadata in own:
        place = _object_path(path, metadata)
        if metadata.get("finalizers"):
            await _ask(transport, "PATCH", place, {"metadata": {"finalizers": None}})
        await _ask(transport, "DELETE", f"{place}?gracePeriodSeconds=0&propagationPolicy=Background")
        if path.endswith("/namespaces"):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": metadata["name"]}, "spec": {}}
            await _ask(transport, "PUT", f"{place}/finalize", body)
    return bool(own)


def _is_of_a_test(metadata: dict[str, Any], path: str) -> bool:
    if path.endswith("/namespaces"):
        return metadata["name"] not in NAMESPACES
    return not (metadata.get("namespace", "").startswith("kube-") or metadata["name"].startswith(("system-", "kube-")))


def _object_path(path: str, metadata: dict[str, Any]) -> str:
    root, _, plural = path.rpartition("/")
    place = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
    return f"{root}{place}/{plural}/{metadata['name']}"


async def _ask(transport: Transport, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    place, _, query = path.partition("?")
    pairs = tuple((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair))
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"accept": "application/json", "content-type": kind}
    content = msgspec.json.encode(body) if body is not None else b""
    response = await transport.request(Request(method, place, pairs, headers, content))
    answer: dict[str, Any] = msgspec.json.decode(await response.read())
    return answer
