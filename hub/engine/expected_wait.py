"""How long a workload is likely to wait for quota, told by how long the work ahead of it has run already.

Nobody knows when a job ends. But run times spread over so many sizes that what has run for an hour is likely to run for
another hour, and what has run for a minute for another minute: the chance to end within the next second is one in as
many seconds as it has run (Gott, Nature 363, 1993; the same follows from a run time without any preferred scale). So a
queue's quota comes free at a rate of the sum over its work of amount / age, and a wait is what is missing over that
rate. It orders clusters; it is no promise, and told to nobody.
"""

from collections.abc import Mapping
from typing import Final

from worker_agent.engine.cluster_queue import ClusterQueueRow

YOUNGEST_SECONDS: Final = 60
"""Added to every age: what began just now does not end just now."""

NEVER: Final = 2**53
"""Milliseconds where nothing holds quota that could come free."""

_SECOND: Final = 10**6
_SCALE: Final = 10**9


def milliseconds(queue: ClusterQueueRow, missing: Mapping[str, int], now: int) -> int:
    """Until ``missing`` (by resource) has come free in the queue; the slowest resource counts. ``now`` in microseconds.

    Whole numbers only, so that the answer is the same wherever it is worked out.
    """
    slowest = 0
    for resource, amount in missing.items():
        if amount > 0:
            rate = _rate(queue, resource, now)
            slowest = max(slowest, min(NEVER, amount * 1000 * _SCALE // rate) if rate else NEVER)
    return slowest


def _rate(queue: ClusterQueueRow, resource: str, now: int) -> int:
    """Amount per second that is likely to come free, times ``_SCALE``."""
    rate = 0
    for row in queue.reservations.values():
        used = sum(amount for fr, amount in row.usage.items() if fr[1] == resource)
        if used:
            rate += used * _SCALE // (max(0, now - row.reserved_at) // _SECOND + YOUNGEST_SECONDS)
    return rate
