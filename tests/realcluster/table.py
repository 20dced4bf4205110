"""The table that ``scripts/test realcluster`` ends with: a row per suite, a column per sort of cluster."""

from tests.cluster_choice import SORTS

_cells: dict[tuple[str, str], str] = {}


def put(suite: str, sort: str, told: str) -> None:
    """``told`` is what the cell says: ``12 passed``, ``1 failed, 11 passed``."""
    _cells[suite, sort] = told


def lines() -> list[str]:
    """The table as text; nothing when no suite ran."""
    if not _cells:
        return []
    suites = list(dict.fromkeys(suite for suite, _ in _cells))
    rows = [["suite", *SORTS], *([suite, *(_cells.get((suite, sort), "-") for sort in SORTS)] for suite in suites)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "",
        *("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows),
    ]
