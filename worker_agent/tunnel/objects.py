"""Looks into the objects of allowed requests: ours are those with the hub's origin label. Pure.

A write is tied to the very object that was looked at, by its uid: nobody can put another in its place in between.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key, ObjectMeta, View
from worker_agent.kube.transport import Request
from worker_agent.tunnel import redaction
from worker_agent.tunnel.allow_list import AllowList, Ownership, Rule
from worker_agent.tunnel.api_request import ApiRequest, Refused

JSON: Final = "application/json"
APPLY: Final = "application/apply-patch+yaml"
JSON_PATCH: Final = "application/json-patch+json"
MERGES: Final = ("application/merge-patch+json", "application/strategic-merge-patch+json", APPLY)


class Head(View):
    """The part of an object that says whose it is."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class _List(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    items: list[msgspec.Raw] | None = None
    apiVersion: str = ""
    kind: str = ""


class _WatchEvent(msgspec.Struct):
    type: str = ""
    object: msgspec.Raw = msgspec.Raw(b"{}")


_decode_head = msgspec.json.Decoder(Head).decode
_decode_list = msgspec.json.Decoder(_List).decode
_decode_event = msgspec.json.Decoder(_WatchEvent).decode


def head(raw: bytes) -> Head:
    """Raises msgspec.DecodeError."""
    return _decode_head(raw)


OfOurs = Callable[[bytes], bool]
"""Whether a pod or an event, as JSON, is about a job of our origin."""


@dataclass(frozen=True, slots=True)
class ObjectRules:
    """The allow-list applied to objects. ``of_ours`` knows the cluster; without it no pod and no event is ours."""

    allowed: AllowList
    of_ours: OfOurs = lambda raw: False

    def is_ours(self, found: Head) -> bool:
        return found.metadata.label(names.MULTIKUEUE_ORIGIN_LABEL) == self.allowed.origin

    def created(self, asked: ApiRequest, request: Request) -> Request:
        """A create, checked: its object bears our origin and lies where the path says. Raises Refused."""
        body = _body(request, (JSON,))
        if not isinstance(body, dict):
            raise Refused("body", f"{asked}: the body is not an object")
        self._check_new(asked, body)
        return _with_body(request, body)

    def created_by_name(self, asked: ApiRequest, request: Request, only: frozenset[Key]) -> Request:
        """A create of one of the objects that a rule names. Raises Refused."""
        body = _body(request, (JSON,))
        name = _metadata(asked, body).get("name") if isinstance(body, dict) else None
        if not isinstance(name, str) or Key(asked.namespace, name) not in only:
            raise Refused("name", f"{asked}: not one of the objects that this cluster's agent opens to the federation")
        return _with_body(request, body)

    def changed(self, asked: ApiRequest, request: Request, found: Head | None) -> Request:
        """An update, patch or delete of ``found``, bound to it. Raises Refused where it is not ours.

        What does not exist may be applied, which creates it.
        """
        if found is None:
            if request.method == "PATCH" and _content_type(request) == APPLY:
                return self.created_by_apply(asked, request)
            return request  # the API server answers 404
        if not self.is_ours(found):
            raise Refused("origin", f"{asked}: the object does not belong to this federation")
        uid = found.metadata.uid
        if request.method == "DELETE":
            return _bound_delete(asked, request, uid)
        if _content_type(request) == JSON_PATCH and request.method == "PATCH":
            return _bound_json_patch(asked, request, uid)
        body = _body(request, MERGES if request.method == "PATCH" else (JSON,))
        if not isinstance(body, dict):
            raise Refused("body", f"{asked}: the body is not an object")
        metadata = _metadata(asked, body)
        if metadata.setdefault("uid", uid) != uid:
            raise Refused("origin", f"{asked}: the body names another object's uid")
        return _with_body(request, body)

    def created_by_apply(self, asked: ApiRequest, request: Request) -> Request:
        body = _body(request, (APPLY,))
        if not isinstance(body, dict) or asked.subresource:
            raise Refused("body", f"{asked}: there is no such object")
        self._check_new(asked, body)
        return _with_body(request, body)

    def read(self, asked: ApiRequest, rule: Rule, raw: bytes) -> bytes:
        """One object that was read, as the hub may see it. Raises Refused."""
        try:
            if rule.ownership is Ownership.WRITES_OURS:
                return self.shown(rule, raw) or b"{}"
            ours = self.of_ours(raw) if rule.ownership is Ownership.OF_OURS else self.is_ours(head(raw))
        except msgspec.DecodeError:
            ours = False
        if not ours:
            raise Refused("origin", f"{asked}: the object does not belong to this federation")
        return raw

    def read_by_any(self, asked: ApiRequest, rules: Sequence[Rule], raw: bytes) -> bytes:
        """As the first of ``rules`` that opens it shows it. Raises Refused where none does."""
        refusals: list[Refused] = []
        for rule in rules:
            try:
                return self.read(asked, rule, raw)
            except Refused as refused:
                refusals.append(refused)
        raise refusals[0]

    def shown(self, rule: Rule, raw: bytes) -> bytes | None:
        """An object that was read, as the hub may see it under ``rule``; None where it may not see it at all.

        Raises msgspec.DecodeError.
        """
        found = head(raw)
        if not self.allowed.allows_namespace(found.metadata.namespace or found.metadata.name):
            return None
        if rule.ownership is Ownership.OF_OURS:
            return raw if self.of_ours(raw) else None
        if rule.ownership is not Ownership.WRITES_OURS or self.is_ours(found):
            return raw
        return msgspec.json.encode(redaction.workload(msgspec.json.decode(raw)))

    def listed(self, rule: Rule, raw: bytes) -> bytes:
        """A list as the hub may see it. Raises msgspec.DecodeError."""
        page = _decode_list(raw)
        shown = [self.shown(rule, bytes(item)) for item in page.items or ()]
        page.items = [msgspec.Raw(item) for item in shown if item is not None]
        return msgspec.json.encode(page)

    def watched(self, rule: Rule, line: bytes) -> bytes | None:
        """A line of a watch as the hub may see it, None where it may not. Raises msgspec.DecodeError."""
        event = _decode_event(line)
        if event.type in ("BOOKMARK", "ERROR"):
            return line
        raw = bytes(event.object)
        shown = self.shown(rule, raw)
        if shown is None or shown is raw:
            return line if shown is raw else None
        event.object = msgspec.Raw(shown)
        return msgspec.json.encode(event)

    def _check_new(self, asked: ApiRequest, body: Document) -> None:
        metadata = _metadata(asked, body)
        labels = metadata.get("labels")
        origin = labels.get(names.MULTIKUEUE_ORIGIN_LABEL) if isinstance(labels, dict) else None
        if origin != self.allowed.origin:
            expected = f"{names.MULTIKUEUE_ORIGIN_LABEL}={self.allowed.origin}"
            raise Refused("origin", f"{asked}: a new object needs the label {expected}")
        if metadata.get("namespace", asked.namespace) != asked.namespace:
            raise Refused("namespace", f"{asked}: the body names another namespace")


