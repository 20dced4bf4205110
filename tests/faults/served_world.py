"""A federation under faults in real time: API servers that answer over HTTP, a misbehaving proxy before each.

Embedded servers are seen through: the model hears of every commit in the order in which they happened. Real ones are
followed by watches; as two of those say nothing of each other's order, a job that seems to run twice is read again.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from hub.local.apiserver import serve
from hub.local.apiserver.serve import RunningServer, ServerConfig
from hub.local.apiserver.store import Event as Commit
from hub.local.objects import resource_of
from hub.local.real import binaries, control_plane
from hub.local.real.control_plane import ControlPlane, ControlPlaneConfig
from tests import cluster_choice
from tests.faults import manifests
from tests.faults.federation import LEADERSHIP, Federation, Skewed, plan
from tests.faults.lines import Line
from tests.faults.model import MANAGER, Model, runs
from tests.faults.players import JobPlayer
from tests.faults.proxy import Proxy
from tests.faults.script import LINES, WORKERS, Script
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import DISPATCH_POLICIES, JOBS, LEASES, NODES, WORKLOADS
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import AlreadyExists, ApiError, NotFound
from worker_agent.kube.informer import Event, Informer, document
from worker_agent.kube.transport import Request, Response, Transport

STORES: Final = {"batch/jobs": "jobs", "kueue.x-k8s.io/workloads": "workloads"}
FOLLOWED: Final = {"jobs": JOBS, "workloads": WORKLOADS}
CLEAN_SECONDS: Final = 60.0
Server = RunningServer | ControlPlane


class SkewedSystemClock(SystemClock):
    def __init__(self, skew: float) -> None:
        self.skew = skew

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.skew)


class _Lent:
    """A connection to an API server that a line may not close."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def request(self, request: Request) -> Response:
        return await self._transport.request(request)

    async def close(self) -> None:
        """It serves the next program as well."""


