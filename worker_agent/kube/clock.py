"""Time as shells see it: injected, so that whole federations can run on virtual time."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
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


class SteadyTime:
    """Wall time as it was when this was made, counted on from there: who sets the machine's clock changes nothing.

    For what is compared with the past, such as how long an outage has lasted.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began, self._began_at = clock.now(), clock.monotonic()

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self._clock.monotonic() - self._began_at)

    def on_the_wall(self, instant: datetime) -> datetime:
        """What the machine's clock, as it is set now, shows or would have shown at an ``instant`` counted here."""
        return instant + (self._clock.now() - self.now())


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