def _metadata(asked: ApiRequest, body: Document) -> Document:
    metadata = body.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise Refused("body", f"{asked}: metadata is not an object")
    found: Document = metadata
    return found


def _bound_delete(asked: ApiRequest, request: Request, uid: str) -> Request:
    options = _body(request, (JSON,)) if request.body else {"apiVersion": "v1", "kind": "DeleteOptions"}
    if not isinstance(options, dict):
        raise Refused("body", f"{asked}: the body is not an object")
    preconditions = options.get("preconditions") or {}
    if not isinstance(preconditions, dict):
        raise Refused("body", f"{asked}: preconditions is not an object")
    options["preconditions"] = {"uid": uid} | preconditions
    headers = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
    return replace(_with_body(request, options), headers=headers | {"content-type": JSON})


def _bound_json_patch(asked: ApiRequest, request: Request, uid: str) -> Request:
    steps = _body(request, (JSON_PATCH,))
    if not isinstance(steps, list):
        raise Refused("body", f"{asked}: the patch is not a list")
    test: Document = {"op": "test", "path": "/metadata/uid", "value": uid}
    return _with_body(request, [test, *steps])


def _body(request: Request, types: tuple[str, ...]) -> Any:
    """The body as data. JSON only: what is sent on is written anew from it, so that it cannot be read differently."""
    found = _content_type(request)
    if found not in types:
        raise Refused("body", f"the content type {found[:100]!r} may not be sent to this cluster: {', '.join(types)}")
    try:
        return msgspec.json.decode(request.body)
    except msgspec.DecodeError:
        raise Refused("body", "the body is not JSON") from None


def _content_type(request: Request) -> str:
    return next((value for name, value in request.headers.items() if name.lower() == "content-type"), JSON)


def _with_body(request: Request, body: object) -> Request:
    return replace(request, body=msgspec.json.encode(body))
