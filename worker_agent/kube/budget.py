"""How fast one API server is asked: a token bucket, a limit of requests in flight, and back-pressure.

Sized for bulk: a burst of jobs should be limited by the server, not by us. When the server does push back (429 or 503
with Retry-After) everybody pauses, and the rate is halved and then grows again request by request.
"""

import asyncio
from collections import deque

from worker_agent.kube.clock import Clock

MIN_RATE = 5.0
"""Requests per second that push-back never goes below: slower, leases would lapse."""

CLOCK_GRAIN = 1e-6
"""Seconds. Shorter sleeps may not move a clock at all; a pause that short is none."""

GROWTH = 0.05
"""How many requests per second each answered request gives back after push-back."""


IN_FLIGHT = 32
"""Requests at a time. Each needs a connection of its own, and a new one costs the server a TLS handshake, as much as a
small request; 32 keep it busy at 300 requests a second with 100 ms each."""


class RateBudget:
    """Shared by all clients of one API server. ``rate`` in requests per second, negative = unlimited; FIFO."""

    def __init__(self, clock: Clock, rate: float = 300.0, burst: int = 500, in_flight: int = IN_FLIGHT) -> None:
        if rate == 0 or burst < 1 or in_flight < 1:
            raise ValueError(
                "RateBudget: rate must not be 0 (negative switches the limit off), burst and in_flight >= 1"
            )
        self._clock = clock
        self._full_rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = clock.monotonic()
        self._paused_until = self._at
        self._free = in_flight
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turn = asyncio.Lock()
        self._queued = 0
        """How many have or want the lock."""
        self.rate = rate
        self.waited_seconds = 0.0

    def slot(self) -> "RateBudget":
        """``async with`` it: holds one of the requests in flight, from when the bucket and the server allow it."""
        return self

    async def __aenter__(self) -> None:
        await self._enter()
        try:
            await self.admit()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    async def admit(self) -> None:
        """Waits for a token only: for requests that stay open, such as watches."""
        if self._queued or self._pause() > 0:
            await self._queue()
        self._tokens -= 1

    async def _queue(self) -> None:
        """Waits for a token, after all who came before."""
        self._queued += 1
        try:
            async with self._turn:  # a lock is served in order of arrival, so nobody starves
                while (pause := self._pause()) > 0:
                    self.waited_seconds += pause
                    await self._clock.sleep(pause)
        finally:
            self._queued -= 1

    def pushed_back(self, seconds: float | None) -> None:
        """The server asked for less: pause everyone for ``seconds`` (default 1) and halve the rate."""
        now = self._clock.monotonic()
        if self._full_rate > 0 and now >= self._paused_until:  # one halving per pause, however many were in flight
            self.rate = max(min(MIN_RATE, self._full_rate), self.rate / 2)
            self._tokens = min(self._tokens, self.rate)
        self._paused_until = max(self._paused_until, now + (1.0 if seconds is None else seconds))

    def answered(self) -> None:
        """The server took a request: give back a little of what push-back took."""
        if self.rate < self._full_rate:
            self.rate = min(self._full_rate, self.rate + GROWTH)

    def _pause(self) -> float:
        """Seconds until the next request may go; 0 = now."""
        now = self._clock.monotonic()
        if now < self._paused_until - CLOCK_GRAIN:
            return self._paused_until - now
        if self._full_rate < 0:
            self._tokens = self._burst
            return 0.0
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self.rate)
        self._at = now
        pause = (1 - self._tokens) / self.rate
        return pause if pause > CLOCK_GRAIN else 0.0

    async def _enter(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the slot was handed over in the very moment of cancellation
            raise

    def _leave(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
