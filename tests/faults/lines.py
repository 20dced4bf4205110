"""The network between a program and an API server: it can be cut and can fall silent, beside the faults per request."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any

from worker_agent.kube import cancellation
from worker_agent.kube.clock import Clock
from worker_agent.kube.faults import FaultPlan, FaultyTransport
from worker_agent.kube.transport import Request, Response, Transport


class Line:
    """A Transport. ``cut`` breaks what is under way and refuses the rest, ``stall`` lets everything hang, ``slow`` lets
    all of it take long; ``heal`` ends all three: what hung goes on."""

    def __init__(self, transport: Transport, clock: Clock, plan: FaultPlan) -> None:
        self.faults = FaultyTransport(transport, clock, plan)
        self._cut = False
        self._late_seconds = 0.0
        self._late_watches = ""
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._streams: dict[_Stream, None] = {}
        """In order: that of a set would differ between a history and its replay."""
        self.writes = 0
        """Requests other than GET that were sent."""

    def cut(self) -> None:
        self._cut = True
        for stream in self._streams:
            stream.break_off(ConnectionError("injected: the network was cut"))
        self._flowing.set()

    def stall(self) -> None:
        self._flowing.clear()

    def slow(self, seconds: float, watches_of: str = "") -> None:
        """Every request takes so long each way, and every piece of a watch; or the watches of one resource alone do,
        as where one of many streams has lost a packet."""
        self._late_seconds, self._late_watches = seconds, watches_of

    def end_watches(self) -> None:
        """Every stream ends without an error, as behind a proxy that closes what is silent."""
        for stream in self._streams:
            stream.break_off(None)

    def heal(self) -> None:
        self._cut = False
        self._late_seconds = 0.0
        self._flowing.set()

    async def request(self, request: Request) -> Response:
        self.writes += request.method != "GET"
        await self._pass()
        response = await self.faults.request(request)
        try:
            await self._pass()  # the answer needs the line as well
        except ConnectionError:
            await response.close()
            raise
        if ("watch", "true") in request.query:
            stream = _Stream(self, request.path, response)
            self._streams[stream] = None
            return Response(response.status, response.headers, stream)
        return response

    async def close(self) -> None:
        """The server is not this line's to close."""

    async def _pass(self) -> None:
        if self._late_seconds and not self._late_watches:
            await asyncio.sleep(self._late_seconds)
        await self._flowing.wait()
        if self._cut:
            raise ConnectionError("injected: the network is cut")

    async def carry(self, path: str) -> None:
        """A piece of a watch has to come through."""
        if self._late_seconds and path.endswith(self._late_watches):
            await asyncio.sleep(self._late_seconds)
        await self._flowing.wait()

    def forget(self, stream: "_Stream") -> None:
        self._streams.pop(stream, None)


class _Stream:
    """A watch that a line carries, in its reader's own task. It breaks off where it waits: whatever future that is."""

    def __init__(self, line: Line, path: str, response: Response) -> None:
        self.waits_for: asyncio.Future[Any] | None = None
        self._line = line
        self._path = path
        self._response = response
        self._pieces = aiter(response.stream)
        self._broken = False
        self._why: Exception | None = None

    def break_off(self, why: Exception | None) -> None:
        """With that error, or as if it had come to its end."""
        if self._broken:
            return
        self._broken, self._why = True, why
        if self.waits_for is not None:
            self.waits_for.cancel()

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> bytes:
        if not self._broken:
            try:
                return await _noting(self, self._next())
            except asyncio.CancelledError:
                if not self._broken or cancellation.is_ours():
                    raise
        if self._why is not None:
            raise self._why
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._line.forget(self)
        await self._response.close()

    async def _next(self) -> bytes:
        piece = await anext(self._pieces)
        await self._line.carry(self._path)
        return piece


@types.coroutine
def _noting(stream: _Stream, work: Coroutine[Any, Any, bytes]) -> Generator[Any, Any, bytes]:
    """Does ``work``; the stream knows meanwhile what it waits for."""
    error: BaseException | None = None
    while True:
        try:
            future = work.send(None) if error is None else work.throw(error)
        except StopIteration as done:
            found: bytes = done.value
            return found
        stream.waits_for, error = future, None
        try:
            yield future
        except BaseException as thrown:
            error = thrown
        finally:
            stream.waits_for = None
