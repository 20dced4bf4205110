"""One cluster in memory on virtual time: an API server that is seen through, the agent with its webhooks, and simulated
controllers of every kind."""

import asyncio
import contextlib
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from hub.local import demo_kinds
from hub.local.apiserver import bootstrap
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.store import Event
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from hub.local.simulation.cluster import ALL_PARTS, JOB_KINDS, run_simulation
from hub.local.simulation.operators import definitions
from hub.local.simulation.shape import ClusterShape, NodeGroup
from tests.faults.world import SeenServer
from tests.races.model import Model
from tests.races.subjects import NAMESPACE, QUEUE
from worker_agent.api import companions, crds
from worker_agent.api.document import Document
from worker_agent.api.frameworks import FRAMEWORKS
from worker_agent.api.job_kind import JobKind
from worker_agent.api.resource_type import CLUSTER_QUEUES, ResourceType
from worker_agent.app import configuration, job_surroundings
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.client import Client
from worker_agent.kube.clock import LoopClock
from worker_agent.kube.transport import Request
from worker_agent.settings import AgentSettings
from worker_agent.validation import ValidationPolicy
from worker_agent.webhooks import configurations, hooks, review
from worker_agent.webhooks.configurations import Configurations, Endpoint

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER_QUEUE: Final = "all"
CPU: Final = 64
"""Quota and machines have room for all subjects at any size: what waits at the end waits without a reason."""
SHAPE: Final = ClusterShape((NodeGroup("n", 4, {"cpu": "32", "memory": "256Gi", "pods": "110"}),))
HOOKS: Final = "https://hooks.invalid"
SETTINGS: Final[dict[str, Any]] = {
    "integrations": {"frameworks": list(FRAMEWORKS)},
    "feature_gates": {"SparkApplicationIntegration": True},
    "leader_election": {"leader_elect": False},
    "wait_for_pods_ready": None,
}


@dataclass
class Hooks:
    """Carries the server's calls to the agent's webhooks, without a network in between."""

    table: hooks.HookTable | None = None

    async def call(self, call: WebhookCall) -> WebhookAnswer:
        if self.table is None:
            return WebhookAnswer(None, "the webhooks do not answer yet")
        question = review.read(msgspec.json.encode(call.review))
        verdict = await self.table.hooks[urlsplit(call.url).path](question)
        return WebhookAnswer(msgspec.json.decode(review.answer(question, verdict)))


def _queues() -> Iterator[tuple[str, Document]]:
    api = "kueue.x-k8s.io/v1beta2"
    resources = [{"name": "cpu", "nominalQuota": CPU}, {"name": "memory", "nominalQuota": "512Gi"}]
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": resources}]}]
    yield "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    root = f"/apis/{api}"
    yield f"{root}/resourceflavors", {"apiVersion": api, "kind": "ResourceFlavor", "metadata": {"name": "default"}}
    spec = {"namespaceSelector": {}, "resourceGroups": groups}
    yield (
        f"{root}/clusterqueues",
        {"apiVersion": api, "kind": "ClusterQueue", "metadata": {"name": CLUSTER_QUEUE}, "spec": spec},
    )
    for name in (QUEUE, "second"):
        metadata = {"name": name, "namespace": NAMESPACE}
        document = {"apiVersion": api, "kind": "LocalQueue", "metadata": metadata}
        yield f"{root}/namespaces/{NAMESPACE}/localqueues", {**document, "spec": {"clusterQueue": CLUSTER_QUEUE}}
    for document in demo_kinds.prerequisites():
        yield f"/apis/{document['apiVersion']}/clustertrainingruntimes", document


@cache
def _template() -> Core:
    """A server with definitions and queues, made once; its state is copied for each race."""
    core = Core(new_state(random.Random("races").randbytes, 1), SchemaRegistry(), Authenticator({}))
    bootstrap.fill(core, [*crds.documents(), *definitions.documents()], START)
    for path, document in _queues():
        steps = core.handle(_create(path, document), bootstrap.SELF, START)
        # No webhook is registered yet, so the first step is the last.
        with contextlib.suppress(StopIteration):
            next(steps)
    core.state.take_events()
    for collection in core.state.collections.values():
        collection.log.clear()
    return core


