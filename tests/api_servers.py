"""API servers for tests that run in an event loop, of the sort that ``--cluster`` names, each empty when it is given.

The embedded ones are made anew. Real ones start once per run, which takes seconds, and are wiped between tests: the
controllers on them collect garbage and end namespaces, but run no Jobs; tests write what those would report.
"""

import asyncio
import atexit
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hub.local.apiserver import api_server, bootstrap, serve
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.serve import ServerConfig
from tests import cluster_choice, wiping
from tests.realcluster.clusters import Clusters, Server
from tests.wiping import Kind
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Transport
from worker_agent.webhooks import definitions


class ApiServer(Protocol):
    """What both sorts give."""

    @property
    def transport(self) -> Transport:
        """A new connection as the administrator."""


def as_program(server: ApiServer, account: str) -> Transport:
    """A new connection with the rights of one program alone (``accounts.ACCOUNTS``); embedded servers allow all."""
    return server.connected(account) if isinstance(server, _Real) else server.transport


def pause(waited: float) -> float:
    """Seconds until a test that has waited so long looks again: a tenth of it, for every look is a request."""
    return min(0.25, max(0.02, waited / 10))


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[ApiServer]:
    """An empty server with our definitions and an autoscaler's, for the length of a test."""
    sort = cluster_choice.chosen()
    if sort != cluster_choice.EMBEDDED:
        async with _pool(sort).taken(1, converting=True) as (real,):
            yield real
        return
    running = await serve.start(ServerConfig(data_dir=folder, crds=_definitions()))
    try:
        yield running
    finally:
        await running.stop()


@asynccontextmanager
async def in_memory(count: int) -> AsyncIterator[list[ApiServer]]:
    """So many empty servers with our definitions; embedded ones listen on no port and keep nothing.

    Nobody answers conversions here, and real servers are told so: for their cache of the version before they would
    ask in vain for each object, at an eighth of their work.
    """
    sort = cluster_choice.chosen()
    if sort == cluster_choice.EMBEDDED:
        yield [_InMemory(_embedded_server()) for _ in range(count)]
        return
    async with _pool(sort).taken(count, converting=False) as real:
        yield [*real]


@contextmanager
def kept(folder: Path) -> Iterator[Server]:
    """An empty server with our definitions and an autoscaler's for all tests to come, which empty it no more."""
    sort = cluster_choice.chosen()
    if sort != cluster_choice.EMBEDDED:
        yield asyncio.run(_pool(sort).given_away())
        return
    with Clusters(folder) as clusters:
        (started,) = clusters.start(sort, crds=_definitions())
        yield started


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
    _written: set[Kind]
    _connections: AsyncExitStack

    @property
    def transport(self) -> Transport:
        return wiping.Noting(self._connected(self.server.kubeconfig), self._written)

    def connected(self, account: str) -> Transport:
        """As one of the programs."""
        return wiping.Noting(self._connected(self.server.accounts[account]), self._written)

    def noting(self, connection: Transport) -> Transport:
        """A connection made elsewhere, so that what it writes is wiped too."""
        return wiping.Noting(connection, self._written)

    async def convert(self, *, converting: bool) -> None:
        """Have definitions with a version before name a webhook for conversions, or none."""
        client = Client(self._connected(self.server.kubeconfig), SystemClock(), user_agent="user")
        conversion = crds.CONVERSION if converting else {"strategy": "None", "webhook": None}
        body = {"spec": {"conversion": conversion}}
        for name in definitions.NAMES:
            await client.patch(CUSTOM_RESOURCE_DEFINITIONS, name, "", body, patch_type=PatchType.MERGE)

    async def wipe(self) -> None:
        if self._written:
            await wiping.wipe(self._connected(self.server.kubeconfig), self._written, _definitions())

    def _connected(self, login: Document) -> Transport:
        connection = kubernetes_transport.connect(kubeconfig.load(msgspec.json.encode(login)))
        self._connections.push_async_callback(connection.close)
        return connection


@dataclass
class _Pool:
    """Control planes of one sort: as many as were needed at one time, those that are missing started together."""

    sort: str
    clusters: Clusters
    free: list[Server] = field(default_factory=list)
    written: dict[str, set[Kind]] = field(default_factory=dict)
    """By URL, what is to be wiped."""
    not_converting: set[str] = field(default_factory=set)
    """URLs."""

    @asynccontextmanager
    async def taken(self, count: int, *, converting: bool) -> AsyncIterator[list[_Real]]:
        missing = [self.sort] * (count - len(self.free))
        self.free += await asyncio.to_thread(partial(self.clusters.start, *missing, crds=_definitions()))
        servers = [self.free.pop() for _ in range(count)]
        try:
            async with AsyncExitStack() as connections:
                loans = [_Real(one, self.written.setdefault(one.url, set()), connections) for one in servers]
                await asyncio.gather(*(loan.wipe() for loan in loans))
                other = [loan for loan in loans if (loan.server.url in self.not_converting) is converting]
                await asyncio.gather(*(loan.convert(converting=converting) for loan in other))
                self.not_converting.symmetric_difference_update(loan.server.url for loan in other)
                yield loans
        finally:
            self.free += reversed(servers)

    async def given_away(self) -> Server:
        """One that is not lent again; it ends with the others."""
        async with self.taken(1, converting=True) as (loan,):
            pass
        self.free.remove(loan.server)
        return loan.server


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


@cache
def _definitions() -> list[dict[str, Any]]:
    return list(crds.with_autoscaler())
