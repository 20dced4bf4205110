"""An open connection to one worker: its client, its watches, and the objects they hold."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from hub.clusters import worker_watches
from hub.clusters.credentials import Credential
from hub.clusters.remote_clients import ConnectionFailed
from hub.clusters.worker_lease import HubIdentity, Superseded, WorkerLease
from hub.clusters.worker_watches import RemoteObject, Watches
from worker_agent.api import names
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_CAPACITIES, CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS, ResourceType
from worker_agent.controllers import pod_groups
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.budget import RateBudget
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, Forbidden, NotFound, ServerSilent
from worker_agent.kube.events import EventRecorder
from worker_agent.kube.exec_transport import ExecTransport
from worker_agent.kube.informer import Event, Informer
from worker_agent.kube.kubeconfig import ClusterConfig, KubeconfigError
from worker_agent.kube.request_statistics import RequestStatistics
from worker_agent.kube.transport import Transport, host_of

log = logging.getLogger(__name__)

TIMED_OUT: Final = "watch establishment timed out"

Subscriber = Callable[[str, ResourceType, Event[RemoteObject], bytes], None]
"""Hears ``(cluster, resource, event, raw)`` of every change on a worker; ``raw`` is empty when the object is gone."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """``watch_silence`` and ``request_timeout`` in seconds; ``rate`` in requests per second (negative: no limit)."""

    origin: str
    kinds: tuple[JobKind, ...]
    watch_silence: float = 120.0
    request_timeout: float = 10.0
    rate: float = 300.0
    burst: int = 500
    requests: RequestStatistics = field(default_factory=RequestStatistics)
    """Told of every request to a worker."""
    hub: HubIdentity | None = None
    """Who takes a lease on the worker; None sends without a fence."""


def transport_of(credential: Credential) -> Transport:
    """The Transport that a credential leads to. Raises KubeconfigError."""
    if credential.kubeconfig is not None:
        return kubernetes_transport.connect(kubeconfig.load(credential.kubeconfig))
    settings = credential.settings
    if settings is None:
        raise KubeconfigError("no credential")
    config = ClusterConfig(
        settings.host.rstrip("/"),
        "cluster profile",
        ca=settings.certificate_authority,
        token=settings.bearer_token,
        tls_server_name=settings.tls_server_name,
        proxy_url=settings.proxy_url,
    )
    if settings.exec_plugin is not None:
        return ExecTransport(config, settings.exec_plugin)
    return kubernetes_transport.connect(config)


class WorkerConnection:
    """Followed from ``open`` to ``close``. ``lost`` is called once, when contact ends by itself."""

    def __init__(self, name: str, client: Client, settings: ConnectionSettings, lost: Callable[[], None]) -> None:
        self.name = name
        self.client = client
        self.watches: Watches = worker_watches.make(client, settings.kinds, settings.origin, settings.watch_silence)
        self.known = KnownObjects()
        for resource, informer in self.watches.all():
            self.known.follow(resource, informer)
        pod_groups.index(self.known)
        # Nothing is told to users of the worker: events about a job go to the manager.
        self.applier = Applier(client, self.known, EventRecorder(client, "fedhub", client.clock), client.clock)
        self.lease = WorkerLease(client, settings.hub, name) if settings.hub is not None else None
        self._lost = lost
        self.unknown_changed: Callable[[WorkerConnection], None] = lambda link: None
        """Called while it is open, when a kind becomes readable there, or ceases to be."""
        self._unknown: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._open = False
        self._heard = asyncio.Event()
        """A watch has come to its first list, or failed otherwise than before."""

    def subscribe(self, subscriber: Subscriber) -> None:
        for resource, informer in self.watches.all():
            informer.add_handler(self._handler(resource, subscriber))

    async def open(self, patience: float) -> None:
        """Start all watches and wait for their first lists. Raises ConnectionFailed; then close it.

        The Workloads come first and alone: a worker that does not answer is asked for one list, not for all.
        """
        for resource, informer in self.watches.required.items():
            informer.add_health_handler(partial(self._health, resource))
        for informer in self.watches.knowledge.values():
            informer.add_health_handler(self._knowledge_health)
        deadline = self.client.clock.monotonic() + patience
        first = self.watches.required[WORKLOADS]
        await self._follow([(WORKLOADS, first)], lambda: self._listed({WORKLOADS: first}), deadline)
        others = [(resource, informer) for resource, informer in self.watches.all() if informer is not first]
        await self._follow(others, self._settled, deadline)
        if self.lease is not None:
            await self._take(self.lease)
        self._unknown = self.unknown
        self._open = True

    async def _follow(
        self,
        watches: Iterable[tuple[ResourceType, Informer[RemoteObject]]],
        settled: Callable[[], bool],
        deadline: float,
    ) -> None:
        """Start the watches and wait until they have settled. Raises ConnectionFailed."""
        for resource, informer in watches:
            self._tasks.append(asyncio.create_task(informer.run(), name=f"{self.name}: {resource.plural}"))
        while not settled():
            left = deadline - self.client.clock.monotonic()
            if left <= 0:
                raise ConnectionFailed(TIMED_OUT)
            self._heard.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._heard.wait()

    @property
    def term(self) -> int:
        """The term in which this hub leads there; 0 without a fence."""
        return self.lease.term if self.lease is not None else 0

    async def _take(self, lease: WorkerLease) -> None:
        """After the first lists are in: what an earlier leader sent before is known, what it sends later is refused."""
        try:
            await lease.take()
        except (Superseded, ApiError, ConnectionError) as error:
            raise ConnectionFailed(f"taking the hub's lease: {error}") from error
        self._tasks.append(asyncio.create_task(self._keep(lease), name=f"{self.name}: lease"))

    async def _keep(self, lease: WorkerLease) -> None:
        try:
            await lease.keep()
        except Superseded as error:
            self._end(error)

    async def close(self) -> None:
        self._open = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.transport.close()

    @property
    def unknown(self) -> list[str]:
        """Plurals of the kinds whose objects the credential may not read or the worker does not serve."""
        return [
            resource.plural
            for resource, informer in self.watches.knowledge.items()
            if not informer.synced.is_set() or isinstance(informer.last_error, Forbidden | NotFound)
        ]

    @property
    def report(self) -> bytes:
        """The worker's ClusterCapacity as it came; empty where there is none, or it may not be read."""
        reports, key = self.watches.knowledge[CLUSTER_CAPACITIES], Key("", names.CLUSTER_CAPACITY_NAME)
        return reports.raw(key) if key in reports else b""

    @property
    def has_agent(self) -> bool:
        """Whether there is a place for the reports of an agent of ours; where real Kueue runs there is none."""
        return CLUSTER_CAPACITIES.plural not in self._unknown

    def suspect(self, error: BaseException) -> None:
        """A request met silence: whatever else waits for this worker should not wait as long."""
        if isinstance(error, ServerSilent):
            self._end(error)

    def our_workloads(self, origin: str) -> Iterator[Document]:
        """Copies that bear our origin."""
        for remote in self.watches.required[WORKLOADS].values():
            if remote.metadata.label(names.MULTIKUEUE_ORIGIN_LABEL) == origin:
                document = self.workload(remote.metadata.key)
                if document is not None:
                    yield document

    def our_jobs(self, kinds: Iterable[JobKind]) -> Iterator[tuple[JobKind, Document]]:
        """Jobs that bear our origin: the only ones that are followed."""
        for kind in kinds:
            for remote in self.watches.required[kind.resource].values():
                document = self.job(kind, remote.metadata.key)
                if document is not None:
                    yield kind, document

    # What group_loading asks for.

    def workload(self, key: Key) -> Document | None:
        return self.known.document(WORKLOADS, key)

    def job(self, kind: JobKind, key: Key) -> Document | None:
        return pod_groups.job(self.known, kind, key)

    # What the automation of quotas asks for.

    def local_queue(self, key: Key) -> LocalQueue | None:
        found = self.known.document(LOCAL_QUEUES, key)
        return None if found is None else msgspec.convert(found, LocalQueue, strict=False)

    def cluster_queue(self, name: str) -> ClusterQueue | None:
        found = self.known.document(CLUSTER_QUEUES, Key("", name))
        return None if found is None else msgspec.convert(found, ClusterQueue, strict=False)

    def _settled(self) -> bool:
        return self._listed(self.watches.required) and all(
            informer.synced.is_set() or isinstance(informer.last_error, Forbidden | NotFound)
            for informer in self.watches.knowledge.values()
        )

    def _listed(self, required: Mapping[ResourceType, Informer[RemoteObject]]) -> bool:
        """Raises ConnectionFailed where one of them cannot be."""
        listed = True
        for resource, informer in required.items():
            error = informer.last_error
            if error is not None and not _is_absent(resource, error):
                raise ConnectionFailed(_described(resource, error))
            listed = listed and (error is not None or informer.synced.is_set())
        return listed

    def _health(self, resource: ResourceType, error: BaseException | None) -> None:
        self._heard.set()
        if error is not None and self._open and not _is_absent(resource, error):
            self._end(error)

    def _knowledge_health(self, error: BaseException | None) -> None:
        """A worker may change hands, and its definitions and our rights with it, while we are connected."""
        self._heard.set()
        if self._open and self.unknown != self._unknown:
            self._unknown = self.unknown
            self.unknown_changed(self)

    def _end(self, error: BaseException) -> None:
        if self._open:
            self._open = False
            log.warning("worker %s: contact lost: %s", self.name, error)
            self._lost()

    def _handler(self, resource: ResourceType, subscriber: Subscriber) -> Callable[[Event[RemoteObject]], None]:
        informer: Any = self.known.informer(resource)

        def handle(event: Event[RemoteObject]) -> None:
            raw = informer.raw(event.key) if event.new is not None else b""
            subscriber(self.name, resource, event, raw)

        return handle


