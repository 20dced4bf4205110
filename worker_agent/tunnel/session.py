"""Many exchanges on one connection: HTTP/2 (the ``h2`` library) inside a Pipe.

Every exchange is a stream with flow control of its own, so a watch that nobody reads holds up no other; the window of
the whole connection is given back at once for that reason. Both ends send a PING every ``heartbeat`` seconds, and a
connection that is silent for three of them is dead.
"""

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from worker_agent.kube.clock import Clock
from worker_agent.tunnel.pipe import Pipe
from worker_agent.tunnel.wire import Headers

STREAM_WINDOW: Final = 1 << 20
"""Bytes of one stream that may be on their way unread."""
CONNECTION_WINDOW: Final = 1 << 24
MOST_STREAMS: Final = 256
BUFFERED: Final = 1 << 18
"""Bytes that wait for the connection before senders do: little, so that a small answer overtakes a long list."""

GIVEN_BACK_AT: Final = 4
"""A window is given back when a fourth of it was used: one small frame for many."""

MISSED_HEARTBEATS: Final = 3


@dataclass(slots=True)
class Traffic:
    """Bytes of a session so far, as they went over the connection."""

    sent: int = 0
    received: int = 0


@dataclass(eq=False, slots=True)
class Stream:
    """One exchange: what came and was not read yet, and how it ended. ``changed`` is set whenever any of it changes."""

    id: int
    headers: Headers | None = None
    pieces: deque[bytes] = field(default_factory=deque)
    ended: bool = False
    sent: bool = False
    """Our own half is complete."""
    owed: int = 0
    """Bytes that were read, and for which the other end has not been given room yet."""
    error: ConnectionError | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    window: asyncio.Event = field(default_factory=asyncio.Event)

    def fail(self, error: ConnectionError) -> None:
        if self.error is None and not self.ended:
            self.error = error
        self.changed.set()
        self.window.set()

    async def until_headers(self) -> Headers:
        while self.headers is None:
            if self.error is not None:
                raise self.error
            if self.ended:
                raise ConnectionError("the exchange ended before its answer began")
            await self._change()
        return self.headers

    async def next_piece(self) -> bytes | None:
        """None at the end. Raises ConnectionError where the exchange broke off; what came before is given first."""
        while not self.pieces:
            if self.error is not None:
                raise self.error
            if self.ended:
                return None
            await self._change()
        return self.pieces.popleft()

    async def _change(self) -> None:
        self.changed.clear()
        await self.changed.wait()


