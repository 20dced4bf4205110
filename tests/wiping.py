"""Empties a real API server between tests: what was written since the last time, and no kind beside it is asked for."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hub.local.objects import SYSTEM_NAMESPACE
from worker_agent.kube.transport import Request, Response, Transport

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", SYSTEM_NAMESPACE)
"""They stay: the last holds the programs' accounts."""
WEBHOOKS = (
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
)
UNKNOWN = 404
"""There is no such kind, and so there are no objects of it."""
TURNED_AWAY_SECONDS = 0.2
MOST_TURNED_AWAY = 600
"""Of a kind in a row; then the server has another reason than its load."""
EVENTS = "/apis/events.k8s.io/v1/events"
BUILT_IN = (
    "/apis/batch/v1/jobs",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/limitranges",
    "/api/v1/podtemplates",
    EVENTS,
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/api/v1/namespaces",
)
"""Namespaces come last: what is in them is gone then."""

Kind = tuple[str, str]
"""API group and plural name."""


@dataclass(frozen=True)
class Noting:
    """A Transport that notes of which kinds something was written."""

    inner: Transport
    written: set[Kind]

    async def request(self, request: Request) -> Response:
        if request.method != "GET":
            self.written.add(kind_of(request.path))
        return await self.inner.request(request)

    async def close(self) -> None:
        await self.inner.close()


def kind_of(path: str) -> Kind:
    """The kind that a request to ``path`` is about, whatever namespace, object and subresource follow.

    Events are one kind under two names.
    """
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    found = (group, rest[0] if rest else "")
    return kind_of(EVENTS) if found == ("", "events") else found


async def wipe(transport: Transport, written: set[Kind], definitions: Iterable[dict[str, Any]]) -> None:
    """Removes everything of the ``written`` kinds, whatever holds it, and returns when it is gone.

    ``definitions`` are the custom kinds of which objects go; definitions themselves stay.
    """
    custom = [f"/apis/{crd['spec']['group']}/{_stored(crd)}/{crd['spec']['names']['plural']}" for crd in definitions]
    # A webhook whose program is gone would refuse all that follows, whoever wrote it.
    left = [
        _Wiping(transport, path)
        for path in (*WEBHOOKS, *(path for path in (*custom, *BUILT_IN) if kind_of(path) in written))
    ]
    while left:  # controllers may have made more meanwhile
        left = [each for each in left if await each.run()]
    written.clear()


def _stored(crd: dict[str, Any]) -> str:
    return next(str(version["name"]) for version in crd["spec"]["versions"] if version["storage"])


@dataclass
class _Wiping:
    """Passes over all objects of a kind."""

    transport: Transport
    path: str
    _turned_away: int = 0

    async def run(self) -> bool:
        """Whether any was left, or may be: what a server says that turns a question away is no answer.

        Raises RuntimeError where it does so all the time.
        """
        status, found = await _answer(self.transport, "GET", self.path)
        if status not in (200, UNKNOWN):
            self._turned_away += 1
            if self._turned_away > MOST_TURNED_AWAY:
                raise RuntimeError(f"{self.path} cannot be emptied: {status} {found.get('message')}")
            await asyncio.sleep(TURNED_AWAY_SECONDS)
            return True
        self._turned_away = 0
        namespaces: dict[str, list[dict[str, Any]]] = {}
        for item in found.get("items") or ():
            if self._is_of_a_test(item["metadata"]):
                namespaces.setdefault(item["metadata"].get("namespace", ""), []).append(item["metadata"])
        for namespace, own in namespaces.items():
            await self._remove(namespace, own)
        return bool(namespaces)

    async def _remove(self, namespace: str, own: Sequence[dict[str, Any]]) -> None:
        for metadata in own:
            if metadata.get("finalizers"):
                await _ask(self.transport, "PATCH", self._place(metadata), {"metadata": {"finalizers": None}})
        how = "?gracePeriodSeconds=0&propagationPolicy=Background"
        if namespace:
            root, _, plural = self.path.rpartition("/")
            await _ask(self.transport, "DELETE", f"{root}/namespaces/{namespace}/{plural}{how}")
            return
        for metadata in own:
            place = self._place(metadata)
            await _ask(self.transport, "DELETE", place + how)
            if self.path.endswith("/namespaces"):
                body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": metadata["name"]}, "spec": {}}
                await _ask(self.transport, "PUT", f"{place}/finalize", body)

    def _is_of_a_test(self, metadata: dict[str, Any]) -> bool:
        """Not what every cluster has: of built-in kinds, ``kube-system`` is its own altogether."""
        if self.path.endswith("/namespaces"):
            return metadata["name"] not in NAMESPACES
        if namespace := metadata.get("namespace", ""):
            return self.path not in BUILT_IN or not namespace.startswith("kube-")
        return not metadata["name"].startswith(("system-", "kube-"))

    def _place(self, metadata: dict[str, Any]) -> str:
        root, _, plural = self.path.rpartition("/")
        namespace = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
        return f"{root}{namespace}/{plural}/{metadata['name']}"


async def _ask(transport: Transport, method: str, path: str, body: dict[str, Any] | None = None) -> None:
    """Whether it was done is seen by the next pass."""
    await _answer(transport, method, path, body)


async def _answer(
    transport: Transport, method: str, path: str, body: dict[str, Any] | None = None
) -> tuple[int, dict[str, Any]]:
    place, _, query = path.partition("?")
    pairs = tuple((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair))
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"accept": "application/json", "content-type": kind}
    content = msgspec.json.encode(body) if body is not None else b""
    response = await transport.request(Request(method, place, pairs, headers, content))
    answer: dict[str, Any] = msgspec.json.decode(await response.read())
    return response.status, answer
