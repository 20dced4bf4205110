"""The hub's end of a session: a request goes out as a stream, its answer comes back as one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Self

from h2.exceptions import H2Error

from worker_agent.kube.clock import Clock
from worker_agent.kube.transport import Request, Response
from worker_agent.tunnel import wire
from worker_agent.tunnel.pipe import Pipe
from worker_agent.tunnel.session import MOST_STREAMS, Session, Stream


class NotSent(ConnectionError):
    """Nothing of the request has left: it may be sent another way without doubt about its outcome."""


class Caller(Session):
    """Carries requests of one program to the other end. More than MOST_STREAMS at a time wait for their turn."""

    def __init__(self, pipe: Pipe, clock: Clock, *, heartbeat: float = 10.0) -> None:
        super().__init__(pipe, clock, client=True, heartbeat=heartbeat)
        self._slots = asyncio.Semaphore(MOST_STREAMS)
        self._watches: set[Stream] = set()
        self._retired = False

    @property
    def under_way(self) -> int:
        return len(self._streams)

    async def request(self, request: Request) -> Response:
        """Raises NotSent before, ConnectionError after the first byte."""
        await self._slots.acquire()
        try:
            stream = self._open(request)
        except BaseException:
            self._slots.release()
            raise
        try:
            await self._send_body(stream, request.body)
            if not stream.sent and stream.headers is None:
                self._send_end(stream)
            status, headers = wire.read_answer(await stream.until_headers())
        except wire.MalformedExchange as error:
            self.release(stream)
            raise ConnectionError(str(error)) from error
        except BaseException:
            self.release(stream)
            raise
        body = _Body(self, stream)
        if wire.UNREACHABLE in headers:
            raise ConnectionError(await _text(body))
        return Response(status, headers, body)

    def retire(self) -> None:
        """Another session takes over: watches end as an API server ends them, so that their readers go on there from
        where they were; everything else is completed; then the connection is closed."""
        self._retired = True
        for stream in list(self._watches):
            stream.ended = True
            stream.changed.set()
            self._reset(stream)
        self._close_when_idle()

    def _open(self, request: Request) -> Stream:
        if self._retired or self._ended is not None:
            raise NotSent(str(self._ended or "another connection has taken over"))
        try:
            stream = Stream(self._h2.get_next_available_stream_id())
            self._send_headers(stream, wire.request_headers(request), end=not request.body)
        except (H2Error, ConnectionError) as error:
            raise NotSent(f"the request cannot be sent: {error}") from error
        self._streams[stream.id] = stream
        if ("watch", "true") in request.query:
            self._watches.add(stream)
        return stream

    def read(self, stream: Stream, size: int) -> None:
        """The reader of an answer took ``size`` bytes of it."""
        self._read_by_user(stream, size)

    def release(self, stream: Stream) -> None:
        """Nobody reads this exchange any further. Doing so twice is fine."""
        if self._streams.pop(stream.id, None) is None:
            return
        self._watches.discard(stream)
        self._slots.release()
        if not stream.ended or not stream.sent:
            self._reset(stream)
        self._close_when_idle()

    def _close_when_idle(self) -> None:
        if self._retired and not self._streams:
            self.end()


class _Body(AsyncIterator[bytes]):
    """The body of an answer. Unread ends of it are broken off by ``aclose``."""

    def __init__(self, caller: Caller, stream: Stream) -> None:
        self._caller = caller
        self._stream = stream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._stream.next_piece()
        except BaseException:
            self._caller.release(self._stream)
            raise
        if piece is None:
            self._caller.release(self._stream)
            raise StopAsyncIteration
        self._caller.read(self._stream, len(piece))
        return piece

    async def aclose(self) -> None:
        self._caller.release(self._stream)


async def _text(body: _Body) -> str:
    return b"".join([piece async for piece in body]).decode("utf-8", "replace")
