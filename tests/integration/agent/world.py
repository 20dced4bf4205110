"""One cluster for a test: an API server of the chosen sort, an agent on it, and a client who is the user."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import msgspec

from hub.app import roles
from hub.local import layout
from tests import api_servers, cluster_choice
from tests.api_servers import ApiServer
from worker_agent.api.document import Document
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    EVENTS,
    JOBS,
    LOCAL_QUEUES,
    NAMESPACES,
    RESOURCE_FLAVORS,
    SECRETS,
    WORKLOADS,
    ResourceType,
)
from worker_agent.app import configuration
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import AlreadyExists
from worker_agent.kube.transport import Transport
from worker_agent.settings import AgentSettings
from worker_agent.webhooks import certificates

PATIENCE = 90.0
"""Seconds a test waits for something that takes milliseconds on a machine that is not busy."""


@cache
def _certificate(hosts: tuple[str, ...]) -> dict[str, str]:
    return certificates.create(hosts, SystemClock().now()).secret_data()


@cache
def _port_of_this_run() -> int:
    return layout.free_ports(1)[0]


def _webhook_port() -> int:
    """The same for all agents of this run, unless somebody has it.

    With the same certificate too, definitions on a lent control plane are told once where they are converted. Every
    time they are told costs its API server a tenth of a second and memory that it never gives back.
    """
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", _port_of_this_run()))
        except OSError:
            return layout.free_ports(1)[0]
    return _port_of_this_run()


class World:
    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.user = Client(server.transport, SystemClock(), user_agent="user")
        self.agent: Agent | None = None
        self._stop: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None

    def connected(self) -> Transport:
        """As an agent connects, with its rights."""
        return api_servers.as_program(self.server, roles.AGENT)

    async def start_agent(self, attach: Callable[[Agent], object] = lambda agent: None, **settings: object) -> Agent:
        """``attach`` adds what programs add to their agent."""
        port = _webhook_port()
        webhook = {"port": port, "host": "127.0.0.1", "url": f"https://127.0.0.1:{port}"}
        wanted = AgentSettings(leader_election={"leader_elect": False}, webhook=webhook, **settings)
        await self._have_certificate(wanted)
        self.agent = Agent(configuration.resolve(wanted), Surroundings(self.connected(), SystemClock()))
        attach(self.agent)
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self.agent.run(self._stop))
        ready = asyncio.create_task(self.agent.ready.wait())
        await asyncio.wait([ready, self._task], return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            self._task.result()
        return self.agent

    async def _have_certificate(self, settings: AgentSettings) -> None:
        """The same for all agents of this run, as the Secret of a program that was here before."""
        management = settings.internal_cert_management
        hosts = ("127.0.0.1", f"{management.webhook_service_name}.{settings.namespace}.svc")
        metadata = {"name": management.webhook_secret_name, "namespace": settings.namespace}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace}}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": _certificate(hosts)}
        for resource, document in ((NAMESPACES, namespace), (SECRETS, secret)):
            with contextlib.suppress(AlreadyExists):
                await self.create(resource, document)

    async def stop_agent(self) -> None:
        if self._task is not None and self._stop is not None:
            self._stop.set()
            await self._task
            self._task = None

    async def kill_agent(self) -> None:
        """As if the process had ended: nothing is finished, nothing is flushed."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def create(self, resource: ResourceType, document: Document) -> Document:
        namespace = document["metadata"].get("namespace", "")
        return msgspec.json.decode(await self.user.create(resource, document, namespace))

    async def get(self, resource: ResourceType, name: str, namespace: str = "") -> Document:
        return msgspec.json.decode(await self.user.get(resource, name, namespace))

    async def all(self, resource: ResourceType, namespace: str = "") -> list[Document]:
        return [msgspec.json.decode(raw) for raw in (await self.user.list(resource, namespace)).items]

    async def patch(self, resource: ResourceType, name: str, namespace: str, body: Document, sub: str = "") -> Document:
        raw = await self.user.patch(
            resource, name, namespace, body, patch_type=PatchType.MERGE, subresource=sub, field_manager="user"
        )
        return msgspec.json.decode(raw)

    async def job(self, name: str) -> Document:
        return await self.get(JOBS, name, "default")

    async def workload_of(self, job: str) -> Document | None:
        for workload in await self.all(WORKLOADS, "default"):
            if any(o["name"] == job for o in workload["metadata"].get("ownerReferences") or ()):
                return workload
        return None

    async def until(self, what: Callable[[], object], message: str = "") -> object:
        """The first true answer of the coroutine function ``what``; the test fails after PATIENCE."""
        answer = None
        try:
            async with asyncio.timeout(PATIENCE):
                started = SystemClock().monotonic()
                while not (answer := await what()):
                    await SystemClock().sleep(api_servers.pause(SystemClock().monotonic() - started))
        except TimeoutError:
            raise AssertionError(f"did not come about: {message or what.__name__}; last answer {answer!r}") from None
        return answer

    async def started(self, job: str) -> Document:
        async def unsuspended() -> Document | None:
            document = await self.job(job)
            return document if document["spec"].get("suspend") is False else None

        return await self.until(unsuspended, f"job {job} starts")

    async def condition(self, job: str, type_: str, status: str, reason: str = "") -> Document:
        """Waits for the job's Workload to have the condition."""

        async def found() -> Document | None:
            workload = await self.workload_of(job)
            for condition in ((workload or {}).get("status") or {}).get("conditions") or ():
                if condition["type"] == type_ and condition["status"] == status:
                    return condition if reason in ("", condition["reason"]) else None
            return None

        return await self.until(found, f"{type_}={status} {reason} on the workload of {job}")

    async def run_pods(self, job: str) -> None:
        """What the Job controller would report of running pods."""
        status = {"active": 1, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}
        await self.patch(JOBS, job, "default", {"status": status}, "status")

    async def finish_pods(self, job: str) -> None:
        """What the Job controller would report once a suspended job's pods are gone."""

        async def suspended() -> bool:
            return bool((await self.job(job))["spec"].get("suspend"))

        await self.until(suspended, f"job {job} is suspended")
        await self.patch(JOBS, job, "default", {"status": {"active": 0, "ready": 0}}, "status")

    async def finish(self, job: str) -> None:
        """What the Job controller would report at the end."""
        at = "2026-01-01T00:00:00Z"
        conditions = [
            {"type": type_, "status": "True", "lastTransitionTime": at, "lastProbeTime": at}
            for type_ in cluster_choice.conditions_of_the_end()
        ]
        status = {
            "active": 0,
            "ready": 0,
            "succeeded": 1,
            "startTime": at,
            "completionTime": at,
            "conditions": conditions,
            "uncountedTerminatedPods": {},
        }
        await self.patch(JOBS, job, "default", {"status": status}, "status")

    async def events(self, reason: str) -> list[Document]:
        return [event for event in await self.all(EVENTS, "default") if event["reason"] == reason]

    async def queue(self, cpu: str = "4", name: str = "cluster-queue", **spec: object) -> None:
        """A flavor, a ClusterQueue of so much cpu and 8Gi, and LocalQueue ``user-queue`` in ``default``."""
        for resource, document in queue_documents(cpu, name, **spec):
            await self.create(resource, document)

    async def submit(self, name: str, cpu: str = "3", queue: str = "user-queue") -> Document:
        return await self.create(JOBS, job(name, cpu, queue))


def queue_documents(cpu: str, name: str = "cluster-queue", **spec: object) -> list[tuple[ResourceType, Document]]:
    """In the order of their creation: flavor, ClusterQueue, LocalQueue."""
    resources = [{"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "8Gi"}]
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": resources}]}]
    queue = {"spec": {"namespaceSelector": {}, "resourceGroups": groups, **spec}}
    return [
        (RESOURCE_FLAVORS, _object("ResourceFlavor", "default")),
        (CLUSTER_QUEUES, _object("ClusterQueue", name) | queue),
        (LOCAL_QUEUES, _object("LocalQueue", "user-queue", "default") | {"spec": {"clusterQueue": name}}),
    ]


def _object(kind: str, name: str, namespace: str = "") -> Document:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata}


def job(name: str, cpu: str = "3", queue: str = "user-queue") -> Document:
    """A Job that its user did not suspend."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


@asynccontextmanager
async def world(folder: Path):
    async with api_servers.served(folder) as server:
        made = World(server)
        try:
            yield made
        finally:
            await made.kill_agent()
            await made.user.close()
