"""Level-triggered reconciliation: keys in, ``reconcile(key)`` until the world is as it should be."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Generic, TypeVar

from worker_agent.kube import cancellation
from worker_agent.kube.clock import Clock
from worker_agent.kube.distribution import Distribution
from worker_agent.kube.errors import ApiError, Conflict, ReconcileError, ServerError
from worker_agent.kube.workqueue import QueueClosed, WorkQueue

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)

LONGEST_UNREACHABLE = 3.0
"""Seconds until a key is tried again whose API server could not be reached."""

LONGEST_TROUBLED = 30.0
"""The same where the server has trouble of its own, such as a webhook that does not answer."""

SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0),
)
"""Bounds of the times that a reconcile takes, those of controller-runtime."""


class Result(StrEnum):
    """How a reconcile ended, in controller-runtime's words."""

    SUCCESS = "success"
    REQUEUE_AFTER = "requeue_after"
    REQUEUE = "requeue"
    """Somebody else wrote first: looked at again at once, and no error."""
    ERROR = "error"


ROSTER: ContextVar[list["Controller[Any]"] | None] = ContextVar("controllers", default=None)
"""The controllers of the program that a task belongs to: each joins it when it begins to run."""


class Controller(Generic[K]):
    """Calls ``reconcile`` for enqueued keys, never twice at a time for one key, ``workers`` keys at a time.

    ``reconcile`` returns the seconds after which to look again, or None. What it raises makes the key come back with
    exponential backoff (5 ms ... 1000 s, but LONGEST_UNREACHABLE or LONGEST_TROUBLED where it is the server's fault
    and not the key's, and may pass at any moment); Conflict is everyday life and comes back without noise.
    """

    def __init__(
        self, name: str, reconcile: Callable[[K], Awaitable[float | None]], *, workers: int = 1, clock: Clock
    ) -> None:
        if workers < 1:
            raise ValueError(f"controller {name}: workers must be at least 1, not {workers}")
        self.name = name
        self.results: Counter[Result] = Counter()
        self.seconds = Distribution(SECONDS)
        self.active = 0
        """Reconciles under way."""
        self.panics = 0
        """Reconciles that ended with a fault of ours."""
        self.workers = workers
        self.runs = False
        """Between the start and the end of ``run``: what is enqueued is looked at soon."""
        self._hired = 0
        self.queue: WorkQueue[K] = WorkQueue(clock)
        self._reconcile = reconcile
        self._clock = clock

    @property
    def idle(self) -> bool:
        """Nothing due and nothing in work."""
        return self.queue.idle

    def enqueue(self, key: K, after: float = 0.0) -> None:
        """Looks at ``key`` now, or ``after`` seconds from now. Must be called in the event loop."""
        self.queue.add_after(key, after)

    async def run(self) -> None:
        """Works until cancelled; a reconcile under way is cancelled too. Run it once."""
        roster = ROSTER.get()
        if roster is not None:
            roster.append(self)
        self.runs = True
        try:
            async with asyncio.TaskGroup() as group:
                self._hire(group)
        finally:
            self.runs = False
            self.queue.close()

    def _hire(self, group: asyncio.TaskGroup) -> None:
        group.create_task(self._work(group), name=f"{self.name} {self._hired}")
        self._hired += 1

    async def _work(self, group: asyncio.TaskGroup) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueClosed:
                return
            # One waits for keys as long as there may be more: most controllers never need a second one, and dozens of
            # tasks that nobody needs are as dear to start and to end as the rest of a program.
            if self.active + 1 == self._hired < self.workers:
                self._hire(group)
            try:
                await self._process(key)
            finally:
                self.queue.done(key)

    async def _process(self, key: K) -> None:
        began = self._clock.monotonic()
        self.active += 1
        try:
            result = await self._attempt(key)
        finally:
            self.active -= 1
        self.results[result] += 1
        self.seconds.observe(self._clock.monotonic() - began)

    async def _attempt(self, key: K) -> Result:
        try:
            after = await self._reconcile(key)
        except Conflict as error:
            log.debug("%s %s: %s; looking again", self.name, key, error)
            self.queue.add_rate_limited(key)
            return Result.REQUEUE
        except (ConnectionError, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and cancellation.is_ours():
                raise
            # Cancelled without our own worker being so: a connection was closed under a request.
            log.warning("%s %s: %s; trying again", self.name, key, str(error) or type(error).__name__)
            self.queue.add_rate_limited(key, LONGEST_UNREACHABLE)
        except ServerError as error:
            log.warning("%s %s: %s; trying again", self.name, key, error)
            self.queue.add_rate_limited(key, LONGEST_TROUBLED)
        except (ApiError, ReconcileError) as error:
            # A refusal that the world may outgrow: what is missing or in the way, not a fault of ours.
            log.warning("%s %s: %s; trying again", self.name, key, error)
            self.queue.add_rate_limited(key)
        except Exception:
            self.panics += 1
            log.exception("%s %s failed %d times in a row", self.name, key, self.queue.failures(key) + 1)
            self.queue.add_rate_limited(key)
        else:
            self.queue.forget(key)
            if after is None:
                return Result.SUCCESS
            self.queue.add_after(key, after)
            return Result.REQUEUE_AFTER
        return Result.ERROR
