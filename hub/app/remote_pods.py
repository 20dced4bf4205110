"""Pods, events and logs of a workload in the cluster where it runs, read with whatever credential the client has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from hub.engine import job_traces
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod_workload import CORE_EVENTS
from worker_agent.api.resource_type import PODS, WORKLOADS
from worker_agent.kube import errors
from worker_agent.kube.client import Client
from worker_agent.kube.errors import BadRequest, NotFound
from worker_agent.kube.transport import Request, Response

STARTED: Final = names.POD_SET_LABEL
"""On every pod that was started, whatever program started it."""


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
        return cls(
            query.get("container", ""),
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
        found: Document = msgspec.json.decode(await self._client.get(WORKLOADS, key.name, key.namespace))
        labels = found["metadata"].get("labels") or {}
        if self._origin and labels.get(names.MULTIKUEUE_ORIGIN_LABEL) != self._origin:
            raise NotFound(404, "NotFound", f"Workload {key} there is not a copy of this hub's")
        return found

    async def pods(self, workload: Document) -> list[Document]:
        """Those that were started, and those that wait for their start and are themselves the job."""
        namespace = workload["metadata"]["namespace"]
        selectors = [STARTED, f"{names.MULTIKUEUE_ORIGIN_LABEL}={self._origin}" if self._origin else ""]
        selectors[1:] = selectors[1:] if _is_made_of_pods(workload) else []
        found: dict[str, Document] = {}
        for selector in selectors:
            page = await self._client.list(PODS, namespace, label_selector=selector)
            found |= {pod["metadata"]["uid"]: pod for pod in map(msgspec.json.decode, page.items)}
        return job_traces.pods_of(workload, found.values())

    async def pod(self, workload: Document, name: str) -> Document:
        """One of them. Raises NotFound where it is not one of the Workload's."""
        namespace = workload["metadata"]["namespace"]
        found: Document = msgspec.json.decode(await self._client.get(PODS, name, namespace))
        if not job_traces.pods_of(workload, [found]):
            raise NotFound(404, "NotFound", f"pod {name} does not belong to Workload {workload['metadata']['name']}")
        return found

    async def events(self, workload: Document) -> list[Document]:
        listed = await self._client.list(CORE_EVENTS, workload["metadata"]["namespace"])
        events: list[Any] = [msgspec.json.decode(item) for item in listed.items]
        return job_traces.events_of(workload, await self.pods(workload), events)

    async def log(self, namespace: str, pod: str, query: LogQuery) -> Response:
        """The stream of a container's log, opened; whoever reads it closes it."""
        path = PODS.path(namespace, pod, "log")
        response = await self._client.transport.request(Request("GET", path, query.pairs(), {"accept": "*/*"}))
        if response.status >= 300:
            raise errors.from_body(response.status, await response.read(), response.headers)
        return response


def _is_made_of_pods(workload: Document) -> bool:
    """Pods that are jobs themselves wait at a gate before they bear what a start gives them."""
    metadata = workload["metadata"]
    owners = metadata.get("ownerReferences") or ()
    group = (metadata.get("annotations") or {}).get(names.IS_GROUP_WORKLOAD_ANNOTATION) == "true"
    return group or any(owner.get("kind") == PODS.kind for owner in owners)
