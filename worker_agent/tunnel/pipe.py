"""What carries a session's bytes: messages in order, both ways, until one end closes."""

from typing import Final, Protocol

import aiohttp
from aiohttp import web

LARGEST_MESSAGE: Final = 1 << 20
"""Bytes of one WebSocket message; a session sends smaller ones."""


class Pipe(Protocol):
    """``receive`` raises ConnectionError when the other end is gone; so does ``send``."""

    async def send(self, data: bytes) -> None: ...

    async def receive(self) -> bytes: ...

    async def close(self) -> None: ...


class WebSocketPipe:
    """Binary messages of a WebSocket, either end of it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse | web.WebSocketResponse) -> None:
        self._socket = socket

    async def send(self, data: bytes) -> None:
        try:
            await self._socket.send_bytes(data)
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            # RuntimeError is how aiohttp says that the WebSocket is closed already.
            raise ConnectionError(f"the connection broke: {error}") from error

    async def receive(self) -> bytes:
        try:
            message = await self._socket.receive()
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            raise ConnectionError(f"the connection broke: {error}") from error
        if message.type is aiohttp.WSMsgType.BINARY:
            data: bytes = message.data
            return data
        raise ConnectionError(_ending(message))

    async def close(self) -> None:
        await self._socket.close()


def _ending(message: aiohttp.WSMessage) -> str:
    if message.type is aiohttp.WSMsgType.ERROR:
        return f"the connection broke: {message.data}"
    if message.type is aiohttp.WSMsgType.TEXT:
        return "the other end does not speak this protocol: a text message came"
    return f"the other end closed the connection{f': {message.extra}' if message.extra else ''}"
