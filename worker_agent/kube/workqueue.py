"""A queue of keys with the semantics of client-go's workqueue.

A key is queued once however often it is added; while a worker holds it, adding it again makes it come back after
``done``; so no key is ever worked on twice at the same time and no change is missed.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

from worker_agent.kube.clock import Clock
from worker_agent.kube.distribution import Distribution

K = TypeVar("K", bound=Hashable)

FIRST_BACKOFF = 0.005
LONGEST_BACKOFF = 1000.0
"""Seconds; the values of client-go's item rate limiter."""

SECONDS = tuple(10.0**exponent for exponent in range(-8, 4))
"""Bounds of the times that keys wait and are worked on, those of client-go: 10 ns to 1000 s."""

CLOCK_GRAIN = 1e-6
"""Seconds. Shorter sleeps may not move a clock at all; a key due that soon is due."""


class QueueClosed(Exception):
    """The queue was closed and is empty."""


class WorkQueue(Generic[K]):
    """Add keys, ``get`` one, work, then ``done``. FIFO among the due ones.

    ``adds`` counts keys that became due, ``retries`` those that were to come back after a failure; ``waited`` and
    ``worked`` hold how long keys were due before they were taken, and then in work.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queue: deque[K] = deque()
        self._dirty: dict[K, float] = {}
        """Keys to look at, and since when."""
        self._processing: dict[K, float] = {}
        """Keys in work, and since when."""
        self._failures: dict[K, int] = {}
        self._due_at: dict[K, float] = {}
        self._later: list[tuple[float, int, K]] = []
        self._sequence = count()
        self._timer: asyncio.Task[None] | None = None
        self._getters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self.adds = 0
        self.retries = 0
        self.waited = Distribution(SECONDS)
        self.worked = Distribution(SECONDS)

    def __len__(self) -> int:
        """Keys that are due and not yet taken."""
        return len(self._queue)

    @property
    def idle(self) -> bool:
        """Nothing due, nothing worked on; keys waiting for their time do not count."""
        return not self._queue and not self._processing

    def add(self, key: K) -> None:
        """Makes the key due now; a time it was waiting for is forgotten."""
        if self._closed:
            return
        self._due_at.pop(key, None)
        if key in self._dirty:
            return
        self._dirty[key] = self._clock.monotonic()
        self.adds += 1
        if key not in self._processing:
            self._queue.append(key)
            self._wake()

    def add_after(self, key: K, seconds: float) -> None:
        """Makes the key due in ``seconds``; of several times the earliest counts."""
        if self._closed:
            return
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        known = self._due_at.get(key)
        if known is not None and known <= due:
            return
        if key in self._dirty and key not in self._processing:
            return  # it is due already and will look at the world then
        self._due_at[key] = due
        heapq.heappush(self._later, (due, next(self._sequence), key))
        if self._later[0][2] == key:
            self._restart_timer()

    def add_rate_limited(self, key: K, longest: float = LONGEST_BACKOFF) -> None:
        """Makes the key due after a delay that doubles with each call since ``forget``: 5 ms ... ``longest``."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        delay: float = min(FIRST_BACKOFF * 2 ** min(failures, 30), longest)
        self.add_after(key, delay)

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure starts from the shortest delay."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next due key, which the caller must give back with ``done``. QueueClosed when there will be none."""
        while not self._queue:
            if self._closed:
                raise QueueClosed
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if self._queue:
                    self._wake()  # pass the wake-up on to somebody who still wants it
                raise
        key = self._queue.popleft()
        now = self._clock.monotonic()
        self.waited.observe(now - self._dirty.pop(key, now))
        self._processing[key] = now
        return key

    def done(self, key: K) -> None:
        """The worker is finished with the key; if it was added meanwhile it is due again."""
        since = self._processing.pop(key, None)
        if since is not None:
            self.worked.observe(self._clock.monotonic() - since)
        if key in self._dirty:
            self._queue.append(key)
            self._wake()

    def unfinished_seconds(self) -> list[float]:
        """For each key in work, how long it has been so."""
        now = self._clock.monotonic()
        return [now - since for since in self._processing.values()]

    def close(self) -> None:
        """No key is taken in any more; workers get what is due, then QueueClosed."""
        self._closed = True
        if self._timer:
            self._timer.cancel()
        while self._getters:
            self._wake()

    def _wake(self) -> None:
        while self._getters:
            turn = self._getters.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().create_task(self._run_timer(), name="workqueue timer")

    async def _run_timer(self) -> None:
        while self._later:
            due, _, key = self._later[0]
            if self._due_at.get(key) != due:
                heapq.heappop(self._later)  # added directly or with an earlier time since
                continue
            wait = due - self._clock.monotonic()
            if wait > CLOCK_GRAIN:
                await self._clock.sleep(wait)
                continue
            heapq.heappop(self._later)
            self.add(key)
        self._timer = None
