"""Which requests are sent again, when, and how often (tenacity; time and chance come from the Clock).

Reads and applies may be repeated at will. Other writes are repeated only when the server says it did nothing: after a
lost connection nobody knows whether a create or a JSON patch happened, and only the caller, who looks at the world
again, can tell.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, ServerError, TooManyRequests

T = TypeVar("T")

REPEATABLE_VERBS = frozenset({"get", "list", "watch", "apply"})
"""Doing these twice is doing them once."""

TRANSIENT_STATUSES = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``attempts`` counts the first one. Waits double from ``first_wait`` to ``longest_wait`` seconds, with jitter of
    half; a Retry-After overrides them, up to ``longest_retry_after``."""

    attempts: int = 5
    first_wait: float = 0.1
    longest_wait: float = 5.0
    longest_retry_after: float = 30.0

    def wait(self, attempt: int, retry_after: float | None, chance: float) -> float:
        """Seconds before the next try, after ``attempt`` failed ones."""
        if retry_after is not None:
            return min(retry_after, self.longest_retry_after) + chance * self.first_wait
        full: float = min(self.first_wait * 2 ** (attempt - 1), self.longest_wait)
        return full * (0.5 + chance / 2)


NEVER = RetryPolicy(attempts=1)


def may_repeat(verb: str, error: BaseException) -> bool:
    """Whether a failed request of ``verb`` may be sent again."""
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, ServerError):
        # A write is repeated only where Retry-After says the server turned it away before doing anything.
        turned_away = error.status == 503 and error.retry_after is not None
        return turned_away or (verb in REPEATABLE_VERBS and error.status in TRANSIENT_STATUSES)
    return isinstance(error, ConnectionError) and verb in REPEATABLE_VERBS


async def repeat(verb: str, call: Callable[[], Awaitable[T]], policy: RetryPolicy, clock: Clock) -> T:
    """The result of ``call``, tried again as ``policy`` and the verb allow; the last error is raised as it came."""
    try:
        return await call()
    except (ApiError, ConnectionError) as error:
        if policy.attempts <= 1 or not may_repeat(verb, error):
            raise
        first: BaseException | None = error

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, ApiError) else None
        return policy.wait(state.attempt_number, asked, clock.random())

    retrying = tenacity.AsyncRetrying(
        sleep=clock.sleep,
        wait=wait,
        stop=tenacity.stop_after_attempt(policy.attempts),
        retry=tenacity.retry_if_exception(lambda error: may_repeat(verb, error)),
        reraise=True,
    )

    async def attempt() -> T:
        # The first failure is handed to tenacity as it was: most requests succeed and are spared its machinery.
        nonlocal first
        if first is not None:
            failed, first = first, None
            raise failed
        return await call()

    return await retrying(attempt)