class ServedWorld(Federation):
    """Three servers in ``folder``, of a sort that ``cluster_choice`` names; for one history after another."""

    election: Document = {}
    """As users have it: on a busy machine a lease of few seconds is lost again and again."""
    rest_seconds = 180.0

    def __init__(self, script: Script, folder: Path, sort: str) -> None:
        self._folder = folder
        self._sort = sort
        super().__init__(script, SystemClock())
        self._servers: dict[str, Server] = {}
        self._proxies: dict[str, Proxy] = {}
        self._connections: dict[str, list[Transport]] = {}
        self._direct: list[Transport] = []
        self._seen: dict[tuple[str, str], dict[Key, Document]] = {}
        self._following: list[asyncio.Task[None]] = []
        self._checks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Servers, proxies and what users have set up; no program runs yet."""
        names = (MANAGER, *WORKERS)
        started = await asyncio.gather(*(self._serve(name) for name in names))
        self._servers = dict(zip(names, started, strict=True))
        direct = {name: self._connection(name) for name in names}
        self.clients = {name: Client(transport, self.clock) for name, transport in direct.items()}
        self.players = {name: JobPlayer(self.clients[name], self.clock, self._completed) for name in WORKERS}
        for number, name in enumerate(LINES):
            server = _Lent(direct[name.split(">")[1]])
            self.lines[name] = Line(server, self.clock, plan(self.script, number))
            self._proxies[name] = Proxy(self.lines[name])
            await self._proxies[name].start()
        for name in names:
            await self._install(name)
            await self._follow(name)

    async def _serve(self, name: str) -> Server:
        folder = self._folder / name
        if self._sort == cluster_choice.EMBEDDED:
            return await serve.start(ServerConfig(data_dir=folder, name=name, crds=list(crds.documents())))
        programs = binaries.in_folder(await asyncio.to_thread(cluster_choice.built, self._sort))
        config = ControlPlaneConfig(folder, programs, name, crds=list(crds.documents()), jobs=False)
        return await control_plane.start(config)

    def _connection(self, name: str) -> Transport:
        server = self._servers[name]
        content = server.kubeconfig() if isinstance(server, RunningServer) else server.kubeconfig
        self._direct.append(kubernetes_transport.connect(kubeconfig.load(msgspec.json.encode(content))))
        return self._direct[-1]

    async def _install(self, cluster: str) -> None:
        client = self.clients[cluster]
        documents = manifests.manager(keep=self.script.keep) if cluster == MANAGER else manifests.worker()
        for each in documents:
            with contextlib.suppress(AlreadyExists):
                await client.create(resource_of(each), each, each["metadata"].get("namespace", ""))
        if cluster != MANAGER:
            # New nodes are tainted as not ready until the node controller has seen them; there is none here.
            await client.patch(NODES, "node", "", {"spec": {"taints": None}}, patch_type=PatchType.MERGE)

    # What is seen

    async def _follow(self, cluster: str) -> None:
        self._seen |= {(cluster, kind): {} for kind in FOLLOWED}
        server = self._servers[cluster]
        if isinstance(server, RunningServer):
            server.server.listeners.append(partial(self._committed, cluster))
            return
        for kind, resource in FOLLOWED.items():
            informer = Informer(self.clients[cluster], resource, document)
            informer.add_handler(partial(self._watched, cluster, kind))
            self._following.append(asyncio.create_task(informer.run(), name=f"{cluster} {kind}"))
            await informer.synced.wait()

    def _committed(self, cluster: str, commits: Sequence[Commit]) -> None:
        for commit in commits:
            if (kind := STORES.get(commit.store)) is not None:
                old = commit.old.document() if commit.old is not None else None
                new = commit.new.document() if commit.new is not None else None
                self._note(cluster, kind, old, new)

    def _watched(self, cluster: str, kind: str, event: Event[Document]) -> None:
        self._note(cluster, kind, event.old, event.new)

    def _note(self, cluster: str, kind: str, old: Document | None, new: Document | None) -> None:
        metadata = (new or old or {})["metadata"]
        key, seen = Key(metadata["namespace"], metadata["name"]), self._seen[cluster, kind]
        if new is None:
            seen.pop(key, None)
        else:
            seen[key] = new
        self.model.observe(cluster, kind, old, new, self.clock.monotonic())
        if kind == "jobs" and cluster != MANAGER:
            self.players[cluster].observe(old, new)

    def _model(self) -> Model:
        model = super()._model()
        if self._sort != cluster_choice.EMBEDDED:
            model.on_doubled = self._suspect
        return model

    def _suspect(self, name: str, clusters: Sequence[str], at: float) -> None:
        check = asyncio.create_task(self._prove(self.model, name, clusters, at))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    async def _prove(self, model: Model, name: str, clusters: Sequence[str], at: float) -> None:
        """Read one, then the other, then the one again: if that has not changed, both ran at the same time."""
        one, other = clusters[:2]
        found = [await self._read(cluster, name) for cluster in (one, other, one)]
        if all(job is not None and runs(job) for job in found) and found[0] == found[2]:
            model.found_doubled(name, clusters, at)

    async def _read(self, cluster: str, name: str) -> Document | None:
        try:
            return document(await self.clients[cluster].get(JOBS, name, manifests.NAMESPACE))
        except (ApiError, ConnectionError):
            return None

    def all(self, cluster: str, resource: str) -> list[Document]:
        return list(self._seen[cluster, resource].values())

    def stored(self, cluster: str, resource: str, key: Key) -> Document | None:
        return self._seen[cluster, resource].get(key)

    # Programs

    def _clock(self, skew: float) -> Skewed:
        return SkewedSystemClock(skew)

    def _carrier(self, line: str) -> Transport:
        made = kubernetes_transport.connect(self._proxies[line].config)
        self._connections.setdefault(line.split(">", maxsplit=1)[0], []).append(made)
        return made

    async def _hang_up(self, program: str) -> None:
        for connection in self._connections.pop(program, ()):
            await connection.close()

    # From one history to the next

    async def prepare(self, calm: Script) -> None:
        """Nothing is left of the history before, and ``calm`` holds; no program runs."""
        for program in list(self._programs):
            await self.kill(program)
        for line in self.lines.values():
            line.heal()
        await self._clean()
        self.script, self.model = calm, self._model()
        for number, line in enumerate(self.lines.values()):
            line.faults.use(plan(calm, number))
            line.faults.injected.clear()
        await self.clients[MANAGER].patch(
            DISPATCH_POLICIES, "default", "", manifests.policy(keep=calm.keep), patch_type=PatchType.MERGE
        )
        with contextlib.suppress(NotFound):
            await self.clients[MANAGER].delete(LEASES, LEADERSHIP[1], LEADERSHIP[0])

    async def _clean(self) -> None:
        end = self.clock.monotonic() + CLEAN_SECONDS
        while self._left():
            for cluster, kind, key in self._left():
                await self._remove(cluster, kind, key)
            await asyncio.sleep(0.2)
            if self.clock.monotonic() > end:
                raise TimeoutError(f"still there after {CLEAN_SECONDS:g} s: {self._left()}")

    def _left(self) -> list[tuple[str, str, Key]]:
        return [(cluster, kind, key) for (cluster, kind), seen in self._seen.items() for key in seen]

    async def _remove(self, cluster: str, kind: str, key: Key) -> None:
        client, resource = self.clients[cluster], FOLLOWED[kind]
        body: dict[str, Any] = {"metadata": {"finalizers": None}}
        with contextlib.suppress(NotFound):
            await client.patch(resource, key.name, key.namespace, body, patch_type=PatchType.MERGE)
            await client.delete(resource, key.name, key.namespace)

    async def close(self) -> None:
        for program in list(self._programs):
            await self.kill(program)
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        for proxy in self._proxies.values():
            await proxy.stop()
        for transport in self._direct:
            await transport.close()
        for server in self._servers.values():
            await server.stop()
