"""A federation in memory on virtual time: the real hub and the real agents, API servers that are seen through."""

import asyncio
import contextlib
import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

import msgspec

from hub.app import configuration
from hub.app.hub import Hub
from hub.clusters.credentials import Credential
from hub.local.apiserver import bootstrap
from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.store import Event
from hub.local.objects import resource_of
from hub.settings import HubSettings
from tests.faults.lines import Line
from tests.faults.model import MANAGER, ORIGIN, Model, origin_of
from tests.faults.players import RUN_SECONDS, JobPlayer
from tests.faults.script import LINES, WORKERS, Script
from tests.integration.federation.world import federation, job, node, queues
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import LEASES, NODES
from worker_agent.app import configuration as agent_configuration
from worker_agent.app.agent import Agent, LeadershipLost, Surroundings
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import LoopClock
from worker_agent.kube.faults import Fault, FaultPlan
from worker_agent.kube.transport import Request, Transport
from worker_agent.settings import AgentSettings

URGENT: Document = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "urgent"},
    "value": 100,
}
START = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "ns"
WORKER_CPU = 4
MANAGER_CPU = 8
STORES = {"batch/jobs": "jobs", "kueue.x-k8s.io/workloads": "workloads"}
COMMON: dict[str, Any] = {
    "integrations": {"frameworks": ["batch/job"]},
    "leader_election": {"leader_elect": False},
    "wait_for_pods_ready": None,
}
ELECTION = {
    "lease_duration": timedelta(seconds=4),
    "renew_deadline": timedelta(seconds=3),
    "retry_period": timedelta(seconds=1),
}
RESTART_SECONDS = 0.5
LEADERSHIP = ("coordination.k8s.io/leases", "kueue-system", "c1f6bfd2.kueue.x-k8s.io")


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
    if manager:
        policy = {"metadata": {"name": "default"}, "spec": {"onContactLost": "Keep" if keep else "Stop"}}
        documents = [*queues(cpu=MANAGER_CPU, checks=["mk"]), *federation(*WORKERS), URGENT]
        preemption = {"withinClusterQueue": "LowerPriority"}
        for document in documents:
            if document["kind"] == "ClusterQueue":
                document["spec"]["preemption"] = preemption
        documents.append({"apiVersion": "fedhub.dev/v1alpha1", "kind": "DispatchPolicy", **policy})
    else:
        documents = [*queues(cpu=WORKER_CPU), node(cpu=WORKER_CPU)]
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


class SkewedClock(LoopClock):
    """The wall clock of one program: ``skew`` seconds ahead, and it may jump."""

    def __init__(self, seed: int, skew: float) -> None:
        super().__init__(START, seed)
        self.skew = skew

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.skew)


