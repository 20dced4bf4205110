"""How values are spread over buckets, counted in plain numbers: cheap where it is fed, read when somebody asks."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate


class Distribution:
    """``bounds`` are inclusive upper ones, ascending; what lies above the last is counted too."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, other: "Distribution") -> None:
        """What ``other``, of the same bounds, has counted."""
        self.counts = [ours + theirs for ours, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def cumulative(self) -> Iterator[tuple[str, int]]:
        """Per bound how many values were not above it; ``+Inf`` names the last."""
        return zip([*map(str, self.bounds), "+Inf"], accumulate(self.counts), strict=True)
