"""Requests as the API server wants them, and its lists as they come back: pure functions, nothing is sent here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.errors import MalformedAnswer
from worker_agent.kube.transport import Request

PAGE_SIZE = 500
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML; every server version takes this type
JSON = "application/json"
UNREAD = ("fieldValidation", "Ignore")
"""Unknown fields are dropped without a word: nobody reads the warnings, and to find what to warn of a server decodes
the body once more (an apply patch as YAML)."""


class PatchType(Enum):
    """The three patches that are not apply; values are media types."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about: a collection (no name), an object, or a subresource of one."""

    resource: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def path(self) -> str:
        return self.resource.path(self.namespace, self.name, self.subresource)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a collection: selectors in the API's own text forms; empty selects all."""

    label_selector: str = ""
    field_selector: str = ""

    def query(self) -> tuple[tuple[str, str], ...]:
        return pairs(labelSelector=self.label_selector, fieldSelector=self.field_selector)


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What the object must still be for a delete to happen; empty = whatever it is."""

    uid: str = ""
    resource_version: str = ""


def pairs(**parameters: str) -> tuple[tuple[str, str], ...]:
    """Query pairs without the empty ones."""
    return tuple((name, value) for name, value in parameters.items() if value)


def get(target: Target) -> Request:
    return Request("GET", target.path)


def list_page(target: Target, selection: Selection, continue_token: str = "", size: int = PAGE_SIZE) -> Request:
    """One page of at most ``size`` objects; 0 asks for all at once."""
    page = pairs(limit=str(size) if size else "", **{"continue": continue_token})
    return Request("GET", target.path, selection.query() + page)


def watch(target: Target, selection: Selection, resource_version: str, timeout_seconds: int) -> Request:
    """Bookmarks are always asked for: they keep the resumption point young and tell a quiet stream from a dead one."""
    query = pairs(
        watch="true",
        allowWatchBookmarks="true",
        resourceVersion=resource_version,
        timeoutSeconds=str(timeout_seconds),
    )
    return Request("GET", target.path, query + selection.query())


def watch_from_start(target: Target, selection: Selection, timeout_seconds: int) -> Request:
    """Everything there is, as new as a list would show it, and then what changes."""
    query = pairs(
        watch="true",
        allowWatchBookmarks="true",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        timeoutSeconds=str(timeout_seconds),
    )
    return Request("GET", target.path, query + selection.query())


def create(target: Target, document: Document, field_manager: str) -> Request:
    return _write("POST", target, JSON, document, (*pairs(fieldManager=field_manager), UNREAD))


def update(target: Target, document: Document, field_manager: str) -> Request:
    return _write("PUT", target, JSON, document, (*pairs(fieldManager=field_manager), UNREAD))


def patch(target: Target, body: object, patch_type: PatchType, field_manager: str) -> Request:
    return _write("PATCH", target, patch_type.value, body, (*pairs(fieldManager=field_manager), UNREAD))


def apply(target: Target, document: Document, field_manager: str, force: bool) -> Request:
    query = pairs(fieldManager=field_manager, force="true" if force else "false")
    return _write("PATCH", target, APPLY_PATCH, document, (*query, UNREAD))


def delete(target: Target, preconditions: Preconditions, propagation: str, grace_seconds: int | None) -> Request:
    options: Document = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
    must_be = dict(pairs(uid=preconditions.uid, resourceVersion=preconditions.resource_version))
    if must_be:
        options["preconditions"] = must_be
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return _write("DELETE", target, JSON, options, ())


def dry_run(request: Request) -> Request:
    """The same write, checked by the server and its webhooks as any other, and then not kept.

    Where a deletion has a body, API servers read its options there and nowhere else.
    """
    tried = replace(request, query=(*request.query, ("dryRun", "All")))
    if request.method != "DELETE":
        return tried
    return replace(tried, body=msgspec.json.encode({**msgspec.json.decode(request.body), "dryRun": ["All"]}))


def _write(method: str, target: Target, content_type: str, body: object, query: tuple[tuple[str, str], ...]) -> Request:
    headers: Mapping[str, str] = {"content-type": content_type}
    return Request(method, target.path, query, headers, msgspec.json.encode(body))


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct):
    kind: str = ""


@dataclass(slots=True)
class ListPage:
    """Objects as bytes, each with apiVersion and kind, and the version from which a watch continues."""

    items: list[bytes] = field(default_factory=list)
    resource_version: str = ""


_list_decoder = msgspec.json.Decoder(_List)
_kind_decoder = msgspec.json.Decoder(_Kind)


def read_page(body: bytes, resource: ResourceType) -> tuple[ListPage, str]:
    """One page and the token of the next (empty at the end)."""
    try:
        page = _list_decoder.decode(body)
        items = [_with_kind(bytes(item), resource) for item in page.items or ()]
    except msgspec.DecodeError as error:
        raise MalformedAnswer(f"list of {resource.plural}: the answer is not a list: {error}") from error
    return ListPage(items, page.metadata.resource_version), page.metadata.continue_


def _with_kind(item: bytes, resource: ResourceType) -> bytes:
    """Lists of built-in kinds leave out apiVersion and kind of their items, watches do not; ours always have them."""
    if _kind_decoder.decode(item).kind:
        return item
    rest = item[item.index(b"{") + 1 :].lstrip()
    head = f'{{"apiVersion":"{resource.api_version}","kind":"{resource.kind}"'.encode()
    return head + (rest if rest.startswith(b"}") else b"," + rest)