class World:
    """One history's federation. ``clients`` carry the tests' own wishes, past all faults."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.clock = LoopClock(START, script.seed)
        quota = {MANAGER: MANAGER_CPU * 1000, **{name: WORKER_CPU * 1000 for name in WORKERS}}
        self.model = Model(quota)
        self.servers = {name: self._server(name) for name in (MANAGER, *WORKERS)}
        self.clients = {name: Client(InProcessTransport(server), self.clock) for name, server in self.servers.items()}
        self.players = {name: JobPlayer(self.clients[name], self.clock, self._completed) for name in WORKERS}
        self.lines = {
            name: Line(InProcessTransport(self.servers[name.split(">")[1]]), self.clock, _plan(script, number))
            for number, name in enumerate(LINES)
        }
        self._programs: dict[str, asyncio.Task[None]] = {}
        self._clocks: dict[str, SkewedClock] = {}
        self.hub: Hub | None = None

    def begin(self, script: Script) -> None:
        """From now on ``script`` holds: its chances, its clocks, its own luck. Made for one that was calm so far."""
        self.script = script
        random.seed(script.seed)
        for cluster, server in self.servers.items():
            server.core.state.entropy = random.Random(f"{cluster} {script.seed}").randbytes
        for number, line in enumerate(self.lines.values()):
            line.faults.use(_plan(script, number))
        for program, clock in self._clocks.items():
            clock.skew = script.skews.get(program, 0.0)

    def _server(self, cluster: str) -> SeenServer:
        template = _template(cluster, self.script.keep)
        # Stored objects are never changed, so the copies share them; entropy is set anew.
        shared = {id(template.state.entropy): None, id(template.state.resources): template.state.resources}
        for collection in template.state.collections.values():
            shared |= {id(stored): stored for stored in collection.objects.values()}
        # No history changes a definition, and what is compiled of them is the most of a state.
        shared |= {id(conversion): conversion for conversion in template.state.conversions.values()}
        state = copy.deepcopy(template.state, shared)
        state.entropy = random.Random(f"{cluster} {self.script.seed}").randbytes
        server = SeenServer(Core(state, template.schemas, template.authenticator), self.clock)
        server.on_commit = lambda event: self._committed(cluster, event)
        return server

    def _committed(self, cluster: str, event: Event) -> None:
        kind = STORES.get(event.store)
        if kind is None:
            return
        old = event.old.document() if event.old is not None else None
        new = event.new.document() if event.new is not None else None
        self.model.observe(cluster, kind, old, new, self.clock.monotonic())
        if kind == "jobs" and cluster != MANAGER:
            self.players[cluster].observe(old, new)

    def _completed(self, name: str) -> None:
        self.model.completions[name] += 1

    # Programs

    def start(self, program: str) -> None:
        if program in self._programs:
            return
        clock = SkewedClock(self.script.seed, self.script.skews.get(program, 0.0))
        self._clocks[program] = clock
        agent = self._hub(program, clock) if program.startswith("hub") else self._agent(program, clock)
        self._programs[program] = task = asyncio.create_task(agent.run(asyncio.Event()), name=program)
        task.add_done_callback(lambda done: self._ended(program, done))

    def _ended(self, program: str, task: asyncio.Task[None]) -> None:
        """Who has lost its leadership is started again by whatever runs it."""
        if self._programs.get(program) is task and not task.cancelled() and has_lost_leadership(task.exception()):
            del self._programs[program]
            asyncio.get_running_loop().call_later(RESTART_SECONDS, self.start, program)

    def _agent(self, program: str, clock: LoopClock) -> Agent:
        line = self.lines[f"{program}>{program.removeprefix('agent-')}"]
        surroundings = Surroundings(line, clock, threaded=False, webhooks=False)
        return Agent(agent_configuration.resolve(AgentSettings(**COMMON)), surroundings)

    def start_another_hub(self, program: str) -> None:
        """A second replica over lines of its own, such as ``hub-2>w1``."""
        for cluster in (MANAGER, *WORKERS):
            line = Line(InProcessTransport(self.servers[cluster]), self.clock, FaultPlan({}))
            self.lines[f"{program}>{cluster}"] = line
        self.start(program)

    def _hub(self, program: str, clock: LoopClock) -> Agent:
        stanza = {
            "dispatcher_name": self.script.dispatcher,
            "worker_lost_timeout": self.script.worker_lost_timeout,
            "gc_interval": timedelta(seconds=10),
        }
        common = {**COMMON, "leader_election": ELECTION} if self.script.elect else COMMON
        settings = HubSettings(multi_kueue=stanza, federation={"round_timeout": timedelta(seconds=15)}, **common)
        agent_settings, federated = configuration.resolve(settings)
        surroundings = Surroundings(self.lines[f"{program}>manager"], clock, threaded=False, webhooks=False)
        agent = Agent(agent_settings, surroundings)
        self.hub = Hub(agent, replace(federated, threaded=False), transport=partial(self._transport, program))
        return agent

    def _transport(self, program: str, credential: Credential) -> Transport:
        content = (credential.kubeconfig or b"").decode()
        return next(self.lines[f"{program}>{name}"] for name in WORKERS if f"{name}.example" in content)

    async def kill(self, program: str) -> None:
        """It ends between two awaits, without a goodbye."""
        task = self._programs.pop(program, None)
        if task is None:
            return
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        if outcome is not None and not isinstance(outcome, asyncio.CancelledError):
            raise outcome

    async def steal_leadership(self) -> None:
        """Somebody else writes the hub's lease, and never renews it."""
        store, namespace, name = LEADERSHIP
        found = self.servers[MANAGER].core.state.get(store, namespace, name)
        if found is None:
            return
        spec = found.document()["spec"]
        stolen = {"holderIdentity": "thief", "leaseTransitions": spec.get("leaseTransitions", 0) + 1}
        body = {"spec": {**stolen, "leaseDurationSeconds": 4}}
        await self.clients[MANAGER].patch(LEASES, name, namespace, body, patch_type=PatchType.MERGE)

    def check_alive(self) -> None:
        for task in self._programs.values():
            if task.done():
                task.result()

    async def close(self) -> None:
        for program in list(self._programs):
            await self.kill(program)
        for server in self.servers.values():
            await server.stop()

    # Reading

    def stored(self, cluster: str, resource: str, key: Key) -> Document | None:
        store = next(store for store, kind in STORES.items() if kind == resource)
        found = self.servers[cluster].core.state.get(store, key.namespace, key.name)
        return found.document() if found is not None else None

    def all(self, cluster: str, resource: str) -> list[Document]:
        store = next(store for store, kind in STORES.items() if kind == resource)
        objects = self.servers[cluster].core.state.collection(store).objects
        return [found.document() for found in objects.values()]

    def ours(self, cluster: str) -> list[str]:
        return [
            f"{resource.rstrip('s')} {found['metadata']['name']}"
            for resource in ("jobs", "workloads")
            for found in self.all(cluster, resource)
            if origin_of(found) == ORIGIN
        ]

    def workload_of(self, name: str) -> Document | None:
        """The manager's Workload of a Job."""
        for found in self.all(MANAGER, "workloads"):
            if any(owner["name"] == name for owner in found["metadata"].get("ownerReferences", ())):
                return found
        return None


def _plan(script: Script, number: int) -> FaultPlan:
    chances = {Fault(kind): chance for kind, chance in script.chances.items()}
    return FaultPlan(chances, longest_delay=1.5, seed=script.seed * 31 + number)


def has_lost_leadership(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(has_lost_leadership(each) for each in error.exceptions)
    return isinstance(error, LeadershipLost)


def submitted(name: str, *, cpu: int, seconds: float, priority: int) -> Document:
    """A Job of one pod that works for so long."""
    document = job(name, cpu=cpu)
    document["spec"]["template"]["metadata"] = {"annotations": {RUN_SECONDS: str(seconds)}}
    if priority:
        document["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    return document
