"""Undo journal: every search changes the live state and leaves it as it found it.

``with journal.trial(): ...`` rolls back on leaving, by return or by exception, in microseconds where a copy of the tree
takes milliseconds. Trials nest. Outside of a trial nothing is recorded and changes are final.
"""

from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

_ABSENT: Final = object()


class Table(Protocol):
    """What a journal can undo: a dict, or something that behaves like one."""

    def __contains__(self, key: Any, /) -> bool: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __delitem__(self, key: Any, /) -> None: ...
    def get(self, key: Any, default: Any = None, /) -> Any: ...


class Journal:
    """The inverse of each change, newest last. One per ClusterState; all mutable dicts of a search go through it."""

    __slots__ = ("_depth", "_entries", "changes", "version")

    def __init__(self) -> None:
        self._entries: list[tuple[Table, Any, Any]] = []
        self._depth = 0
        self.changes = 0
        """How often anything was changed since the beginning, undone or not: work, counted."""
        self.version = 0
        """Equal versions mean equal contents of all tables: a roll-back brings the old one back."""

    @property
    def active(self) -> bool:
        return self._depth > 0

    def put(self, table: Table, key: Any, value: Any) -> None:
        if self._depth:
            self._entries.append((table, key, table.get(key, _ABSENT)))
        self.changes += 1
        self.version = self.changes
        table[key] = value

    def drop(self, table: Table, key: Any) -> None:
        """Take a key out; one that is not there is fine."""
        if key in table:
            if self._depth:
                self._entries.append((table, key, table[key]))
            self.changes += 1
            self.version = self.changes
            del table[key]

    def trial(self) -> "Trial":
        return Trial(self)

    def begin(self) -> tuple[int, int]:
        """For ``Trial``: what ``end`` needs."""
        self._depth += 1
        return len(self._entries), self.version

    def end(self, mark: int, version: int) -> None:
        self._depth -= 1
        self._roll_back(mark)
        self.version = version

    def _roll_back(self, mark: int) -> None:
        entries = self._entries
        while len(entries) > mark:
            table, key, old = entries.pop()
            if old is _ABSENT:
                del table[key]
            else:
                table[key] = old


class Trial(AbstractContextManager[None]):
    """One ``with`` block. A class of its own: a generator costs three times as much, thousands of times a cycle."""

    __slots__ = ("_journal", "_since")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._since = (0, 0)

    def __enter__(self) -> None:
        self._since = self._journal.begin()

    def __exit__(self, *error: object) -> None:
        self._journal.end(*self._since)
