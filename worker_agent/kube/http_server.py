"""An HTTPS server of ours, as webhooks, aggregated APIs and the door for agents need it."""

import asyncio
import ssl
from typing import Any, Final

from aiohttp import web

BACKLOG: Final = 128
TURNS_UNTIL_SHAKING: Final = 3
"""Of the event loop, from the acceptance of a connection to the moment from which it can be cut."""


class HttpsServer:
    """Serves ``application`` from ``listen`` to ``end``. Requests under way then may take ``shutdown_seconds``."""

    def __init__(self, application: web.Application, shutdown_seconds: float) -> None:
        self._runner = web.AppRunner(
            application, access_log=None, handle_signals=False, shutdown_timeout=shutdown_seconds
        )
        self._listening: asyncio.Server | None = None
        self._shaking: set[asyncio.Task[Any]] = set()

    async def listen(self, host: str | None, port: int, context: ssl.SSLContext) -> int:
        """The port it listens on from now on, another one where 0 was asked for. Raises OSError where it is in use.

        May be called again, for another context: who is connected stays so.
        """
        if self._runner.server is None:
            await self._runner.setup()
        if self._listening is not None:
            self._listening.close()
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(self._accepted, host, port, ssl=context, backlog=BACKLOG)
        return int(self._listening.sockets[0].getsockname()[1])

    async def end(self) -> None:
        """Requests under way are finished, then every connection is cut. Doing it twice is fine.

        aiohttp closes connections by asking the other end for the end of TLS. An API server keeps its connections to
        webhooks for long, and one that hangs never answers: whoever stops the loop next would leave them open behind
        it. And of a connection whose handshake is not over aiohttp knows nothing, and would begin to serve it later.
        """
        if self._listening is not None:
            self._listening.close()
            await self._cut_handshakes()
        server = self._runner.server
        carriers = [connection.transport for connection in server.connections] if server is not None else []
        await self._runner.cleanup()
        await asyncio.sleep(0)  # what was written last is on its way
        for carrier in carriers:
            if carrier is not None:
                carrier.abort()

    def _accepted(self) -> asyncio.Protocol:
        """What asyncio asks for each connection, in a task that lasts until the handshake is over."""
        assert self._runner.server is not None
        task = asyncio.current_task()
        if task is not None:
            self._shaking.add(task)
            task.add_done_callback(self._shaking.discard)
        return self._runner.server()

    async def _cut_handshakes(self) -> None:
        for _ in range(TURNS_UNTIL_SHAKING):
            await asyncio.sleep(0)
        shaking = list(self._shaking)
        for task in shaking:
            task.cancel()
        await asyncio.gather(*shaking, return_exceptions=True)
