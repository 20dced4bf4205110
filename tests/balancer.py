"""What a Service of Kubernetes does with connections: each goes to one of its ports, by chance or in turn."""

import asyncio
import contextlib
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
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def endpoints(self) -> list[int]:
        """Those of this moment."""
        return list(self.ports)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """No connection is left, nor one that was just coming, nor one that has still to be written to."""
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(0)  # who was let in is served
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._keep(asyncio.current_task())
        self.connections += 1
        ports = self.endpoints()
        first = self.connections % len(ports) if ports else 0
        for port in [*ports[first:], *ports[:first]] if self.in_turn else random.sample(ports, len(ports)):
            try:
                there, back = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            self._writers.add(back)
            for source, target in ((reader, back), (there, writer)):
                self._keep(asyncio.create_task(self._pipe(source, target)))
            return
        self._leave(writer)

    def _keep(self, task: "asyncio.Task[None] | None") -> None:
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pipe(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                target.write(data)
                await target.drain()
        except OSError:
            return
        finally:
            self._leave(target)

    def _leave(self, writer: asyncio.StreamWriter) -> None:
        """Closed once everything is written, and counted as one of ours until then."""
        writer.close()
        self._keep(asyncio.create_task(self._left(writer)))

    async def _left(self, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        self._writers.discard(writer)
