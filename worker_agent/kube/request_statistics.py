"""What a program asked of API servers: how often, with what outcome, and how long the answers took."""

from collections import Counter
from typing import Final

from worker_agent.kube.distribution import Distribution

SECONDS: Final[tuple[float, ...]] = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Bounds of the times until an answer; those of Kubernetes' own components."""
NO_ANSWER: Final = "<error>"
"""In place of a status, as client-go says it."""


class HostStatistics:
    """Of one API server. A repeated request counts again."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        """By method and status; 0 where no answer came."""
        self.seconds: dict[str, Distribution] = {}
        """By method, of requests that have an end: watches are left out."""

    def asked(self, method: str, status: int) -> None:
        self.requests[method, status] += 1

    def took(self, method: str, seconds: float) -> None:
        spread = self.seconds.get(method)
        if spread is None:
            spread = self.seconds[method] = Distribution(SECONDS)
        spread.observe(seconds)


class RequestStatistics:
    """Of all API servers that one program speaks to; they outlive the connections."""

    def __init__(self) -> None:
        self.hosts: dict[str, HostStatistics] = {}

    def of(self, host: str) -> HostStatistics:
        return self.hosts.setdefault(host, HostStatistics())
