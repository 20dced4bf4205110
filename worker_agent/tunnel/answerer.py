"""The agent's end of a session: every stream that comes in is a request, answered by a Transport."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Final

import msgspec
from h2.errors import ErrorCodes
from h2.events import Event, RequestReceived

from worker_agent.kube.clock import Clock
from worker_agent.kube.transport import Request, Response, Transport
from worker_agent.tunnel import wire
from worker_agent.tunnel.pipe import Pipe
from worker_agent.tunnel.session import Session, Stream

log = logging.getLogger(__name__)

LARGEST_BODY: Final = 4 << 20
"""Bytes of one request; API servers take 3 MiB."""
REQUEST_WINDOW: Final = 1 << 18
BODIES_AT_A_TIME: Final = 16
"""With the window and the number of streams these bound what a hostile hub can make an agent hold: 128 MiB."""


class TooLarge(Exception):
    """A request's body exceeds LARGEST_BODY."""


class Answerer(Session):
    """Answers with ``transport``, each request in a task of its own, ended when the hub loses interest."""

    def __init__(self, pipe: Pipe, clock: Clock, transport: Transport, *, heartbeat: float = 10.0) -> None:
        super().__init__(pipe, clock, client=False, heartbeat=heartbeat, window=REQUEST_WINDOW)
        self._reading = asyncio.Semaphore(BODIES_AT_A_TIME)
        self._transport = transport
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            for task in list(self._tasks.values()):
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived) and event.stream_id:
            stream = self._streams[event.stream_id] = Stream(event.stream_id)
            super()._take(event)
            task = asyncio.create_task(self._answer(stream), name=f"tunnel request {stream.id}")
            self._tasks[stream.id] = task
            return
        super()._take(event)

    def _broken_off(self, stream_id: int) -> None:
        super()._broken_off(stream_id)
        task = self._tasks.get(stream_id)
        if task is not None:
            task.cancel()

    async def _answer(self, stream: Stream) -> None:
        try:
            with contextlib.suppress(ConnectionError):  # the hub is gone: nobody is left to be told
                await self._exchange(stream)
                if not stream.ended:
                    self._reset(stream, ErrorCodes.NO_ERROR)  # answered before the whole request was read
        except asyncio.CancelledError:
            self._reset(stream)
            raise
        except Exception:
            log.exception("a request of the hub could not be answered")
            self._reset(stream, ErrorCodes.INTERNAL_ERROR)
        finally:
            self._streams.pop(stream.id, None)
            self._tasks.pop(stream.id, None)

    async def _exchange(self, stream: Stream) -> None:
        try:
            request = await self._request(stream)
        except TooLarge as error:
            response = _status(413, "RequestEntityTooLarge", str(error))
        except wire.MalformedExchange as error:
            response = _status(400, "BadRequest", str(error))
        else:
            response = await self._ask(request)
        try:
            await self._send(stream, response)
        finally:
            await response.close()

    async def _request(self, stream: Stream) -> Request:
        headers = await stream.until_headers()
        async with self._reading:
            return wire.read_request(headers, await self._body(stream))

    async def _body(self, stream: Stream) -> bytes:
        body = bytearray()
        while (piece := await stream.next_piece()) is not None:
            body += piece
            if len(body) > LARGEST_BODY:
                raise TooLarge(f"the request's body exceeds {LARGEST_BODY} bytes")
            self._read_by_user(stream, len(piece))
        return bytes(body)

    async def _ask(self, request: Request) -> Response:
        try:
            return await self._transport.request(request)
        except ConnectionError as error:
            return Response(502, {wire.UNREACHABLE: "true"}, _whole(str(error).encode()))

    async def _send(self, stream: Stream, response: Response) -> None:
        self._send_headers(stream, wire.answer_headers(response.status, response.headers), end=False)
        pieces = aiter(response.stream)
        while True:
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                break
            except ConnectionError:
                self._reset(stream, ErrorCodes.INTERNAL_ERROR)  # the API server broke off: so must this
                return
            await self._send_body(stream, piece)
        self._send_end(stream)


def _status(code: int, reason: str, message: str) -> Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason}
    return Response(code, {"content-type": "application/json"}, _whole(msgspec.json.encode(status | {"code": code})))


async def _whole(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
