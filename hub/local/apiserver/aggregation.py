"""APIs of other servers under this one's address: which APIServices there are, and what of a request goes where.

Source: kube-aggregator pkg/apiserver/handler_proxy.go and pkg/controllers/status/remote.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from hub.local.apiserver.answer import Answer
from hub.local.apiserver.identity import Identity, impersonated
from hub.local.apiserver.metadata import timestamp
from hub.local.apiserver.resources import APISERVICES
from hub.local.apiserver.store import State
from worker_agent.api.document import Document
from worker_agent.kube.transport import Request

_NOT_PASSED_ON = (
    "authorization", "connection", "content-length", "host", "keep-alive", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
)  # fmt: skip
_OWN_PREFIXES = ("x-remote-", "impersonate-")
"""Headers by which only this server says who asks."""


@dataclass(frozen=True, slots=True)
class Registration:
    """An APIService of another server. ``service`` is (namespace, name, port)."""

    name: str
    group: str
    version: str
    service: tuple[str, str, int]
    ca_bundle: bytes
    insecure: bool
    group_priority: int
    version_priority: int
    available: bool
    conditions: Sequence[Document] = ()

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/{self.version}"

    @property
    def server_name(self) -> str:
        """What its certificate must be for."""
        namespace, name, _ = self.service
        return f"{name}.{namespace}.svc"


@dataclass(frozen=True, slots=True)
class Relay:
    """A request to be sent on, with headers that may come more than once."""

    registration: Registration
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(slots=True)
class Aggregation:
    """The registrations, read again when one was written, and what their servers said they serve."""

    resources: dict[tuple[str, str], list[Document]] = field(default_factory=dict)
    """(group, version) -> the APIResources of its discovery document, as of the last time it answered."""
    _position: int = -1
    _registrations: tuple[Registration, ...] = ()

    def registrations(self, state: State) -> tuple[Registration, ...]:
        """By priority of the group, then of the version, as discovery lists them."""
        collection = state.collection(APISERVICES)
        position = collection.dropped + len(collection.log)
        if position != self._position:
            found = [_registration(stored.document()) for stored in collection.in_namespace("")]
            ordered = sorted((one for one in found if one), key=_place)
            self._position, self._registrations = position, tuple(ordered)
        return self._registrations

    def find(self, state: State, parts: Sequence[str]) -> Registration | None:
        """The registration that a path belongs to."""
        if parts[:2] == ["openapi", "v3"]:
            parts = parts[2:]
        if len(parts) < 3 or parts[0] != "apis":
            return None
        wanted = (parts[1], parts[2])
        return next((one for one in self.registrations(state) if (one.group, one.version) == wanted), None)


def _registration(document: Document) -> Registration | None:
    spec = document["spec"]
    service = spec.get("service")
    if not service:
        return None
    conditions = (document.get("status") or {}).get("conditions") or ()
    return Registration(
        document["metadata"]["name"],
        spec.get("group", ""),
        spec.get("version", ""),
        (service["namespace"], service["name"], service.get("port") or 443),
        base64.b64decode(spec.get("caBundle") or ""),
        bool(spec.get("insecureSkipTLSVerify")),
        spec.get("groupPriorityMinimum", 0),
        spec.get("versionPriority", 0),
        any(condition["type"] == "Available" and condition["status"] == "True" for condition in conditions),
        conditions,
    )


def _place(registration: Registration) -> tuple[int, str, int, str]:
    return -registration.group_priority, registration.group, -registration.version_priority, registration.version


def relayed(registration: Registration, request: Request, identity: Identity) -> Answer:
    """The answer that says what to send where; 503 while the other server is not available."""
    if not registration.available:
        headers = [("x-content-type-options", "nosniff")]
        return Answer(503, b"service unavailable\n", content_type="text/plain; charset=utf-8", headers=headers)
    query = f"?{urlencode(request.query)}" if request.query else ""
    sent = (*_passed_on(request), *_identifying(impersonated(identity, request.headers)))
    return Answer(200, relay=Relay(registration, request.method, request.path + query, sent, request.body))


def _passed_on(request: Request) -> Iterator[tuple[str, str]]:
    for name, value in request.headers.items():
        if name not in _NOT_PASSED_ON and not name.startswith(_OWN_PREFIXES):
            yield name, value


def _identifying(identity: Identity) -> Iterator[tuple[str, str]]:
    """Who asks, for a server that trusts the certificate these headers come with."""
    yield "X-Remote-User", identity.user
    if identity.uid:
        yield "X-Remote-Uid", identity.uid
    for group in identity.groups:
        yield "X-Remote-Group", group
    if identity.credential:
        yield "X-Remote-Extra-Authentication.kubernetes.io%2fcredential-id", identity.credential


def available_condition(
    ok: bool, reason: str, message: str, before: Sequence[Document], now: datetime
) -> list[Document]:
    """The conditions of an APIService with its Available one brought up to date."""
    status = "True" if ok else "False"
    old = next((condition for condition in before if condition["type"] == "Available"), None)
    since = old["lastTransitionTime"] if old and old["status"] == status else timestamp(now)
    condition = {
        "type": "Available",
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return [*(other for other in before if other["type"] != "Available"), condition]
