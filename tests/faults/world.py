"""A federation in memory on virtual time: the real hub and the real agents, API servers that are seen through."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

import msgspec

from hub.local.apiserver import bootstrap
from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.store import Event
from hub.local.objects import resource_of
from tests.faults import manifests
from tests.faults.federation import Federation, Skewed, plan
from tests.faults.lines import Line
from tests.faults.model import MANAGER
from tests.faults.players import JobPlayer
from tests.faults.script import LINES, WORKERS, Script
from tests.faults.virtual_loop import VirtualLoop
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import NODES
from worker_agent.kube.client import Client
from worker_agent.kube.clock import LoopClock
from worker_agent.kube.faults import FaultPlan
from worker_agent.kube.transport import Request, Response, Whole

START = datetime(2026, 1, 1, tzinfo=UTC)
STORES = {"batch/jobs": "jobs", "kueue.x-k8s.io/workloads": "workloads"}


class SeenServer(ApiServer):
    """Tells of every commit at the moment it happens."""

    on_commit: Callable[[Event], None] = staticmethod(lambda event: None)

    def _publish(self, events: Sequence[Event]) -> None:
        for event in events:
            self.on_commit(event)
        super()._publish(events)


def _template(cluster: str, keep: bool) -> Core:
    """A server with definitions and queues, made once; its state is copied for each history."""
    return _made_template(cluster == MANAGER, keep and cluster == MANAGER)


@cache
def _made_template(manager: bool, keep: bool) -> Core:
    """Workers are alike."""
    cluster = MANAGER if manager else "worker"
    core = Core(new_state(random.Random(cluster).randbytes, 1), SchemaRegistry(), Authenticator({}))
    bootstrap.fill(core, crds.documents(), START)
    server = ApiServer(core, LoopClock(START))
    documents = manifests.manager(keep=keep) if manager else manifests.worker()
    for document in documents:
        _send(server, "POST", resource_of(document).path(document["metadata"].get("namespace", "")), document)
    if not manager:
        # New nodes are tainted as not ready until the node controller has seen them; there is none here.
        _send(server, "PATCH", NODES.path(name="node"), {"spec": {"taints": None}})
    core.state.take_events()
    for collection in core.state.collections.values():
        collection.log.clear()
    return core


def _send(server: ApiServer, method: str, path: str, document: Document) -> None:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"content-type": kind, "accept": "application/json", "user-agent": "tests"}
    request = Request(method, path, (), headers, msgspec.json.encode(document))
    steps = server.core.handle(request, bootstrap.SELF, START)
    with contextlib.suppress(StopIteration):
        next(steps)


class EventsUnread(InProcessTransport):
    """Events are taken and thrown away: nobody reads them here, and a tenth of all writes are events."""

    async def request(self, request: Request) -> Response:
        if request.method == "GET" or "/events" not in request.path:
            return await super().request(request)
        return Response(200, {"content-type": "application/json"}, Whole(request.body))


class WorldClock(LoopClock):
    """Bound to the loop it is made in, which every history of a process runs on: it is read two thousand times in each.

    ``skew``: its wall time is so many seconds ahead, and may jump."""

    def __init__(self, seed: int, skew: float = 0.0) -> None:
        super().__init__(START, seed)
        self.skew = skew
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._loop = loop
        self._told = float("nan"), START

    def now(self) -> datetime:
        seconds = self._loop.moment + self.skew
        if seconds != self._told[0]:  # much happens at one moment
            self._told = seconds, START + timedelta(seconds=seconds)
        return self._told[1]

    def monotonic(self) -> float:
        return self._loop.moment


class World(Federation):
    """One history's federation."""

    def __init__(self, script: Script) -> None:
        super().__init__(script, WorldClock(script.seed))
        self.servers = {name: self._server(name) for name in (MANAGER, *WORKERS)}
        self.clients = {name: Client(InProcessTransport(server), self.clock) for name, server in self.servers.items()}
        self.players = {name: JobPlayer(self.clients[name], self.clock, self._completed) for name in WORKERS}
        self.lines = {
            name: Line(EventsUnread(self.servers[name.split(">")[1]]), self.clock, plan(script, number))
            for number, name in enumerate(LINES)
        }

    async def begin(self, script: Script) -> None:
        """Its own luck, too. What the history before has left stays as it is."""
        await super().begin(script)
        self.model = self.model.next_history()
        random.seed(script.seed)
        for cluster, server in self.servers.items():
            server.core.state.entropy = random.Random(f"{cluster} {script.seed}").randbytes

    def out_of_contact(self) -> list[str]:
        missing = set(WORKERS) - set(self.hub.clients.connected()) if self.hub is not None else set(WORKERS)
        return [f"the hub is not in contact with {name} again" for name in sorted(missing)]

    def _clock(self, skew: float) -> Skewed:
        return WorldClock(self.script.seed, skew)

    def start_another_hub(self, program: str) -> None:
        """A second replica over lines of its own, such as ``hub-2>w1``."""
        for cluster in (MANAGER, *WORKERS):
            line = Line(InProcessTransport(self.servers[cluster]), self.clock, FaultPlan({}))
            self.lines[f"{program}>{cluster}"] = line
        self.start(program)

    def _server(self, cluster: str) -> SeenServer:
        template = _template(cluster, self.script.keep)
        state = template.state.twin(random.Random(f"{cluster} {self.script.seed}").randbytes)
        server = SeenServer(Core(state, template.schemas, template.authenticator), self.clock)
        server.on_commit = lambda event: self._committed(cluster, event)
        return server

    def _committed(self, cluster: str, event: Event) -> None:
        kind = STORES.get(event.store)
        if kind is None:
            return
        old, new = (each.frozen() if each is not None else None for each in (event.old, event.new))
        self.model.observe(cluster, kind, old, new, self.clock.monotonic())
        if kind == "jobs" and cluster != MANAGER:
            self.players[cluster].observe(old, new)

    async def close(self) -> None:
        for program in list(self._programs):
            await self.kill(program)
        for server in self.servers.values():
            await server.stop()

    # Reading

    def stored(self, cluster: str, resource: str, key: Key) -> Document | None:
        store = next(store for store, kind in STORES.items() if kind == resource)
        found = self.servers[cluster].core.state.get(store, key.namespace, key.name)
        return found.frozen() if found is not None else None

    def all(self, cluster: str, resource: str) -> list[Document]:
        store = next(store for store, kind in STORES.items() if kind == resource)
        objects = self.servers[cluster].core.state.collection(store).objects
        return [found.frozen() for found in objects.values()]
