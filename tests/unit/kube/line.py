"""A connection that can be stalled, between a client and a server on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Line:
    """A way to a server that, once ``stalled``, passes nothing on: at each end the other one seems to hang."""

    def __init__(self, port: int) -> None:
        self.stalled = False
        self.heard = asyncio.Event()
        """Something was said while it was stalled."""
        self.cut = asyncio.Event()
        """One of them has ended a connection, not asked for its end."""
        self._port = port
        self._carried: list[asyncio.Task[None]] = []

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        self._carried += [task] if (task := asyncio.current_task()) else []
        ways = [
            asyncio.create_task(self._pass_on(from_server, writer)),
            asyncio.create_task(self._pass_on(reader, to_server)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        self.cut.set()
        for way in ways:
            way.cancel()
        for end in (writer, to_server):
            end.transport.abort()
            with contextlib.suppress(ConnectionError):
                await end.wait_closed()

    async def ended(self) -> None:
        """Waits until both ends of all that was carried are gone."""
        await asyncio.gather(*self._carried)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                if self.stalled:
                    self.heard.set()
                else:
                    writer.write(piece)


@contextlib.asynccontextmanager
async def line_to(port: int) -> AsyncIterator[tuple[Line, int]]:
    """The line to the server at ``port``, and the port at which it begins."""
    found = Line(port)
    server = await asyncio.start_server(found.carry, "127.0.0.1", 0)
    try:
        yield found, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await found.ended()
