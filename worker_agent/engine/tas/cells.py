"""Cells: what is left on each leaf, as a table that the journal can undo and that remembers what changed."""

from typing import Final, NamedTuple

import numpy as np

from worker_agent.engine.tas.tree import Ints

LONGEST_LOG: Final = 4096
"""Writes remembered; whoever lags further behind counts anew."""


class Block(NamedTuple):
    """Rows and columns crossed: ``cells`` are positions in the matrix row by row."""

    cells: Ints
    columns: Ints


class Cells:
    """A key is a ``Block`` of cells of ``matrix``, its value what they hold, row by row."""

    __slots__ = ("_first", "_flat", "_log", "matrix")

    def __init__(self, matrix: Ints) -> None:
        self.matrix: Ints = np.ascontiguousarray(matrix)
        self._flat: Ints = self.matrix.reshape(-1)
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

    def block(self, rows: Ints, columns: Ints) -> Block:
        """The cells of these rows and columns."""
        return Block((rows[:, None] * self.matrix.shape[1] + columns).reshape(-1), columns)

    def __contains__(self, block: object) -> bool:
        return True

    def get(self, block: Block, default: object = None) -> Ints:
        found: Ints = self._flat[block.cells]
        return found

    def __getitem__(self, block: Block) -> Ints:
        return self.get(block)

    def __delitem__(self, block: Block) -> None:
        """A cell always holds something."""

    def __setitem__(self, block: Block, value: Ints) -> None:
        self._flat[block.cells] = value
        if len(self._log) >= LONGEST_LOG:
            self._first += len(self._log)
            self._log.clear()
        self._log.append(block.columns)
