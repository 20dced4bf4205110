"""Sets of completion indexes in the form of Job status: ``0-2,5,7-8``.

Two neighbours are written ``7,8`` as the real controller does. Source: pkg/controller/job/indexed_job_utils.go.
"""

from collections.abc import Iterable


def parse(text: str, completions: int) -> set[int]:
    """The indexes below ``completions``; parts that are not numbers are ignored, as the real controller does."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return found


def text(indexes: Iterable[int]) -> str:
    """The shortest form, ascending."""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
