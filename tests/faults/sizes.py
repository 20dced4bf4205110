"""How large the histories of a run are: nearly all small, and a written share large."""

from enum import StrEnum
from typing import Final

from tests.faults import script, small
from tests.faults.script import Script

LARGE_EVERY: Final = 100
"""In a mixed run each seed that this divides writes a large history."""


class Size(StrEnum):
    MIXED = "mixed"
    SMALL = "small"
    LARGE = "large"


def is_large(seed: int, size: Size) -> bool:
    return size is Size.LARGE or (size is Size.MIXED and seed % LARGE_EVERY == 0)


def write(seed: int, size: Size) -> Script:
    """The script of ``seed`` in a run of that size."""
    return script.write(seed) if is_large(seed, size) else small.write(seed)


def played_with(seed: int, size: Size) -> list[int]:
    """The seeds whose histories are played one after another on one federation up to ``seed``, itself the last."""
    if is_large(seed, size):
        return [seed]
    return [each for each in small.chain_of(seed) if not is_large(each, size)]
