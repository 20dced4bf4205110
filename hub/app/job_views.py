"""Users of the manager look at their jobs where these run: ``remote.fedhub.dev``, an API behind the manager's address.

``workloads/<name>/pods``, ``/events`` and ``/log`` of a namespace. The manager's API server says who asks. A user may
read of a job in a worker what they may read of such a job on the manager: list pods, list events, or get pods/log in
the job's namespace, which the manager's API server is asked for each request. The hub reads with its own credential,
and only what belongs to its own copy of that very Workload.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import msgspec
from aiohttp import web

from hub.app.remote_pods import LogQuery, RemotePods
from hub.clusters import credentials
from hub.clusters.credentials import Credential, CredentialError, CredentialSources
from hub.clusters.remote_clients import ConnectionFailed
from hub.controllers.federation_objects import FederationObjects
from worker_agent.aggregated import access
from worker_agent.aggregated.access import Access
from worker_agent.aggregated.front_proxy import User
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod_workload import CORE_EVENTS
from worker_agent.api.resource_type import PODS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from worker_agent.kube.kubeconfig import KubeconfigError
from worker_agent.kube.transport import Response, Transport
from worker_agent.validation import formats

log = logging.getLogger(__name__)

Result = TypeVar("Result")

GROUP: Final = "remote.fedhub.dev"
VERSION: Final = "v1alpha1"
CLUSTER_HEADER: Final = "fedhub-cluster"
"""On every answer: the cluster that was read."""
LOGS_AT_A_TIME: Final = 64
LOGS_OF_ONE_USER: Final = 16
"""Every log that is followed takes a stream of the worker's connection: dispatch must not wait for one."""
PATIENCE_SECONDS: Final = 15.0
ALIVE_SECONDS: Final = 15.0
"""How soon it is noticed that nobody reads a log any more in which nothing happens."""

RIGHTS: Final = {
    "pods": Access("list", "", "pods"),
    "events": Access("list", "", "events"),
    "log": Access("get", "", "pods", "log"),
}


@dataclass(frozen=True, slots=True)
class Workers:
    """How a worker is reached: as the hub itself reaches it, by a connection of its own."""

    objects: FederationObjects
    sources: CredentialSources
    transport: Callable[[Credential], Transport]
    origin: str
    _kept: dict[str, tuple[Credential, Transport]] = field(default_factory=dict)
    """By cluster, where a credential plugin logs in: it shall not run once for each question of a user."""

    async def close(self) -> None:
        while self._kept:
            await self._kept.popitem()[1][1].close()

    async def _connected(self, cluster: str, credential: Credential) -> Transport:
        """Raises KubeconfigError, ConnectionFailed. A kept one ends with its credential, and logs read by it."""
        before = self._kept.get(cluster)
        if before is not None and before[0] == credential:
            return before[1]
        transport = self.transport(credential)
        self._kept.pop(cluster, None)
        if credential.settings is not None and credential.settings.exec_plugin is not None:
            self._kept[cluster] = credential, transport
        if before is not None:
            await before[1].close()
        return transport

    @contextlib.asynccontextmanager
    async def pods_of(self, cluster: str, manager: Client) -> AsyncIterator[RemotePods]:
        """Raises ServerError where the worker cannot be reached."""
        known = self.objects.clusters.get(Key("", cluster))
        if known is None:
            raise NotFound(404, "NotFound", f"MultiKueueCluster {cluster} does not exist any more")
        try:
            transport = await self._connected(cluster, credentials.load(known, self.sources))
        except (CredentialError, KubeconfigError, ConnectionFailed) as error:
            raise _unreachable(cluster, error) from None
        client = Client(transport, manager.clock, user_agent="fedhub-hub (for its users)", timeout=PATIENCE_SECONDS)
        try:
            yield RemotePods(client, self.origin)
        except ConnectionError as error:
            raise _unreachable(cluster, error) from error
        except Unauthorized as error:  # of the hub's login there, not of the user's here
            raise _unreachable(cluster, error) from None
        except Forbidden as error:
            message = f"cluster {cluster} does not let the hub read this: {error.message}"
            raise Forbidden(403, "Forbidden", message) from None
        except ApiError as error:
            raise type(error)(error.status, error.reason, f"cluster {cluster}: {error.message}") from None
        finally:
            if all(transport is not kept for _, kept in self._kept.values()):
                await client.close()


