"""Answers that are worth asking once for many: kept for their time, the oldest dropped when there are too many."""

from typing import Final, Generic, TypeVar

from worker_agent.kube.clock import Clock

K = TypeVar("K")
V = TypeVar("V")

MOST: Final = 4096


class KeptAnswers(Generic[K, V]):
    """By question; time is the clock's monotonic one."""

    def __init__(self, clock: Clock, most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self._kept: dict[K, tuple[float, V]] = {}

    def get(self, question: K) -> V | None:
        """None when it was not asked lately."""
        found = self._kept.get(question)
        if found is None or found[0] <= self._clock.monotonic():
            return None
        return found[1]

    def put(self, question: K, answer: V, seconds: float) -> None:
        self._kept.pop(question, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[question] = self._clock.monotonic() + seconds, answer
