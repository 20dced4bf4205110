"""Partial admission: fewer pods where not all fit (spec/engine 9)."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from worker_agent.engine.workload_info import PodSetRow

Found = TypeVar("Found")


def applies(pod_sets: Sequence[PodSetRow]) -> bool:
    return any(pod_set.min_count is not None and pod_set.count > pod_set.min_count for pod_set in pod_sets)


class Reduction(Generic[Found]):
    """Binary search for the least number of pods taken away with which ``probe`` finds something.

    ``probe`` gets the counts of all pod sets, by position. That a smaller workload fits wherever a larger one does is
    assumed, as in the reference.
    """

    def __init__(self, pod_sets: Sequence[PodSetRow], probe: Callable[[list[int]], Found | None]) -> None:
        self._full = [pod_set.count for pod_set in pod_sets]
        self._spare = [
            max(0, pod_set.count - (pod_set.count if pod_set.min_count is None else pod_set.min_count))
            for pod_set in pod_sets
        ]
        self._total = sum(self._spare)
        self._probe = probe

    def counts(self, step: int) -> list[int]:
        """The counts after ``step`` of the total reduction, spread over the pod sets in proportion."""
        return [full - spare * step // self._total for full, spare in zip(self._full, self._spare, strict=True)]

    def search(self) -> Found | None:
        """What the smallest successful reduction found; None when none did."""
        low, high = 0, self._total + 1
        found: Found | None = None
        found_at = -1
        while low < high:
            middle = (low + high) // 2
            result = self._probe(self.counts(middle))
            if result is None:
                low = middle + 1
            else:
                high, found, found_at = middle, result, middle
        return found if found_at == low else None
