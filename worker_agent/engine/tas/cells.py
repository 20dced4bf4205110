"""Cells: what is left on each leaf, as a table that the journal can undo and that remembers what changed."""

from typing import Final

import numpy as np

from worker_agent.engine.tas.tree import Ints

LONGEST_LOG: Final = 4096
"""Writes remembered; whoever lags further behind counts anew."""


class Cells:
    """A key is a block of cells (rows, columns of ``matrix``), its value what they hold."""

    __slots__ = ("_first", "_log", "matrix")

    def __init__(self, matrix: Ints) -> None:
        self.matrix = matrix
        self._log: list[Ints] = []
        self._first = 0
        """Number of the log's first entry."""

    @property
    def written(self) -> int:
        """How many writes there were."""
        return self._first + len(self._log)

    def changed_since(self, written: int) -> Ints | None:
        """Columns that changed since there were so many writes, ascending; None where that is forgotten."""
        if written < self._first:
            return None
        columns = self._log[written - self._first :]
        if len(columns) == 1 and bool((columns[0][1:] > columns[0][:-1]).all()):
            return columns[0]
        return np.unique(np.concatenate(columns)) if columns else np.empty(0, dtype=np.int64)

    def __contains__(self, block: object) -> bool:
        return True

    def get(self, block: tuple[Ints, Ints], default: object = None) -> Ints:
        found: Ints = self.matrix[block]
        return found

    def __getitem__(self, block: tuple[Ints, Ints]) -> Ints:
        return self.get(block)

    def __delitem__(self, block: tuple[Ints, Ints]) -> None:
        """A cell always holds something."""

    def __setitem__(self, block: tuple[Ints, Ints], value: Ints) -> None:
        self.matrix[block] = value
        if len(self._log) >= LONGEST_LOG:
            self._first += len(self._log)
            self._log.clear()
        self._log.append(block[1])
