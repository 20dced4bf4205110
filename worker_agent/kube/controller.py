"""Level-triggered reconciliation: keys in, ``reconcile(key)`` until the world is as it should be."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, Conflict, ReconcileError, ServerError
from worker_agent.kube.workqueue import QueueClosed, WorkQueue

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)

LONGEST_UNREACHABLE = 3.0
"""Seconds until a key is tried again whose API server could not be reached."""

LONGEST_TROUBLED = 30.0
"""The same where the server has trouble of its own, such as a webhook that does not answer."""


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
        self.reconciles = 0
        self.failures = 0
        self._reconcile = reconcile
        self._workers = workers
        self._queue: WorkQueue[K] = WorkQueue(clock)

    @property
    def idle(self) -> bool:
        """Nothing due and nothing in work."""
        return self._queue.idle

    def enqueue(self, key: K, after: float = 0.0) -> None:
        """Looks at ``key`` now, or ``after`` seconds from now. Must be called in the event loop."""
        self._queue.add_after(key, after)

    async def run(self) -> None:
        """Works until cancelled; a reconcile under way is cancelled too. Run it once."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._work(), name=f"{self.name} {number}")
        finally:
            self._queue.close()

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except QueueClosed:
                return
            try:
                await self._process(key)
            finally:
                self._queue.done(key)

    async def _process(self, key: K) -> None:
        self.reconciles += 1
        try:
            after = await self._reconcile(key)
        except Conflict as error:
            log.debug("%s %s: %s; looking again", self.name, key, error)
            self._queue.add_rate_limited(key)
        except (ConnectionError, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            # Cancelled without our own worker being so: a connection was closed under a request.
            self.failures += 1
            log.warning("%s %s: %s; trying again", self.name, key, str(error) or type(error).__name__)
            self._queue.add_rate_limited(key, LONGEST_UNREACHABLE)
        except ServerError as error:
            self.failures += 1
            log.warning("%s %s: %s; trying again", self.name, key, error)
            self._queue.add_rate_limited(key, LONGEST_TROUBLED)
        except (ApiError, ReconcileError) as error:
            # A refusal that the world may outgrow: what is missing or in the way, not a fault of ours.
            self.failures += 1
            log.warning("%s %s: %s; trying again", self.name, key, error)
            self._queue.add_rate_limited(key)
        except Exception:
            self.failures += 1
            log.exception("%s %s failed %d times in a row", self.name, key, self._queue.failures(key) + 1)
            self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)
            if after is not None:
                self._queue.add_after(key, after)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
