"""From a job on the manager to its pods, wherever these are: what ``fedhub logs``, ``pods`` and ``events`` read.

The manager is read with the asker's own rights. A worker is read through the hub, which asks the manager whether the
asker may (``job_views``), or with a context of the asker's own.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec

from hub.app.job_views import GROUP, VERSION
from hub.app.remote_pods import LogQuery, RemotePods
from hub.engine import job_place, job_traces
from hub.engine.job_place import MANAGER, Place
from worker_agent.api import resource_type as kinds
from worker_agent.api.document import Document, at
from worker_agent.api.meta import Key, ObjectMeta
from worker_agent.api.pod_workload import workloads_named
from worker_agent.api.resource_type import ResourceType
from worker_agent.jobs import KINDS
from worker_agent.kube import errors
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError, NotFound, ServerError
from worker_agent.kube.transport import Request, Response

SHORT_NAMES: Final[Mapping[str, str]] = {
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "lws": "LeaderWorkerSet",
    "po": "Pod",
    "wl": "Workload",
    "rs": "ReplicaSet",
    "cj": "CronJob",
}
_NOT_SERVED: Final = ("could not find the requested resource", "404 page not found", "service unavailable")
CRON_JOBS: Final = ResourceType("batch", "v1", "CronJob", "cronjobs")
_PARENTS: Final[Mapping[str, tuple[ResourceType, ResourceType]]] = {
    "deployment": (kinds.DEPLOYMENTS, kinds.PODS),
    "replicaset": (kinds.REPLICA_SETS, kinds.PODS),
    "statefulset": (kinds.STATEFUL_SETS, kinds.PODS),
    "cronjob": (CRON_JOBS, kinds.JOBS),
}
"""Kinds that are queued through what they make."""


class NoSuchJob(Exception):
    """There is no such job, or it is not queued; the text says which."""


class NothingRuns(Exception):
    """The job has no pods yet, or no longer; the text says why."""


class Source(Protocol):
    """Reads a workload in the cluster where it runs. Raises ApiError, ConnectionError."""

    async def pods(self, workload: Document) -> list[Document]: ...

    async def events(self, workload: Document) -> list[Document]: ...

    async def log(self, workload: Document, pod: str, query: LogQuery) -> Response: ...


@dataclass(frozen=True, slots=True)
class ThroughHub:
    """Through the manager's API server and the hub, as the asker."""

    manager: Client

    async def pods(self, workload: Document) -> list[Document]:
        return await self._items(workload, "pods")

    async def events(self, workload: Document) -> list[Document]:
        return await self._items(workload, "events")

    async def log(self, workload: Document, pod: str, query: LogQuery) -> Response:
        pairs = (("pod", pod), *query.pairs())
        request = Request("GET", _path(workload, "log"), pairs, {"accept": "*/*", "user-agent": "fedhub-cli"})
        response = await self.manager.transport.request(request)
        if response.status >= 300:
            raise _explained(errors.from_body(response.status, await response.read(), response.headers))
        return response

    async def _items(self, workload: Document, what: str) -> list[Document]:
        try:
            found = msgspec.json.decode(await self.manager.raw(Request("GET", _path(workload, what))))
        except ApiError as error:
            raise _explained(error) from None
        return list(found["items"])


@dataclass(frozen=True, slots=True)
class Directly:
    """With a client in the cluster itself; ``is_manager`` where the manager's Workload is the one there."""

    client: Client
    is_manager: bool = False

    async def pods(self, workload: Document) -> list[Document]:
        return await RemotePods(self.client).pods(await self._there(workload))

    async def events(self, workload: Document) -> list[Document]:
        return await RemotePods(self.client).events(await self._there(workload))

    async def log(self, workload: Document, pod: str, query: LogQuery) -> Response:
        return await RemotePods(self.client).log(workload["metadata"]["namespace"], pod, query)

    async def _there(self, workload: Document) -> Document:
        metadata = workload["metadata"]
        if self.is_manager:
            return workload
        return await RemotePods(self.client).workload(Key(metadata["namespace"], metadata["name"]))


