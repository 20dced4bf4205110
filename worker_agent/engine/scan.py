"""Where the scan of flavors stopped, so that the next attempt goes on from there (spec/engine 8.6)."""

from collections.abc import Sequence
from typing import Final

EXHAUSTED: Final = -1
"""The last flavor of the group was attempted: the next scan starts over."""


class ScanState:
    """Per pod set (by position) the last attempted flavor index of each resource, and when that was so. Immutable."""

    __slots__ = ("cycle", "generation", "hash", "tried")

    def __init__(self, tried: Sequence[dict[str, int]], generation: int, cycle: int, hash_: str) -> None:
        self.tried = tuple(tried)
        self.generation = generation
        self.cycle = cycle
        self.hash = hash_

    def first_index(self, pod_set: int, resource: str) -> int:
        """The flavor with which a scan for this pod set and resource starts."""
        if pod_set >= len(self.tried):
            return 0
        return self.tried[pod_set].get(resource, EXHAUSTED) + 1

    @property
    def pending_flavors(self) -> bool:
        """Some flavors were not attempted yet, so the workload is not parked."""
        for tried in self.tried:  # a plain loop: asked of every head that is given back
            for index in tried.values():
                if index != EXHAUSTED:
                    return True
        return False
