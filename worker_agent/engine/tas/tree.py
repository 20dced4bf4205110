"""TopologyTree: the domains of one flavor's nodes, as arrays (spec/tas 5.3 and 23).

Leaves are sorted by their values over all levels, so path order is index order, and every domain of every level is a
range of leaves and of the domains below it. Single leaves come and go in place, in a fraction of a millisecond.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worker_agent.api.names import HOSTNAME_LABEL

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Path = tuple[str, ...]


class TopologyTree:
    """Levels count from 0, the widest. ``first_child[l]`` and ``past_child[l]`` are ranges of the domains below."""

    __slots__ = (
        "_asked", "_found", "_leaf_start", "_place", "_slots", "first_child", "hostname", "levels", "lowest",
        "past_child", "paths", "sizes",
    )  # fmt: skip

    def __init__(self, levels: Sequence[str], paths: list[Path]) -> None:
        """``paths``: of the leaves, sorted and distinct."""
        self.levels = tuple(levels)
        self.lowest = len(self.levels) - 1
        self.hostname = self.levels[-1] == HOSTNAME_LABEL
        self.paths = paths
        # Leaves are named by slots that stay, and slots point to places that move.
        self._slots: dict[str, int] = {self.leaf_id(path): i for i, path in enumerate(paths)}
        self._place: Ints = np.arange(len(paths))
        self._leaf_start = [self._starts(level) for level in range(len(self.levels))]
        self._link()

    def _link(self) -> None:
        self._asked: Sequence[str] | None = None
        self._found: tuple[Any, Ints] = ([], np.empty(0, dtype=np.int64))
        self.sizes = [len(starts) for starts in self._leaf_start]
        self.first_child: list[Ints] = []
        self.past_child: list[Ints] = []
        for level in range(self.lowest):
            first = np.searchsorted(self._leaf_start[level + 1], self._leaf_start[level])
            self.first_child.append(first)
            self.past_child.append(np.append(first[1:], self.sizes[level + 1]))

    def _starts(self, level: int) -> Ints:
        if level == self.lowest:
            return np.arange(len(self.paths))
        starts, before = [], None
        for i, path in enumerate(self.paths):
            domain = path[: level + 1]
            if domain != before:
                starts.append(i)
                before = domain
        return np.array(starts, dtype=np.int64)

    def insert(self, path: Path) -> int:
        """Add a leaf that is not there; returns its place. All behind it move up by one."""
        leaf = bisect_left(self.paths, path)
        for level, starts in enumerate(self._leaf_start):
            with_next = leaf < len(self.paths) and self.paths[leaf][: level + 1] == path[: level + 1]
            with_last = leaf > 0 and self.paths[leaf - 1][: level + 1] == path[: level + 1]
            domain = int(np.searchsorted(starts, leaf, "right" if with_next and not with_last else "left"))
            moved = np.concatenate((starts[:domain], starts[domain:] + 1))
            self._leaf_start[level] = moved if with_next or with_last else np.insert(moved, domain, leaf)
        self.paths.insert(leaf, path)
        self._place[self._place >= leaf] += 1
        self._slots[self.leaf_id(path)] = len(self._place)
        self._place = np.append(self._place, leaf)
        self._link()
        return leaf

    def remove(self, leaf: int) -> None:
        """Take a leaf out, and the domains that it leaves empty."""
        path = self.paths.pop(leaf)
        for level, starts in enumerate(self._leaf_start):
            domain = int(np.searchsorted(starts, leaf, "right")) - 1
            past = int(starts[domain + 1]) if domain + 1 < len(starts) else len(self.paths) + 1
            kept = domain if past - int(starts[domain]) == 1 else domain + 1
            self._leaf_start[level] = np.concatenate((starts[:kept], starts[domain + 1 :] - 1))
        del self._slots[self.leaf_id(path)]
        self._place[self._place > leaf] -= 1
        self._link()

    def leaf_id(self, path: Path) -> str:
        """What an assignment's values are looked up by: the host, or all values."""
        return path[-1] if self.hostname else ",".join(path)

    def path(self, level: int, index: int) -> Path:
        return self.paths[int(self._leaf_start[level][index])][: level + 1]

    def domain_id(self, level: int, index: int) -> str:
        path = self.path(level, index)
        return self.leaf_id(path) if level == self.lowest else ",".join(path)

    def children(self, level: int, domains: Sequence[int] | Ints) -> Ints:
        """The domains one level below these, in order."""
        if len(domains) == 1:
            return np.arange(self.first_child[level][domains[0]], self.past_child[level][domains[0]])
        if not len(domains):
            return np.empty(0, dtype=np.int64)
        parents = np.sort(domains)
        first, past = self.first_child[level][parents], self.past_child[level][parents]
        if parents[-1] - parents[0] == len(parents) - 1:
            return np.arange(first[0], past[-1])
        sizes = past - first
        # Each range begins where the one before it ended, moved to its own first child.
        moved = np.repeat(first - (sizes.cumsum() - sizes), sizes)
        return moved + np.arange(len(moved))

    def leaves_below(self, level: int, index: int) -> tuple[int, int]:
        """The range of leaves of a domain."""
        starts = self._leaf_start[level]
        end = int(starts[index + 1]) if index + 1 < len(starts) else len(self.paths)
        return int(starts[index]), end

    def domains_of_leaves(self, level: int, start: int, end: int) -> tuple[int, int]:
        """The range of domains of a level over a range of leaves."""
        starts = self._leaf_start[level]
        return int(np.searchsorted(starts, start)), int(np.searchsorted(starts, end))

    def level_of(self, label: str) -> int | None:
        return self.levels.index(label) if label in self.levels else None

    def assigned_levels(self) -> tuple[str, ...]:
        """The levels that an assignment names: the host alone where there are hosts."""
        return (HOSTNAME_LABEL,) if self.hostname else self.levels

    def names_of(self, leaves: Sequence[int]) -> tuple[str, ...]:
        """What ``leaf_id`` says of each."""
        paths = self.paths
        if self.hostname:
            return tuple([paths[leaf][-1] for leaf in leaves])
        return tuple([",".join(paths[leaf]) for leaf in leaves])

    def paths_of(self, leaves: Sequence[int]) -> list[Path]:
        paths = self.paths
        return [paths[leaf] for leaf in leaves]

    def leaf_of(self, values: Path) -> int | None:
        """The leaf with these assigned values, if there is one."""
        return self.leaf_named(values[-1] if self.hostname else ",".join(values))

    def leaf_named(self, leaf_id: str) -> int | None:
        slot = self._slots.get(leaf_id)
        return None if slot is None else int(self._place[slot])

    def remember(self, ids: Sequence[str], leaves: Ints) -> None:
        """``leaves`` are called ``ids``: somebody is about to ask for them."""
        self._asked, self._found = ids, (range(len(ids)), leaves)

    def leaves_of(self, ids: Sequence[str]) -> tuple[Any, Ints]:
        """(positions among ``ids``, leaves) of those that exist."""
        if ids is self._asked:
            return self._found
        slots = self._slots
        found = [(i, slots[leaf]) for i, leaf in enumerate(ids) if leaf in slots]
        leaves: Ints = self._place[np.array([slot for _, slot in found], dtype=np.int64)]
        # One place is asked for several times in a row: does it fit, take it, take it for good.
        self._asked, self._found = ids, ([i for i, _ in found], leaves)
        return self._found