@dataclass(frozen=True, slots=True)
class Sight:
    """A workload of the job and where it is."""

    workload: Document
    place: Place

    @property
    def name(self) -> str:
        return str(self.workload["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class PodThere:
    """A pod and how to read it."""

    cluster: str
    pod: Document
    workload: Document
    source: Source

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])


class JobOnManager:
    """``own`` are clients in workers with rights of the asker's own."""

    def __init__(self, manager: Client, own: Mapping[str, Client] | None = None) -> None:
        self._manager = manager
        self._own = own or {}
        self.unread: dict[str, str] = {}
        """Workers whose events could not be asked for, and why."""

    async def sights(self, kind: str, key: Key) -> list[Sight]:
        """The workloads of a job. Raises NoSuchJob, ApiError, ConnectionError."""
        listed = await self._manager.list(kinds.WORKLOADS, key.namespace)
        known: list[Document] = [msgspec.json.decode(raw) for raw in listed.items]
        found = await self._named(known, SHORT_NAMES.get(kind.lower(), kind).lower().partition(".")[0], key)
        return [Sight(each, job_place.of(each)) for each in job_place.current(found)]

    def source(self, cluster: str) -> Source:
        if cluster == MANAGER:
            return Directly(self._manager, is_manager=True)
        own = self._own.get(cluster)
        return Directly(own) if own is not None else ThroughHub(self._manager)

    async def pods(self, sights: list[Sight]) -> list[PodThere]:
        """All pods of the workloads, by name. Raises NothingRuns where there is none, ApiError, ConnectionError."""
        placed = [sight for sight in sights if sight.place.cluster is not None]
        found = await asyncio.gather(*(self._pods_of(sight) for sight in placed))
        pods = {(each.cluster, each.pod["metadata"]["uid"]): each for group in found for each in group}
        if not pods:
            raise NothingRuns(_why_nothing(sights))
        return sorted(pods.values(), key=lambda each: (each.cluster, each.name))

    async def events(self, sights: list[Sight]) -> list[tuple[str, Document]]:
        """Cluster and event, the oldest first: of the manager, and of where the workloads are. A worker that is away is
        named in ``unread``."""
        questions = [(MANAGER, sight) for sight in sights]
        questions += [(sight.place.cluster, sight) for sight in sights if sight.place.cluster]
        found = await asyncio.gather(*(self._events_of(cluster, sight) for cluster, sight in questions))
        events = {(cluster, each["metadata"]["uid"]): (cluster, each) for part in found for cluster, each in part}
        return sorted(events.values(), key=lambda pair: job_traces.last_seen(pair[1]))

    async def _events_of(self, cluster: str, sight: Sight) -> list[tuple[str, Document]]:
        try:
            return [(cluster, each) for each in await self.source(cluster).events(sight.workload)]
        except NotFound:
            if not sight.place.finished:
                raise
            return []  # its copy in the worker is gone
        except (ServerError, ConnectionError) as error:
            if cluster == MANAGER:
                raise
            self.unread[cluster] = error.message if isinstance(error, ServerError) else str(error)
            return []

    async def _pods_of(self, sight: Sight) -> list[PodThere]:
        cluster = sight.place.cluster or MANAGER
        source = self.source(cluster)
        try:
            return [PodThere(cluster, pod, sight.workload, source) for pod in await source.pods(sight.workload)]
        except NotFound:
            if not sight.place.finished:
                raise
            return []  # its copy in the worker is gone

    async def _named(self, known: list[Document], kind: str, key: Key) -> list[Document]:
        if kind in ("workload", "workloads"):
            found = [each for each in known if each["metadata"]["name"] == key.name]
        else:
            found = job_place.owned_by(known, kind, key.name) or await self._through_children(known, kind, key)
        if found:
            return found
        raise NoSuchJob(await self._why_unknown(kind, key))

    async def _through_children(self, known: list[Document], kind: str, key: Key) -> list[Document]:
        """The workloads of a pod of a group, or of what a parent made."""
        singular = kind.removesuffix("s")
        if singular == "pod":
            pod = await self._object(kinds.PODS, key)
            metadata = msgspec.convert(pod["metadata"], ObjectMeta, strict=False) if pod else ObjectMeta()
            return [each for each in known if each["metadata"]["name"] in workloads_named(metadata)]
        if singular not in _PARENTS:
            return []
        resource, children = _PARENTS[singular]
        parent = await self._object(resource, key)
        uids = await self._descendants(parent, children) if parent else []
        return job_place.owned_by_any(known, uids)

    async def _descendants(self, parent: Document, children: ResourceType) -> list[str]:
        """UIDs of the children in the parent's namespace, those of its ReplicaSets too."""
        labels = at(parent, ("spec", "selector", "matchLabels"), {}) or {}
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        namespace, uids = parent["metadata"]["namespace"], {parent["metadata"]["uid"]}
        generations = (kinds.REPLICA_SETS, children) if parent["kind"] == "Deployment" else (children,)
        for resource in generations:
            listed = await self._manager.list(resource, namespace, label_selector=selector)
            for each in map(msgspec.json.decode, listed.items):
                if uids & {owner["uid"] for owner in each["metadata"].get("ownerReferences") or ()}:
                    uids.add(each["metadata"]["uid"])
        return sorted(uids)

    async def _object(self, resource: ResourceType, key: Key) -> Document | None:
        try:
            found: Document = msgspec.json.decode(await self._manager.get(resource, key.name, key.namespace))
        except NotFound:
            return None
        return found

    async def _why_unknown(self, kind: str, key: Key) -> str:
        resource = _resource(kind)
        if resource is None:
            known = ", ".join(sorted(each.resource.kind.lower() for each in KINDS.values()))
            return f"no workload of {kind}/{key.name} in namespace {key.namespace}; known kinds are: {known}, workload"
        if await self._object(resource, key) is None:
            return f'{resource.kind} "{key.name}" not found in namespace {key.namespace}'
        return (
            f"{resource.kind} {key} has no Workload: it is not queued; to queue it set the label"
            " kueue.x-k8s.io/queue-name, or read it with kubectl"
        )


