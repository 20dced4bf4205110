"""Kueue's incremental dispatcher: nominate a few clusters at a time (spec section 9)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

ROUND_TIMEOUT: Final = timedelta(minutes=5)
STEP_SIZE: Final = 3


class NoMoreWorkers(Exception):
    """Every configured cluster has been nominated; the text is what Kueue reports."""


def next_round(
    configured: Sequence[str], nominated: Sequence[str], *, step_size: int = STEP_SIZE, keep_order: bool = True
) -> list[str]:
    """The names already nominated, followed by the next ``step_size`` of the configured ones.

    ``keep_order`` follows the configuration, else the remaining names are taken alphabetically.
    """
    remaining = [name for name in configured if name not in nominated]
    if not keep_order:
        remaining.sort()
    if not remaining:
        raise NoMoreWorkers("no more workers to nominate")
    return [*nominated, *remaining[:step_size]]
