"""A few dozen lines of API server: one history of changes, lists in pages, watches with bookmarks and 410."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import Any

from worker_agent.kube.client import Client
from worker_agent.kube.clock import LoopClock
from worker_agent.kube.transport import Request, Response

START = datetime(2026, 1, 1, tzinfo=UTC)


def clock(seed: int = 0) -> LoopClock:
    return LoopClock(START, seed)


def answer(status: int, body: Any, headers: dict[str, str] | None = None) -> Response:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body if isinstance(body, bytes) else json.dumps(body).encode()

    return Response(status, headers or {}, stream())


def status(code: int, reason: str, message: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message or reason, "details": details}


class ScriptedTransport:
    """Answers from a list of responses, exceptions or functions; the last one is repeated."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.requests: list[Request] = []

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        step = step(request) if callable(step) else step
        if isinstance(step, BaseException):
            raise step
        return step

    async def close(self) -> None:
        return None


class FakeServer:
    """Objects by path; every change gets the next version. ``compact`` forgets history, ``cut`` ends streams."""

    def __init__(self, version: int = 100, page: int = 2, bookmark_seconds: float = 60.0) -> None:
        self.version = version
        self.page = page
        self.bookmark_seconds = bookmark_seconds
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.compacted = version
        self.initial_events = "given"
        """Or "refused", as by servers before 1.32, or "ignored", as by those that do not know the parameter."""
        self.changed = asyncio.Event()
        self.streams = 0
        self.requests: list[Request] = []
        self.intercept: Callable[[Request], Response | None] = lambda request: None
        self._generation = 0

    def client(self, **options: Any) -> Client:
        return Client(self, options.pop("clock", clock()), **options)

    def put(self, name: str, namespace: str = "ns", **fields: Any) -> dict[str, Any]:
        path = f"{namespace}/{name}"
        known = self.objects.get(path)
        uid = known["metadata"]["uid"] if known else f"u{self.version}"
        self.version += 1
        meta = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": str(self.version)}
        item = {"apiVersion": "v1", "kind": "Pod", "metadata": meta} | fields
        self.objects[path] = item
        self._record("MODIFIED" if known else "ADDED", item)
        return item

    def remove(self, name: str, namespace: str = "ns") -> None:
        item = self.objects.pop(f"{namespace}/{name}", None)
        if item is not None:
            self.version += 1
            meta = item["metadata"] | {"resourceVersion": str(self.version)}
            self._record("DELETED", item | {"metadata": meta})

    def compact(self) -> None:
        self.compacted = self.version
        self.history.clear()

    def cut(self) -> None:
        """Ends every open stream, cleanly."""
        self._generation += 1
        self._wake()

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        if (intercepted := self.intercept(request)) is not None:
            return intercepted
        query = dict(request.query)
        if request.method != "GET":
            return self._write(request)
        if query.get("sendInitialEvents") and self.initial_events == "refused":
            return answer(422, status(422, "Invalid", "sendInitialEvents is forbidden for watch"))
        if query.get("watch") and "resourceVersion" not in query:
            return Response(200, {}, self._stream_from_start())
        if query.get("watch"):
            since = int(query["resourceVersion"])
            if since < self.compacted:
                return answer(410, status(410, "Expired", "too old"))
            return Response(200, {}, self._stream(since))
        name = request.path.rpartition("/")[2]
        found = [item for item in self.objects.values() if item["metadata"]["name"] == name]
        if found:
            return answer(200, found[0])
        if not request.path.endswith("s"):
            return answer(404, status(404, "NotFound"))
        return self._list(query)

    async def close(self) -> None:
        self.cut()

    def _write(self, request: Request) -> Response:
        body = json.loads(request.body)
        name = body["metadata"]["name"]
        path = f"ns/{name}"
        if request.method == "POST" and path in self.objects:
            return answer(409, status(409, "AlreadyExists"))
        if request.method == "PUT":
            if path not in self.objects:
                # Leases may be created by PUT, which then must name no version; servers call that an error of theirs.
                return answer(500, status(500, "", "resourceVersion should not be set on objects to be created"))
            if body["metadata"].get("resourceVersion") != self.objects[path]["metadata"]["resourceVersion"]:
                return answer(409, status(409, "Conflict"))
        return answer(200, self.put(name, **{key: body[key] for key in body if key != "metadata"}))

    def _list(self, query: dict[str, str]) -> Response:
        start, version = 0, str(self.version)
        if "continue" in query:
            start, version = int(query["continue"].split(":")[0]), query["continue"].split(":")[1]
            if int(version) < self.compacted:
                return answer(410, status(410, "Expired", "the page token is too old"))
        items = list(self.objects.values())
        rest = f"{start + self.page}:{version}" if start + self.page < len(items) else ""
        # Lists of built-in kinds carry no kind on their items.
        bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
        meta = {"resourceVersion": version, "continue": rest}
        return answer(200, {"metadata": meta, "items": bare[start : start + self.page]})

    async def _stream_from_start(self) -> AsyncGenerator[bytes, None]:
        since, there = self.version, list(self.objects.values())
        for item in there:
            yield line("ADDED", item)
        if self.initial_events == "given":
            meta = {"resourceVersion": str(since), "annotations": {"k8s.io/initial-events-end": "true"}}
            yield line("BOOKMARK", {"metadata": meta})
        changes = self._stream(since)
        try:
            async for piece in changes:
                yield piece
        finally:
            await changes.aclose()

    async def _stream(self, since: int) -> AsyncGenerator[bytes, None]:
        generation = self._generation
        self.streams += 1
        try:
            while generation == self._generation:
                if since < self.compacted and not any(version == since + 1 for version, _, _ in self.history):
                    yield line("ERROR", status(410, "Expired", "compacted"))
                    return
                for version, change, item in self.history:
                    if version > since:
                        since = version
                        yield line(change, item)
                changed = self.changed
                try:
                    async with asyncio.timeout(self.bookmark_seconds):
                        await changed.wait()
                except TimeoutError:
                    yield line("BOOKMARK", {"metadata": {"resourceVersion": str(since)}})
        finally:
            self.streams -= 1

    def _record(self, change: str, item: dict[str, Any]) -> None:
        self.history.append((self.version, change, item))
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def line(change: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": change, "object": item}).encode() + b"\n"


async def until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Waits on virtual time until ``condition`` holds; fails after ``seconds``."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - conditions of many kinds; time is virtual
            await asyncio.sleep(0.01)