class JobViews:
    """``answer`` is what the aggregated server serves."""

    def __init__(self, manager: Client, workers: Workers) -> None:
        self._manager = manager
        self._workers = workers
        self._logs: Counter[str] = Counter()

    async def answer(self, request: web.Request, user: User) -> web.StreamResponse:
        """Raises ApiError, ConnectionError."""
        parts = [part for part in request.path.split("/") if part]
        if parts[:3] != ["apis", GROUP, VERSION]:
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        if request.method != "GET":
            raise ApiError(405, "MethodNotAllowed", "only reading is served here")
        if len(parts) == 3:
            return _json(discovery())
        match parts[3:]:
            case ["namespaces", namespace, "workloads", name, what] if what in RIGHTS:
                return await self._workload(request, user, Key(namespace, name), what)
        raise NotFound(404, "NotFound", "the server could not find the requested resource")

    async def _workload(self, request: web.Request, user: User, key: Key, what: str) -> web.StreamResponse:
        await self._check(user, key, what)
        cluster = self._cluster_of(key)
        if what == "log":
            return await self._log(request, user, key, cluster)
        async with self._workers.pods_of(cluster, self._manager) as remote:
            workload = await remote.workload(key)
            if what == "pods":
                return _list(cluster, "PodList", PODS.version, await remote.pods(workload))
            return _list(cluster, "EventList", CORE_EVENTS.version, await remote.events(workload))

    async def _check(self, user: User, key: Key, what: str) -> None:
        """Raises Forbidden, in the words of an API server."""
        right = replace(RIGHTS[what], namespace=key.namespace)
        if not await access.is_allowed(self._manager, user, right):
            raise Forbidden(403, "Forbidden", f'{right.resource} is forbidden: User "{user.name}" {right}')

    def _cluster_of(self, key: Key) -> str:
        """Raises NotFound where there is nothing to look at."""
        workload = self._workers.objects.workloads.get(key)
        if workload is None:
            raise NotFound(404, "NotFound", f'workloads.kueue.x-k8s.io "{key.name}" not found')
        cluster = workload.status.cluster_name
        if not cluster:
            raise NotFound(404, "NotFound", f"Workload {key} is in no worker cluster")
        return str(cluster)

    async def _log(self, request: web.Request, user: User, key: Key, cluster: str) -> web.StreamResponse:
        query, name = LogQuery.parse(request.query), request.query.get("pod", "")
        if problems := formats.dns_subdomain(name):
            raise BadRequest(400, "BadRequest", f"pod: must name a pod of the job, not {name!r}: {problems[0]}")
        async with self._workers.pods_of(cluster, self._manager) as remote:
            pod = await remote.pod(await remote.workload(key), name)
            namespace = pod["metadata"]["namespace"]
            with self._a_log_of(user):
                log.info("%s reads the log of pod %s/%s in cluster %s", user.name, namespace, name, cluster)
                stream = await _opened(remote.log(namespace, name, query), query, request)
                try:
                    return await _passed_on(stream, request, cluster)
                finally:
                    await stream.close()

    @contextlib.contextmanager
    def _a_log_of(self, user: User) -> Iterator[None]:
        """Raises TooManyRequests."""
        if self._logs.total() >= LOGS_AT_A_TIME or self._logs[user.name] >= LOGS_OF_ONE_USER:
            message = (
                f"too many logs are read at a time: at most {LOGS_OF_ONE_USER} of one user, {LOGS_AT_A_TIME} in all"
            )
            raise TooManyRequests(429, "TooManyRequests", message, retry_after=5.0)
        self._logs[user.name] += 1
        try:
            yield
        finally:
            self._logs[user.name] -= 1
            self._logs += Counter()  # who reads none any more is forgotten


def discovery() -> Document:
    """The group's APIResourceList."""
    served = [
        {"name": f"workloads/{what}", "singularName": "", "namespaced": True, "kind": kind, "verbs": ["get"]}
        for what, kind in (("events", "EventList"), ("log", "Log"), ("pods", "PodList"))
    ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{VERSION}",
        "resources": served,
    }


def _unreachable(cluster: str, error: Exception) -> ServerError:
    return ServerError(503, "ServiceUnavailable", f"cluster {cluster} cannot be reached: {error}")


def _list(cluster: str, kind: str, version: str, items: list[Document]) -> web.Response:
    """Items of a list say their kind too, so that each can stand alone."""
    single = {"apiVersion": version, "kind": kind.removesuffix("List")}
    body = {"kind": kind, "apiVersion": version, "metadata": {}, "items": [{**single, **item} for item in items]}
    return _json(body, {CLUSTER_HEADER: cluster})


def _json(document: Document, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=msgspec.json.encode(document), content_type="application/json", headers=headers)


async def _opened(opening: Awaitable[Response], query: LogQuery, request: web.Request) -> Response:
    """The log of a quiet container opens with its first line, and is waited for as long as its follower does."""
    opened = asyncio.ensure_future(opening)
    try:
        async with asyncio.timeout(None if query.follow else PATIENCE_SECONDS):
            return await _while_read(opened, request)
    except (TimeoutError, asyncio.CancelledError) as ended:
        if opened.done() and not opened.cancelled() and opened.exception() is None:
            await opened.result().close()  # it came in the very moment when nobody waited any more
        if isinstance(ended, TimeoutError):
            raise ConnectionError(f"no answer within {PATIENCE_SECONDS:g} s") from None
        raise


async def _passed_on(stream: Response, request: web.Request, cluster: str) -> web.StreamResponse:
    """The pieces as they come, until they end or their reader is gone.

    A log that breaks off says so in a last line, for an API server may pass its end on as any other, and is sent
    without an end: what has begun as an answer cannot become a refusal."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain", CLUSTER_HEADER: cluster})
    pieces = aiter(stream.stream)
    try:
        await response.prepare(request)
        while (piece := await _while_read(anext(pieces, None), request)) is not None:
            await response.write(piece)
        await response.write_eof()
    except ConnectionError as error:
        log.info("a log from cluster %s broke off: %s", cluster, error)
        await _told_of_its_end(response, f"fedhub: the log from cluster {cluster} breaks off here: {error}\n")
        if request.transport is not None:
            request.transport.close()
    return response


async def _told_of_its_end(response: web.StreamResponse, line: str) -> None:
    """A reader that is gone is told nothing."""
    if not response.prepared:
        return
    with contextlib.suppress(ConnectionError):
        await response.write(line.encode())


async def _while_read(work: Awaitable[Result], request: web.Request) -> Result:
    """The result of ``work``. Raises ConnectionError once its reader is gone, which only asking tells."""
    coming = asyncio.ensure_future(work)
    try:
        while not coming.done():
            await asyncio.wait({coming}, timeout=ALIVE_SECONDS)
            if not coming.done() and (request.transport is None or request.transport.is_closing()):
                raise ConnectionError("nobody reads it any more")
    finally:
        if not coming.done():
            coming.cancel()
            await asyncio.wait({coming})
    return coming.result()
