"""The table that ``scripts/test realcluster`` ends with: a row per suite, a column per sort of cluster.

Below it stand the tests that failed and passed when they were repeated, once.
"""

from tests import repetition
from tests.cluster_choice import SORTS
from tests.realcluster.suite_runs import FLAKY, Outcome

EMBEDDED_ALONE = "Tests that no real cluster can serve (on virtual time, say) are run by: scripts/test integration"

_cells: dict[tuple[str, str], str] = {}
_flaky: list[tuple[str, str]] = []
_output: list[str] = []
_spent: dict[str, float] = {}


def put(suite: str, sort: str, told: str) -> None:
    """``told`` is what the cell says: ``12 passed``, ``1 failed, 11 passed``."""
    _cells[suite, sort] = told


def judge(suite: str, sort: str, outcome: Outcome) -> None:
    """Puts the outcome into its cell; AssertionError with what pytest printed where it is not well."""
    put(suite, sort, outcome.cell())
    for name in outcome.having(FLAKY):
        flaky(sort, name, outcome.output)
    assert outcome.ok, outcome.output


def spent(sort: str, cpu_seconds: float) -> None:
    """What all suites took on that sort, with the clusters that they started."""
    _spent[sort] = cpu_seconds


def flaky(sort: str, test: str, output: str = "") -> None:
    """A test that failed at first; ``output`` is what was printed then, told once where tests share it."""
    _flaky.append((sort, test))
    if output and output not in _output:
        _output.append(output)


def lines() -> list[str]:
    """The table as text; nothing when no suite ran."""
    if not _cells:
        return []
    suites = list(dict.fromkeys(suite for suite, _ in _cells))
    rows = [["suite", *SORTS], *([suite, *(_cells.get((suite, sort), "-") for sort in SORTS)] for suite in suites)]
    if _spent:
        rows.append(["CPU seconds", *(f"{_spent[sort]:.0f}" if sort in _spent else "-" for sort in SORTS)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    told = repetition.flaky_lines(_output, [f"{sort}: {test}" for sort, test in _flaky])
    return [*told, "", *shown, "", EMBEDDED_ALONE]