def _resource(kind: str) -> ResourceType | None:
    resources: list[Any] = [*(each.resource for each in KINDS.values()), *(pair[0] for pair in _PARENTS.values())]
    wanted = (kind, f"{kind}s")
    return next((each for each in resources if each.kind.lower() == kind or each.plural in wanted), None)


def _why_nothing(sights: list[Sight]) -> str:
    told = []
    for sight in sights:
        place = sight.place
        where = f"cluster {place.cluster}" if place.cluster else "the manager"
        if place.cluster is None:
            told.append(f"{job_place.job_of(sight.workload)} runs nowhere yet: {place.why}")
        elif place.finished:
            told.append(
                f"{job_place.job_of(sight.workload)} ran on {where} and is finished ({place.finished}): no pod is left"
            )
        else:
            told.append(f"{job_place.job_of(sight.workload)} has no pods on {where} yet")
    return "; ".join(dict.fromkeys(told))


def _path(workload: Document, what: str) -> str:
    metadata = workload["metadata"]
    place = f"namespaces/{quote(metadata['namespace'], safe='')}/workloads/{quote(metadata['name'], safe='')}"
    return f"/apis/{GROUP}/{VERSION}/{place}/{what}"


def _explained(error: ApiError) -> ApiError:
    """That nobody answers for the group is not the user's mistake; what to do is said."""
    if error.status not in (404, 503) or not any(words in error.message for words in _NOT_SERVED):
        return error
    return type(error)(
        error.status,
        error.reason,
        "the hub does not serve pods and logs of jobs in workers: it is down, or its setting"
        " federation.jobViews.bindAddress is 0; with a context of your own: --worker CLUSTER=CONTEXT",
    )
