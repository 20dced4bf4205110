"""A federation in one process: API servers of the chosen sort, real agents, the real hub."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import msgspec

from hub.app import configuration, roles
from hub.app.hub import Hub
from hub.clusters.credentials import Credential
from hub.settings import HubSettings
from tests import api_servers, cluster_choice
from tests.api_servers import ApiServer
from worker_agent.api import resource_type
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import JOBS, NODES, WORKLOADS, ResourceType
from worker_agent.app import configuration as agent_configuration
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import AlreadyExists, NotFound
from worker_agent.kube.transport import Request, Response, Transport
from worker_agent.settings import AgentSettings

CLOCK = SystemClock()
SYSTEM = "kueue-system"
PATIENCE = 120.0
"""Seconds a test waits for what takes few on a machine that is not busy."""
STOP_SECONDS = 90.0
"""A program that is told to stop takes a moment, on a busy machine many."""
API = "kueue.x-k8s.io/v1beta2"
SETTINGS: Document = {
    "wait_for_pods_ready": None,
    # Who renews its lease is one busy process here, on a machine that may be busy as well.
    "leader_election": {"lease_duration": timedelta(minutes=4), "renew_deadline": timedelta(minutes=3)},
}

_BY_KIND = {found.kind: found for found in vars(resource_type).values() if isinstance(found, ResourceType)}


@dataclass
class Switch:
    """A Transport that can be cut: then nothing gets through, and streams end."""

    inner: Transport
    cut: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(self, request: Request) -> Response:
        if self.cut.is_set():
            raise ConnectionError("the network is cut")
        response = await self.inner.request(request)
        return Response(response.status, response.headers, self._frames(response))

    async def _frames(self, response: Response) -> AsyncIterator[bytes]:
        pieces = aiter(response.stream)
        cut: asyncio.Future[Any] = asyncio.ensure_future(self.cut.wait())
        piece: asyncio.Future[Any] = cut
        try:
            while True:
                piece = asyncio.ensure_future(_piece(pieces))
                await asyncio.wait({piece, cut}, return_when=asyncio.FIRST_COMPLETED)
                if not piece.done():
                    raise ConnectionError("the network was cut")
                if (found := piece.result()) is None:
                    return
                yield found
        finally:
            for task in {piece, cut}:
                task.cancel()
            await asyncio.wait({piece, cut})
            await response.close()

    async def close(self) -> None:
        """Left open for the next hub; whoever lent the server closes its connections."""


async def _piece(pieces: AsyncIterator[bytes]) -> bytes | None:
    try:
        return await anext(pieces)
    except StopAsyncIteration:
        return None


class Cluster:
    """One API server and a client on it."""

    def __init__(self, name: str, server: ApiServer, account: str) -> None:
        """``account`` is whose the hub is on this cluster."""
        self.name = name
        self.server = server
        self.client = Client(server.transport, CLOCK)
        self.switch = Switch(api_servers.as_program(server, account))

    async def create(self, *documents: Document) -> None:
        for document in documents:
            resource = _BY_KIND[document["kind"]]
            namespace = document["metadata"].get("namespace", "")
            with contextlib.suppress(AlreadyExists):
                await self.client.create(resource, document, namespace)

    async def get(self, resource: ResourceType, name: str, namespace: str = "ns") -> Document | None:
        try:
            found: Document = msgspec.json.decode(
                await self.client.get(resource, name, namespace if resource.namespaced else "")
            )
        except NotFound:
            return None
        return found

    async def all(self, resource: ResourceType) -> list[Document]:
        return [msgspec.json.decode(item) for item in (await self.client.list(resource)).items]

    async def patch(self, resource: ResourceType, name: str, body: Document, subresource: str = "") -> None:
        namespace = "ns" if resource.namespaced else ""
        await self.client.patch(resource, name, namespace, body, patch_type=PatchType.MERGE, subresource=subresource)


async def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """The condition's (possibly awaited) value once it is true. Fails after ``seconds`` with ``what`` was expected."""
    started = CLOCK.monotonic()
    while True:
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        waited = CLOCK.monotonic() - started
        assert waited < seconds, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(api_servers.pause(waited))


# Manifests


def queues(*, cpu: int, checks: Iterable[str] = ()) -> list[Document]:
    """Namespaces, flavor, ClusterQueue and LocalQueue with this quota."""
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    spec: Document = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}],
    }
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}},
        {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "default"}, "spec": {}},
        {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": spec},
        {
            "apiVersion": API,
            "kind": "LocalQueue",
            "metadata": {"name": "lq", "namespace": "ns"},
            "spec": {"clusterQueue": "cq"},
        },
    ]


def node(*, cpu: int) -> Document:
    amounts = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node"},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready]},
    }


def federation(*workers: str) -> list[Document]:
    """The manager's AdmissionCheck, MultiKueueConfig, and per worker its Secret and MultiKueueCluster."""
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
    found: list[Document] = [
        {
            "apiVersion": API,
            "kind": "AdmissionCheck",
            "metadata": {"name": "mk"},
            "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters},
        },
        {"apiVersion": API, "kind": "MultiKueueConfig", "metadata": {"name": "all"}, "spec": {"clusters": [*workers]}},
    ]
    for name in workers:
        found += [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"{name}-kubeconfig", "namespace": SYSTEM},
                "data": {"kubeconfig": base64.b64encode(kubeconfig(name).encode()).decode()},
            },
            {
                "apiVersion": API,
                "kind": "MultiKueueCluster",
                "metadata": {"name": name},
                "spec": {"clusterSource": {"kubeConfig": {"location": f"{name}-kubeconfig", "locationType": "Secret"}}},
            },
        ]
    return found


