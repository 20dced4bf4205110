"""A URL read: which resource, which object, which verb; and the query's options with their checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from hub.local.apiserver import failure
from hub.local.apiserver.resources import Resource, ResourceTable
from worker_agent.kube.transport import Request

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_ON_NAMESPACE = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    """What a resource request is about. An empty name means the collection; ``verb`` is Kubernetes' word."""

    resource: Resource
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def split(path: str) -> list[str]:
    """The decoded segments of a path; empty ones (a doubled or final slash) are dropped."""
    if "%" in path:
        return [unquote(part) for part in path.split("/") if part]
    return [part for part in path.split("/") if part]


def read(table: ResourceTable, request: Request, query: Mapping[str, str]) -> Target | None:
    """The target of a request for a served resource; None when no such resource is served."""
    place = _place(request.path)
    if place is None:
        return None
    group, version, plural, namespace, name, subresource = place
    resource = table.find(group, version, plural)
    if resource is None or (namespace and not resource.namespaced):
        return None
    if name and resource.namespaced and not namespace:
        return None
    return Target(resource, _verb(request.method, name, query), namespace, name, subresource)


@lru_cache(1024)
def _place(path: str) -> tuple[str, str, str, str, str, str] | None:
    """Group, version, plural, namespace, name and subresource of a path; None where it can be no resource's."""
    parts = split(path)
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and not (len(rest) == 3 and rest[2] in _ON_NAMESPACE):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return group, version, plural, namespace, name, subresource


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method in ("GET", "HEAD"):
        if flag(query, "watch"):
            return "watch"
        return "get" if name else "list"
    if method == "DELETE" and not name:
        return "deletecollection"
    try:
        return _VERBS[method]
    except KeyError:
        raise failure.method_not_allowed() from None


def flag(query: Mapping[str, str], name: str) -> bool | None:
    """A boolean option as the real server reads one: anything but 0 and false is true; None when absent."""
    text = query.get(name)
    return None if text is None else text != "0" and text.lower() != "false"


def number(query: Mapping[str, str], name: str) -> int | None:
    """A whole-number option; None when absent."""
    text = query.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise failure.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def revision(query: Mapping[str, str], *, watch: bool = False) -> int | None:
    """``resourceVersion`` of a read; None when absent or empty."""
    text = query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isdigit():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        fault = f'resourceVersion: Invalid value: "{text}": {why}'
        raise failure.unclassified(fault) if watch else failure.bad_request(f"invalid resource version: {fault}")
    return int(text)