class Session:
    """What both ends have in common. ``run`` works until the connection ends and raises ConnectionError, which says
    why; everything under way has failed then."""

    def __init__(
        self, pipe: Pipe, clock: Clock, *, client: bool, heartbeat: float = 10.0, window: int = STREAM_WINDOW
    ) -> None:
        self.traffic = Traffic()
        self._window = window
        self._pipe = pipe
        self._clock = clock
        self._heartbeat = heartbeat
        self._h2 = H2Connection(H2Configuration(client_side=client, header_encoding="utf-8"))
        self._streams: dict[int, Stream] = {}
        self._wake = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()
        self._buffered = 0
        self._owed = 0
        self._heard = clock.monotonic()
        self._ending = asyncio.Event()
        self._ended: ConnectionError | None = None
        self._begin()

    def _begin(self) -> None:
        ours = {SettingCodes.INITIAL_WINDOW_SIZE: self._window, SettingCodes.MAX_CONCURRENT_STREAMS: MOST_STREAMS}
        client = self._h2.config.client_side
        if client:
            ours[SettingCodes.ENABLE_PUSH] = 0
        self._h2.local_settings = Settings(client=bool(client), initial_values=ours)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(CONNECTION_WINDOW - self._h2.inbound_flow_control_window)
        self._wake.set()

    async def run(self) -> None:
        parts = (self._read(), self._write(), self._beat(), self._asked_to_end())
        tasks = [asyncio.create_task(part) for part in parts]
        reason = ConnectionError("the connection was given up")
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if isinstance(error, ConnectionError):
                    reason = error
                elif error is not None:
                    raise error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._end(reason)
        raise reason

    def end(self) -> None:
        """Ask ``run`` to close the connection."""
        self._ending.set()

    async def _end(self, reason: ConnectionError) -> None:
        self._ended = reason
        for stream in list(self._streams.values()):
            stream.fail(ConnectionError(str(reason)))
        with contextlib.suppress(ConnectionError, OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._pipe.close()

    async def _asked_to_end(self) -> None:
        await self._ending.wait()

    async def _read(self) -> None:
        while True:
            data = await self._pipe.receive()
            self._heard = self._clock.monotonic()
            self.traffic.received += len(data)
            try:
                for event in self._h2.receive_data(data):
                    self._take(event)
            except H2Error as error:
                raise ConnectionError(f"the other end broke the protocol: {error}") from error
            self._wake.set()

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while data := self._h2.data_to_send(BUFFERED):
                self.traffic.sent += len(data)
                await self._pipe.send(data)
            self._buffered = 0
            self._drained.set()

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(self._heartbeat)
            silent = self._clock.monotonic() - self._heard
            if silent > self._heartbeat * MISSED_HEARTBEATS:
                raise ConnectionError(f"the other end was silent for {silent:.0f} s")
            self._h2.ping(b"fedhub\0\0")
            self._wake.set()

    def _take(self, event: Event) -> None:
        if isinstance(event, WindowUpdated | RemoteSettingsChanged):
            self._windows_grew(getattr(event, "stream_id", 0) or 0)
        elif isinstance(event, DataReceived):
            self._data(event)
        elif isinstance(event, StreamEnded):
            self._finished(event.stream_id)
        elif isinstance(event, StreamReset):
            self._broken_off(event.stream_id)
        elif isinstance(event, RequestReceived | ResponseReceived):
            self._headers(event)

    def _headers(self, event: RequestReceived | ResponseReceived) -> None:
        stream = self._streams.get(event.stream_id or 0)
        if stream is not None:
            stream.headers = [(str(name), str(value)) for name, value in event.headers or ()]
            stream.changed.set()
            stream.window.set()

    def _data(self, event: DataReceived) -> None:
        self._owed += event.flow_controlled_length or 0
        if self._owed >= CONNECTION_WINDOW // GIVEN_BACK_AT:
            self._h2.increment_flow_control_window(self._owed)
            self._owed = 0
        stream = self._streams.get(event.stream_id)
        if stream is not None and event.data:
            stream.pieces.append(bytes(event.data))
            stream.changed.set()

    def _read_by_user(self, stream: Stream, size: int) -> None:
        """Give the stream's window back for what was read; the other end may send on."""
        stream.owed += size
        if stream.owed >= self._window // GIVEN_BACK_AT and not stream.ended and self._ended is None:
            with contextlib.suppress(H2Error):  # the stream may just have been closed by either end
                self._h2.increment_flow_control_window(stream.owed, stream.id)
                stream.owed = 0
                self._wake.set()

    def _finished(self, stream_id: int) -> None:
        stream = self._streams.get(stream_id)
        if stream is not None:
            stream.ended = True
            stream.changed.set()

    def _broken_off(self, stream_id: int) -> None:
        stream = self._streams.get(stream_id)
        if stream is not None:
            stream.fail(ConnectionError("the other end broke the exchange off"))

    def _windows_grew(self, stream_id: int) -> None:
        if stream_id:
            if (found := self._streams.get(stream_id)) is not None:
                found.window.set()
            return
        for stream in self._streams.values():
            stream.window.set()

    def _send_headers(self, stream: Stream, headers: Headers, *, end: bool) -> None:
        self._check(stream)
        try:
            self._h2.send_headers(stream.id, headers, end_stream=end)
        except H2Error as error:
            raise ConnectionError(f"the exchange cannot go on: {error}") from error
        stream.sent = end
        self._wake.set()

    async def _send_body(self, stream: Stream, data: bytes) -> None:
        """Sends as the other end makes room, until an answer begins. Raises ConnectionError."""
        rest = memoryview(data)
        while rest:
            await self._drained.wait()
            self._check(stream)
            if self._h2.config.client_side and stream.headers is not None:
                return
            try:
                room = min(self._h2.local_flow_control_window(stream.id), self._h2.max_outbound_frame_size)
                if room <= 0:
                    stream.window.clear()
                    await stream.window.wait()
                    continue
                self._h2.send_data(stream.id, bytes(rest[:room]))
            except H2Error as error:
                raise ConnectionError(f"the exchange cannot go on: {error}") from error
            rest = rest[room:]
            self._buffered += room
            if self._buffered >= BUFFERED:
                self._drained.clear()
            self._wake.set()

    def _send_end(self, stream: Stream) -> None:
        self._check(stream)
        try:
            self._h2.end_stream(stream.id)
        except H2Error as error:
            raise ConnectionError(f"the exchange cannot go on: {error}") from error
        stream.sent = True
        self._wake.set()

    def _check(self, stream: Stream) -> None:
        if stream.error is not None:
            raise stream.error
        if self._ended is not None:
            raise ConnectionError(str(self._ended))

    def _reset(self, stream: Stream, code: ErrorCodes = ErrorCodes.CANCEL) -> None:
        """Tells the other end that nobody cares for the exchange any more; no harm where it has ended."""
        if self._ended is None:
            with contextlib.suppress(H2Error):
                self._h2.reset_stream(stream.id, code)
                self._wake.set()
