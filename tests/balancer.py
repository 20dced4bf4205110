"""What a Service of Kubernetes does with connections: each goes to one of its ports, by chance or in turn."""

import asyncio
import random
from dataclasses import dataclass, field


@dataclass
class Balancer:
    """Serves on ``port`` of loopback; 0 is a free one, which ``start`` puts there. Ports may come and go in ``ports``;
    where nobody answers the next one is tried: a Service soon leaves out who is not ready."""

    port: int = 0
    ports: list[int] = field(default_factory=list)
    in_turn: bool = False
    """For tests that count on coming to each port soon."""
    connections: int = 0
    """That came so far."""
    _server: asyncio.Server | None = None
    _pipes: set[asyncio.Task[None]] = field(default_factory=set)

    def endpoints(self) -> list[int]:
        """Those of this moment."""
        return list(self.ports)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for pipe in list(self._pipes):
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        ports = self.endpoints()
        first = self.connections % len(ports) if ports else 0
        for port in [*ports[first:], *ports[:first]] if self.in_turn else random.sample(ports, len(ports)):
            try:
                there, back = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            for source, target in ((reader, back), (there, writer)):
                pipe = asyncio.create_task(_pipe(source, target))
                self._pipes.add(pipe)
                pipe.add_done_callback(self._pipes.discard)
            return
        writer.close()


async def _pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    except OSError:
        return
    finally:
        target.close()
