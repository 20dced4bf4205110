"""Pods, events and logs of a workload in the cluster where it runs, read with whatever credential the client has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from hub.engine import job_traces
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod_workload import CORE_EVENTS
from worker_agent.api.resource_type import PODS, WORKLOADS
from worker_agent.kube import errors
from worker_agent.kube.client import Client
from worker_agent.kube.errors import BadRequest, MalformedAnswer, NotFound
from worker_agent.kube.transport import Request, Response
from worker_agent.validation import formats

STARTED: Final = names.POD_SET_LABEL
"""On every pod that was started, whatever program started it."""


class _Identity(msgspec.Struct):
    name: str
    namespace: str
    uid: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Object(msgspec.Struct):
    """What is relied upon of whatever a cluster answers."""

    metadata: _Identity


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What of a container's log; the API server's own parameters. ``since_seconds`` and ``tail_lines`` None is all."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> "LogQuery":
        """Raises BadRequest naming the parameter."""
        container = query.get("container", "")
        if container and (problems := formats.dns_label(container)):
            raise BadRequest(400, "BadRequest", f"container: {container!r} is no container: {problems[0]}")
        return cls(
            container,
            _flag(query, "follow"),
            _flag(query, "previous"),
            _flag(query, "timestamps"),
            _count(query, "tailLines", 0),
            _count(query, "sinceSeconds", 1),
        )

    def pairs(self) -> tuple[tuple[str, str], ...]:
        flags = {"follow": self.follow, "previous": self.previous, "timestamps": self.timestamps}
        counts = {"tailLines": self.tail_lines, "sinceSeconds": self.since_seconds}
        return (
            *((("container", self.container),) if self.container else ()),
            *((name, "true") for name, is_set in flags.items() if is_set),
            *((name, str(count)) for name, count in counts.items() if count is not None),
        )


def _flag(query: Mapping[str, str], name: str) -> bool:
    value = query.get(name, "false")
    if value not in ("true", "false"):
        raise BadRequest(400, "BadRequest", f"{name}: must be true or false, not {value!r}")
    return value == "true"


def _count(query: Mapping[str, str], name: str, least: int) -> int | None:
    value = query.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) < 10 and int(value) >= least):
        raise BadRequest(400, "BadRequest", f"{name}: must be a whole number of at least {least}, not {value!r}")
    return int(value)


class RemotePods:
    """Reads with ``client``. Every method raises ApiError, ConnectionError. ``origin`` is whose copies count where the
    cluster is a worker; empty takes every Workload."""

    def __init__(self, client: Client, origin: str = "") -> None:
        self._client = client
        self._origin = origin

    async def workload(self, key: Key) -> Document:
        found = _decoded(await self._client.get(WORKLOADS, key.name, key.namespace))
        labels = found["metadata"].get("labels") or {}
        if self._origin and labels.get(names.MULTIKUEUE_ORIGIN_LABEL) != self._origin:
            raise NotFound(404, "NotFound", f"Workload {key} there is not a copy of this hub's")
        return await self._of_its_chain(found)

    async def _of_its_chain(self, workload: Document) -> Document:
        """The copy bears the manager's annotations: one that names somebody else's Workload there as the first of its
        chain of slices does not count."""
        metadata = workload["metadata"]
        annotations = metadata.get("annotations") or {}
        first = annotations.get(names.WORKLOAD_SLICE_NAME_ANNOTATION, "")
        if not self._origin or first in ("", metadata["name"]):
            return workload
        if not formats.dns_subdomain(first) and await self._may_be_ours(Key(metadata["namespace"], first)):
            return workload
        others = {name: value for name, value in annotations.items() if name != names.WORKLOAD_SLICE_NAME_ANNOTATION}
        return {**workload, "metadata": {**metadata, "annotations": others}}

    async def _may_be_ours(self, key: Key) -> bool:
        """A former slice whose Workload is gone may be."""
        try:
            found = _decoded(await self._client.get(WORKLOADS, key.name, key.namespace))
        except NotFound:
            return True
        return (found["metadata"].get("labels") or {}).get(names.MULTIKUEUE_ORIGIN_LABEL) == self._origin

    async def pods(self, workload: Document) -> list[Document]:
        """Those that were started, and those that wait for their start and are themselves the job."""
        namespace = workload["metadata"]["namespace"]
        selectors = [STARTED, f"{names.MULTIKUEUE_ORIGIN_LABEL}={self._origin}" if self._origin else ""]
        selectors[1:] = selectors[1:] if _is_made_of_pods(workload) else []
        found: dict[str, Document] = {}
        for selector in selectors:
            page = await self._client.list(PODS, namespace, label_selector=selector)
            found |= {pod["metadata"]["uid"]: pod for pod in map(_decoded, page.items)}
        return job_traces.pods_of(workload, found.values())

    async def pod(self, workload: Document, name: str) -> Document:
        """One of them. Raises NotFound where it is not one of the Workload's."""
        namespace = workload["metadata"]["namespace"]
        found = _decoded(await self._client.get(PODS, name, namespace))
        if not job_traces.pods_of(workload, [found]):
            raise NotFound(404, "NotFound", f"pod {name} does not belong to Workload {workload['metadata']['name']}")
        return found

    async def events(self, workload: Document) -> list[Document]:
        listed = await self._client.list(CORE_EVENTS, workload["metadata"]["namespace"])
        events = [_decoded(item) for item in listed.items]
        return job_traces.events_of(workload, await self.pods(workload), events)

    async def log(self, namespace: str, pod: str, query: LogQuery) -> Response:
        """The stream of a container's log, opened; whoever reads it closes it."""
        path = PODS.path(namespace, pod, "log")
        response = await self._client.transport.request(Request("GET", path, query.pairs(), {"accept": "*/*"}))
        if response.status >= 300:
            raise errors.from_body(response.status, await response.read(), response.headers)
        return response


def _decoded(raw: bytes) -> Document:
    """An object of the cluster. Raises MalformedAnswer where it is none."""
    try:
        found: Document = msgspec.json.decode(raw)
        msgspec.convert(found, _Object)
    except msgspec.DecodeError:
        raise MalformedAnswer("the answer is no object with metadata") from None
    return found


def _is_made_of_pods(workload: Document) -> bool:
    """Pods that are jobs themselves wait at a gate before they bear what a start gives them."""
    metadata = workload["metadata"]
    owners = metadata.get("ownerReferences") or ()
    group = (metadata.get("annotations") or {}).get(names.IS_GROUP_WORKLOAD_ANNOTATION) == "true"
    return group or any(owner.get("kind") == PODS.kind for owner in owners)