def kubeconfig(name: str) -> str:
    return (
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        f"clusters: [{{name: c, cluster: {{server: 'https://{name}.example'}}}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        "users: [{name: u, user: {token: secret}}]\n"
    )


def job(name: str, *, cpu: int = 1, parallelism: int = 1) -> Document:
    """A Job as the manager's webhook leaves it: suspended, and managed by MultiKueue."""
    containers = [{"name": "c", "image": "train", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {
            "suspend": True,
            "managedBy": "kueue.x-k8s.io/multikueue",
            "parallelism": parallelism,
            "completions": parallelism,
            "template": {"spec": {"restartPolicy": "Never", "containers": containers}},
        },
    }


# The programs


class Federation:
    """A manager and its workers; programs are started and stopped by name."""

    def __init__(self, servers: list[ApiServer], quota: dict[str, int]) -> None:
        self.manager = Cluster("manager", servers[0], roles.HUB)
        self.workers = {
            name: Cluster(name, server, roles.DISPATCH) for name, server in zip(quota, servers[1:], strict=True)
        }
        self.quota = quota
        self.hub: Hub | None = None
        self._tasks: dict[str, tuple[asyncio.Event, asyncio.Task[None]]] = {}

    async def install(self) -> None:
        """Queues on every cluster; the manager's quota is that of all workers together."""
        await self.manager.create(*queues(cpu=sum(self.quota.values()), checks=["mk"]))
        await self.manager.create(*federation(*self.workers))
        for name, cluster in self.workers.items():
            await cluster.create(*queues(cpu=self.quota[name]), node(cpu=self.quota[name]))
            # New nodes are tainted as not ready until the node controller has seen them; there is none here.
            await cluster.patch(NODES, "node", {"spec": {"taints": None}})

    def start_hub(self, **changes: Any) -> Hub:
        agent_settings, federation_settings = configuration.resolve(HubSettings(**SETTINGS))
        agent = Agent(agent_settings, Surroundings(self.manager.switch, CLOCK, webhooks=False))
        changed = replace(federation_settings, batch_period=0.05, **changes)
        self.hub = Hub(agent, changed, transport=self._transport)
        self._start("hub", agent)
        return self.hub

    def start_worker(self, name: str) -> None:
        settings = agent_configuration.resolve(AgentSettings(**SETTINGS))
        transport = api_servers.as_program(self.workers[name].server, roles.AGENT)
        agent = Agent(settings, Surroundings(transport, CLOCK, webhooks=False))
        self._start(name, agent)

    def _start(self, name: str, agent: Agent) -> None:
        stop = asyncio.Event()
        self._tasks[name] = (stop, asyncio.create_task(agent.run(stop), name=name))

    async def stop(self, name: str) -> None:
        stop, task = self._tasks.pop(name)
        stop.set()
        await asyncio.wait_for(task, STOP_SECONDS)

    async def crash(self, name: str) -> None:
        """End a program without a chance to finish anything, and start it again."""
        _, task = self._tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if name == "hub":
            self.start_hub(gc_interval=1.0)
        else:
            self.start_worker(name)

    async def stop_all(self) -> None:
        """The hub last: who dials it would dial again, and leave it with a handshake when the loop ends."""
        for name in reversed(list(self._tasks)):
            await self.stop(name)

    def _transport(self, credential: Credential) -> Transport:
        content = (credential.kubeconfig or b"").decode()
        return next(cluster.switch for name, cluster in self.workers.items() if f"{name}.example" in content)


@contextlib.asynccontextmanager
async def running(*, start_hub: bool = True, **workers: int) -> AsyncIterator[Federation]:
    """A federation with one worker per keyword, of so many cpus."""
    async with api_servers.in_memory(1 + len(workers)) as servers:
        world = Federation(servers, workers)
        await world.install()
        try:
            for name in workers:
                world.start_worker(name)
            if start_hub:
                world.start_hub()
            yield world
        finally:
            await world.stop_all()


async def finish_job(cluster: Cluster, name: str) -> None:
    """What the cluster's own Job controller writes when all pods have succeeded."""
    now = CLOCK.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    found = await cluster.get(JOBS, name)
    assert found is not None
    count = value_at(found, "spec.completions", 1)
    reached = {"status": "True", "reason": "CompletionsReached", "lastTransitionTime": now}
    conditions = [
        {"type": kind, "message": "Reached expected number of succeeded pods", **reached}
        for kind in cluster_choice.conditions_of_the_end()
    ]
    started = value_at(found, "status.startTime", now)
    times = {"startTime": started, "completionTime": now}
    status = {**times, "succeeded": count, "ready": 0, "terminating": 0, "conditions": conditions}
    await cluster.patch(JOBS, name, {"status": status}, "status")


async def runs_on(world: Federation, name: str) -> str:
    """The worker on which the Job is unsuspended, or an empty string."""
    for worker, cluster in world.workers.items():
        found = await cluster.get(JOBS, name)
        if found is not None and not value_at(found, "spec.suspend", False):
            return worker
    return ""


async def workload_of(world: Federation, job_name: str) -> Document | None:
    """The manager's Workload of a Job."""
    for found in await world.manager.all(WORKLOADS):
        if any(owner["name"] == job_name for owner in value_at(found, "metadata.ownerReferences", [])):
            return found
    return None


async def is_complete(cluster: Cluster, name: str) -> bool:
    found = await cluster.get(JOBS, name)
    return any(c["type"] == "Complete" and c["status"] == "True" for c in value_at(found, "status.conditions", []))