def _create(path: str, document: Document) -> Request:
    headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "tests"}
    return Request("POST", path, (), headers, msgspec.json.encode(document))


class World:
    """``client`` is the user and the administrator; ``model`` sees every commit."""

    def __init__(self, seed: int) -> None:
        self.clock = LoopClock(START, seed)
        self.model = Model(CPU * 1000)
        self._hooks = Hooks()
        self.server = self._server(seed)
        self.client = Client(InProcessTransport(self.server), self.clock, user_agent="user")
        simulated = Client(InProcessTransport(self.server), self.clock, user_agent="simulation")
        self._simulated = simulated
        self._tasks: list[asyncio.Task[None]] = []

    def _server(self, seed: int) -> SeenServer:
        template = _template()
        # Stored objects are never changed, so the copies share them; entropy is set anew.
        shared: dict[int, Any] = {id(template.state.entropy): None}
        shared[id(template.state.resources)] = template.state.resources
        for collection in template.state.collections.values():
            shared |= {id(stored): stored for stored in collection.objects.values()}
        shared |= {id(conversion): conversion for conversion in template.state.conversions.values()}
        state = copy.deepcopy(template.state, shared)
        state.entropy = random.Random(f"races {seed}").randbytes
        server = SeenServer(Core(state, template.schemas, template.authenticator), self.clock, self._hooks)
        server.on_commit = self._committed
        return server

    def _committed(self, event: Event) -> None:
        if event.store == "kueue.x-k8s.io/workloads":
            new = event.new.document() if event.new is not None else None
            old = event.old.document() if event.old is not None else None
            self.model.observe(old, new, self.clock.monotonic())

    def agent(self) -> Agent:
        """What works on this cluster."""
        resolved = configuration.resolve(AgentSettings(**SETTINGS))
        return Agent(resolved, self.surroundings())

    def surroundings(self) -> Surroundings:
        return Surroundings(InProcessTransport(self.server), self.clock, threaded=False, webhooks=False)

    async def start(self) -> None:
        """Returns when users may act."""
        agent = self.agent()
        resolved = agent.configuration
        self._tasks.append(asyncio.create_task(agent.run(asyncio.Event()), name="agent"))
        await agent.ready.wait()
        around = job_surroundings.reader(agent.known, agent.ancestors, resolved.jobs)
        table = hooks.table(ValidationPolicy.from_gates(resolved.gates), resolved.kinds.values(), around)
        self._hooks.table = table
        wanted = Configurations(table.served, Endpoint(HOOKS), resolved.job_namespaces)
        await configurations.install(self.client, wanted, b"")
        simulation = run_simulation(
            self._simulated, SHAPE, self.clock, on_completion=lambda done: None, parts=ALL_PARTS | JOB_KINDS
        )
        self._tasks.append(asyncio.create_task(simulation, name="simulation"))

    def check_alive(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.stop()

    # Reading, past every cache

    def all(self, resource: ResourceType) -> list[Document]:
        """The objects of a kind in the race's namespace."""
        store = f"{resource.group}/{resource.plural}"
        collection = self.server.core.state.collections.get(store)
        found = [] if collection is None else [stored.document() for stored in collection.objects.values()]
        return [each for each in found if each["metadata"].get("namespace", NAMESPACE) == NAMESPACE]

    def one(self, resource: ResourceType, name: str) -> Document | None:
        return next((each for each in self.all(resource) if each["metadata"]["name"] == name), None)

    def joined(self, kind: JobKind, job: Document) -> Document:
        """The job with what its pods, or what is told of them, follow from."""
        wanted = kind.companions(job)
        return companions.joined(job, wanted, lambda each: self.one(each.resource, each.name))

    def queue_status(self) -> Document:
        found = self.server.core.state.get(f"{CLUSTER_QUEUES.group}/{CLUSTER_QUEUES.plural}", "", CLUSTER_QUEUE)
        status: Document = found.document().get("status") or {} if found is not None else {}
        return status
