"""Turns of writing to one object: our own controllers queue for a moment instead of meeting in conflicts."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ResourceType

Ref = tuple[ResourceType, Key]


class WriteTurns:
    """Locks by object, made when wanted and gone when nobody waits."""

    def __init__(self) -> None:
        self._locks: dict[Ref, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, refs: Iterable[Ref]) -> AsyncIterator[None]:
        """Hold the turns of all these objects. They are taken in one order everywhere, so nobody waits in a circle."""
        ordered = sorted(set(refs), key=lambda ref: (ref[0].plural, ref[1]))
        async with AsyncExitStack() as stack:
            for ref in ordered:
                await stack.enter_async_context(self._one(ref))
            yield

    @asynccontextmanager
    async def _one(self, ref: Ref) -> AsyncIterator[None]:
        lock, users = self._locks.get(ref) or (asyncio.Lock(), 0)
        self._locks[ref] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[ref]
            if users == 1:
                del self._locks[ref]
            else:
                self._locks[ref] = (lock, users - 1)
