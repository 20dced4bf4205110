"""How many requests each webhook was sent, how they were answered, and how long that took."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from worker_agent.kube.clock import Clock, SystemClock
from worker_agent.kube.distribution import Distribution

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the times until an answer, those of controller-runtime."""


class RequestTally:
    """By path of the webhook. Only what ``counted`` is given is counted: a stranger's paths make no series."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.requests: Counter[tuple[str, int]] = Counter()
        """By path and status."""
        self.in_flight: Counter[str] = Counter()
        self.seconds: dict[str, Distribution] = {}

    async def counted(
        self, request: web.Request, answer: Callable[[web.Request], Awaitable[web.Response]]
    ) -> web.Response:
        """What ``answer`` makes of the request."""
        path, began = request.path, self._clock.monotonic()
        self.in_flight[path] += 1
        try:
            response = await answer(request)
        finally:
            self.in_flight[path] -= 1
            self.seconds.setdefault(path, Distribution(SECONDS)).observe(self._clock.monotonic() - began)
        self.requests[path, response.status] += 1
        return response
