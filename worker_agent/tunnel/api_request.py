"""What a request asks of an API server, read so strictly that no two readers can disagree about it. Pure.

Only plain paths are understood: no percent sign, no empty or dotted segment, no character outside Kubernetes names. A
server in front of the API server, or the API server itself, has then nothing left to decode or tidy up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from worker_agent.kube.transport import Request

_SEGMENT: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?\Z")
LONGEST_SEGMENT: Final = 253

WRITES: Final[Mapping[str, str]] = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

PARAMETERS: Final = frozenset(
    {
        "allowWatchBookmarks",
        "container",
        "continue",
        "dryRun",
        "fieldManager",
        "fieldSelector",
        "fieldValidation",
        "follow",
        "force",
        "labelSelector",
        "limit",
        "limitBytes",
        "previous",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "sinceSeconds",
        "tailLines",
        "timeoutSeconds",
        "timestamps",
        "watch",
    }
)
"""Query parameters of reads and writes that change nothing about what is read or written; also those of logs."""

HEADERS: Final = frozenset({"accept", "content-type", "user-agent"})
"""Headers a hub sends; any other is a sign of somebody who tries something."""


class Refused(Exception):
    """The request may not reach the API server. ``reason`` is a word to count by, the text says what and why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """``verb`` is one of get, list, watch, create, update, patch, delete; ``group`` is empty for the core API."""

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The resource as role rules write it: ``jobs.batch`` or ``workloads.kueue.x-k8s.io/status``."""
        group = f".{self.group}" if self.group else ""
        return f"{self.resource}{group}{'/' if self.subresource else ''}{self.subresource}"

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.target}{f' {self.name}' if self.name else ''}{where}"


def parse(request: Request) -> ApiRequest:
    """Raises Refused."""
    _check_headers(request)
    segments = _segments(request.path)
    group, version, rest = _root(segments)
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3:
        raise Refused("path", f"{_shown(request.path)} is not the path of a resource")
    resource, name, subresource = (*rest, "", "")[:3]
    query = _query(request)
    verb = _verb(request.method, name, subresource, query)
    return ApiRequest(verb, group, version, resource, namespace, name, subresource, query)


def _check_headers(request: Request) -> None:
    for header in request.headers:
        if header.lower() not in HEADERS:
            raise Refused("header", f"the header {_shown(header)} may not be sent to this cluster")


def _segments(path: str) -> list[str]:
    first, *segments = path.split("/")
    if first or not segments:
        raise Refused("path", f"{_shown(path)} is not an absolute path")
    for segment in segments:
        if len(segment) > LONGEST_SEGMENT or not _SEGMENT.match(segment):
            raise Refused("path", f"{_shown(path)} is not a plain path: {_shown(segment)} is no name")
    return segments


def _root(segments: list[str]) -> tuple[str, str, list[str]]:
    if segments[0] == "api" and len(segments) > 2:
        return "", segments[1], segments[2:]
    if segments[0] == "apis" and len(segments) > 3:
        return segments[1], segments[2], segments[3:]
    raise Refused("path", f"{_shown('/' + '/'.join(segments))} is not the path of a resource")


def _query(request: Request) -> dict[str, str]:
    query: dict[str, str] = {}
    for name, value in request.query:
        if name not in PARAMETERS:
            raise Refused("query", f"the parameter {_shown(name)} may not be sent to this cluster")
        if name in query:
            raise Refused("query", f"the parameter {name} is given twice")
        query[name] = value
    return query


def _verb(method: str, name: str, subresource: str, query: Mapping[str, str]) -> str:
    watch = query.get("watch")
    if watch is not None and (watch != "true" or method != "GET" or name):
        raise Refused("query", "watch may only be true, and only in a GET of a collection")
    if method == "GET":
        return "watch" if watch else "get" if name else "list"
    verb = WRITES.get(method)
    if verb is None:
        raise Refused("method", f"the method {_shown(method)} may not be sent to this cluster")
    if (verb == "create" and name and not subresource) or (verb != "create" and not name):
        raise Refused("path", f"{method} {'with' if name else 'without'} a name may not be sent to this cluster")
    return verb


def _shown(text: str) -> str:
    """As it may stand in a log: one line, not too long."""
    return repr(text[:200])
