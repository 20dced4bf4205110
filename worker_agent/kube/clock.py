"""Time as shells see it: injected, so that whole federations can run on virtual time."""

import asyncio
import random
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """``now`` is wall-clock UTC (aware), ``monotonic`` counts seconds for durations."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def random(self) -> float: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return random.random()


class LoopClock:
    """Follows the running event loop's time, which ``looptime`` makes virtual. ``start``: wall time at loop time 0."""

    def __init__(self, start: datetime, seed: int = 0) -> None:
        self._start = start.timestamp()
        self._random = random.Random(seed)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._start + self.monotonic(), UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return self._random.random()