def _is_absent(resource: ResourceType, error: BaseException) -> bool:
    """Whether the worker just does not serve this kind of jobs: none is sent there, and those of other kinds may."""
    return resource != WORKLOADS and isinstance(error, NotFound)


def _described(resource: ResourceType, error: BaseException) -> str:
    detail = error.message if isinstance(error, ApiError) else str(error)
    return f"watching {resource.plural}: {detail}"


class WorkerConnector:
    """Makes WorkerConnections. ``transport`` is replaced where servers live in the same process."""

    def __init__(
        self,
        settings: ConnectionSettings,
        clock: Clock,
        subscribers: Iterable[Subscriber] = (),
        *,
        transport: Callable[[Credential], Transport] = transport_of,
        unknown_changed: Callable[[WorkerConnection], None] = lambda link: None,
    ) -> None:
        self._unknown_changed = unknown_changed
        self._settings = settings
        self._clock = clock
        self._subscribers = tuple(subscribers)
        self._transport = transport

    async def __call__(
        self, cluster: str, credential: Credential, patience: float, lost: Callable[[], None]
    ) -> WorkerConnection:
        try:
            transport = self._transport(credential)
        except KubeconfigError as error:
            raise ConnectionFailed(str(error)) from error
        settings = self._settings
        budget = RateBudget(self._clock, settings.rate, settings.burst)
        client = Client(transport, self._clock, budget=budget, timeout=settings.request_timeout)
        client.statistics = settings.requests.of(host_of(transport))
        connection = WorkerConnection(cluster, client, settings, lost)
        connection.unknown_changed = self._unknown_changed
        for subscriber in self._subscribers:
            connection.subscribe(subscriber)
        try:
            await connection.open(patience)
        except BaseException:
            await connection.close()
            raise
        return connection
