"""What an area module is given and what it may answer."""

from collections.abc import Callable, Sequence
from typing import Any

Document = dict[str, Any]
Runner = Callable[[Document], Sequence[str]]
"""Runs one case; returns a line per difference, none when it passed. Raises Skip when it cannot be judged."""


class Skip(Exception):
    """The case is not judged; the message is the reason, the same words for all cases of one kind."""
