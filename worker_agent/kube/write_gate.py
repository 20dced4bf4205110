"""Writes under way: counted, so that a program that ends can let them end."""

import asyncio


class WriteGate:
    """``passing()`` around each write. Between ``close`` and ``open`` no write begins."""

    def __init__(self) -> None:
        self._under_way = 0
        self._closed = False
        self._empty = asyncio.Event()
        self._empty.set()

    def passing(self) -> "WriteGate":
        """Who comes while it is closed waits for ever: the one who closed it ends the task, and nothing was sent."""
        return self

    async def __aenter__(self) -> None:
        if self._closed:
            await asyncio.Event().wait()
        self._under_way += 1
        self._empty.clear()

    async def __aexit__(self, *_: object) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._empty.set()

    async def close(self, seconds: float) -> bool:
        """Whether all writes under way have ended; False where some took longer than that."""
        self._closed = True
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    def open(self) -> None:
        """For those who come from now on."""
        self._closed = False
