"""Turns of writing to one object: our own controllers queue for a moment instead of meeting in conflicts."""

import asyncio
from collections.abc import Iterable

from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ResourceType

Ref = tuple[ResourceType, Key]


class WriteTurns:
    """Locks by object, made when wanted and gone when nobody waits."""

    def __init__(self) -> None:
        self._locks: dict[Ref, tuple[asyncio.Lock, int]] = {}

    def turn(self, refs: Iterable[Ref]) -> "Turn":
        """``async with`` it: holds the turns of all these objects. They are taken in one order everywhere, so nobody
        waits in a circle."""
        return Turn(self, sorted(set(refs), key=lambda ref: (ref[0].plural, ref[1])))

    async def take(self, ref: Ref) -> None:
        lock, users = self._locks.get(ref) or (asyncio.Lock(), 0)
        self._locks[ref] = (lock, users + 1)
        try:
            await lock.acquire()
        except BaseException:
            self._leave(ref)
            raise

    def give_back(self, ref: Ref) -> None:
        self._locks[ref][0].release()
        self._leave(ref)

    def _leave(self, ref: Ref) -> None:
        lock, users = self._locks[ref]
        if users == 1:
            del self._locks[ref]
        else:
            self._locks[ref] = (lock, users - 1)


class Turn:
    """Of several objects at a time. Not a generator: every write passes here."""

    __slots__ = ("_held", "_turns", "_wanted")

    def __init__(self, turns: WriteTurns, wanted: list[Ref]) -> None:
        self._turns = turns
        self._wanted = wanted
        self._held: list[Ref] = []

    async def __aenter__(self) -> None:
        try:
            for ref in self._wanted:
                await self._turns.take(ref)
                self._held.append(ref)
        except BaseException:
            self._give_back()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._give_back()

    def _give_back(self) -> None:
        while self._held:
            self._turns.give_back(self._held.pop())
