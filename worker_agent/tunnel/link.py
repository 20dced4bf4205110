"""A link: the two connections of an agent to one replica of its hub."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from worker_agent.kube.clock import Clock
from worker_agent.kube.transport import Transport
from worker_agent.tunnel.answerer import Answerer
from worker_agent.tunnel.identity import Identity
from worker_agent.tunnel.pipe import Pipe
from worker_agent.tunnel.protocol import Purpose

TRAFFIC_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class LinkMetrics:
    """``linked(address, replicas)``: to how many a link stands; ``leads(up)``: whether to the leader;
    ``dialled(address, outcome)``; ``traffic(address, sent, received)`` in bytes since the last call."""

    linked: Callable[[str, int], None] = lambda address, replicas: None
    leads: Callable[[bool], None] = lambda up: None
    dialled: Callable[[str, str], None] = lambda address, outcome: None
    traffic: Callable[[str, int, int], None] = lambda address, sent, received: None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all links of an agent share. ``transport`` is the gatekeeper; ``heartbeat`` in seconds."""

    transport: Transport
    clock: Clock
    cluster_uid: str
    heartbeat: float = 10.0
    metrics: LinkMetrics = field(default_factory=LinkMetrics)


class Link:
    """Its connections come one by one, for each dial may lead elsewhere; when one ends so does the link."""

    def __init__(self, replica: str, address: str, identity: Identity, surroundings: Surroundings) -> None:
        self.replica = replica
        self.address = address
        self.agent = identity.agent
        self.certificate = identity.certificate
        """By which it was let in."""
        self.name = uuid4().hex
        self.began = surroundings.clock.monotonic()
        self._surroundings = surroundings
        self._stack = AsyncExitStack()
        self._sessions: dict[Purpose, Answerer] = {}
        self._promised: set[Purpose] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._counted = (0, 0)
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def complete(self) -> bool:
        return len(self._sessions) == len(Purpose)

    @property
    def over(self) -> bool:
        return self._end.done()

    @contextlib.contextmanager
    def promised(self) -> Iterator[Purpose | None]:
        """A connection that is missing and that nobody else is about to make; None where there is no such."""
        missing = [each for each in Purpose if each not in self._sessions and each not in self._promised]
        purpose = missing[0] if missing else None
        if purpose is None:
            yield None
            return
        self._promised.add(purpose)
        try:
            yield purpose
        finally:
            self._promised.discard(purpose)

    def add(self, purpose: Purpose, pipe: Pipe, stack: AsyncExitStack) -> None:
        """Answers what comes over ``pipe`` from now on; ``stack`` is closed with the link."""
        around = self._surroundings
        session = Answerer(pipe, around.clock, around.transport, heartbeat=around.heartbeat)
        if not self._sessions:
            self._tasks.append(asyncio.create_task(self._count(), name=f"traffic with {self.replica}"))
        self._sessions[purpose] = session
        self._stack.push_async_exit(stack)
        task = asyncio.create_task(session.run(), name=f"{purpose} of {self.replica}")
        task.add_done_callback(self._session_ended)
        self._tasks.append(task)

    async def ended(self) -> str:
        """Waits for the end and tells the reason."""
        return await asyncio.shield(self._end)

    def give_up(self) -> None:
        """It is over from now on, and to be closed."""
        if not self._end.done():
            self._end.set_result("it was given up")

    async def close(self) -> None:
        """Doing it twice is fine."""
        self.give_up()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    def _session_ended(self, task: asyncio.Task[None]) -> None:
        reason = "it was given up" if task.cancelled() else str(task.exception())
        if not self._end.done():
            self._end.set_result(reason)

    async def _count(self) -> None:
        try:
            while True:
                await self._surroundings.clock.sleep(TRAFFIC_SECONDS)
                self._tell_traffic()
        finally:
            self._tell_traffic()

    def _tell_traffic(self) -> None:
        sent = sum(session.traffic.sent for session in self._sessions.values())
        received = sum(session.traffic.received for session in self._sessions.values())
        self._surroundings.metrics.traffic(self.address, sent - self._counted[0], received - self._counted[1])
        self._counted = (sent, received)
