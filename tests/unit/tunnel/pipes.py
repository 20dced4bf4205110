"""Two ends of a connection in memory, and sessions on them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from worker_agent.kube.clock import Clock, SystemClock
from worker_agent.kube.transport import Transport
from worker_agent.tunnel.answerer import Answerer
from worker_agent.tunnel.caller import Caller


class MemoryPipe:
    """One end; what it sends its peer receives. ``stalled`` holds everything back."""

    def __init__(self) -> None:
        self.peer: MemoryPipe = self
        self.stalled = False
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def send(self, data: bytes) -> None:
        if not self.stalled:
            self.peer._inbox.put_nowait(data)
        await asyncio.sleep(0)

    async def receive(self) -> bytes:
        data = await self._inbox.get()
        if data is None:
            raise ConnectionError("the other end closed the connection")
        return data

    async def close(self) -> None:
        self.peer._inbox.put_nowait(None)


def pair() -> tuple[MemoryPipe, MemoryPipe]:
    one, other = MemoryPipe(), MemoryPipe()
    one.peer, other.peer = other, one
    return one, other


@contextlib.asynccontextmanager
async def sessions(
    transport: Transport, clock: Clock | None = None, heartbeat: float = 10.0
) -> AsyncIterator[tuple[Caller, Answerer]]:
    """A hub's end and an agent's end that answers with ``transport``."""
    clock = clock or SystemClock()
    hub_pipe, agent_pipe = pair()
    caller = Caller(hub_pipe, clock, heartbeat=heartbeat)
    answerer = Answerer(agent_pipe, clock, transport, heartbeat=heartbeat)
    tasks = [asyncio.create_task(caller.run()), asyncio.create_task(answerer.run())]
    try:
        yield caller, answerer
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
