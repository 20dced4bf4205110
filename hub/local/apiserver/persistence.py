"""Objects on disk: SQLite, one writer thread, commits in groups; what was acknowledged survives a kill at any moment.

A group is whatever was committed while the one before it was being written: under load one fsync serves many writes.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hub.local.apiserver.store import Event

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
  store TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, form TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (store, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
"""
_GAP = 10_000
"""Revisions skipped at a restart: a client may have read one that never became durable; it must not come again."""
_COUNT = "INSERT OR REPLACE INTO counter VALUES (1, ?)"


class Row(NamedTuple):
    store: str
    version: int
    body: bytes
    form: str = ""


class _Batch(NamedTuple):
    events: Sequence[Event]
    done: "asyncio.Future[None]"


class SqliteLog:
    """The durable log of one server. ``load`` first, then ``append``; ``append`` raises what SQLite raised."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="sqlite-writer", daemon=True)
        self._closed = False
        with self._connected() as connection:
            connection.executescript(_SCHEMA)
            columns = {row[1] for row in connection.execute("PRAGMA table_info(objects)")}
            if "form" not in columns:  # a file of an earlier version
                connection.execute("ALTER TABLE objects ADD COLUMN form TEXT NOT NULL DEFAULT ''")

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def load(self) -> tuple[int, Iterator[Row]]:
        """The revision to go on from (0 for a new file) and every object. Starts the writer."""
        connection = self._connected()
        found = connection.execute("SELECT version FROM counter").fetchone()
        rows = [Row(*row) for row in connection.execute("SELECT store, version, body, form FROM objects")]
        version = found[0] + _GAP if found else 0
        if found:
            # Before anybody is served: a server killed again before its first write must not start here once more.
            connection.execute(_COUNT, (version,))
        connection.close()
        self._thread.start()
        return version, iter(rows)

    def append(self, events: Sequence[Event]) -> "asyncio.Future[None]":
        """What is done when the events, and all before them, are safe."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put(_Batch(events, done))
        return done

    def _write_all(self) -> None:
        connection = self._connected()
        while (first := self._queue.get()) is not None:
            batches = [first]
            last = False
            while not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    last = True
                    break
                batches.append(following)
            self._write(connection, batches)
            if last:
                break
        connection.close()

    def _write(self, connection: sqlite3.Connection, batches: list[_Batch]) -> None:
        error: Exception | None = None
        events = [event for batch in batches for event in batch.events]
        try:
            connection.execute("BEGIN IMMEDIATE")
            _write_events(connection, events)
            connection.execute(_COUNT, (events[-1].version,))
            connection.execute("COMMIT")
        except sqlite3.Error as problem:
            error = problem
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        loop = batches[0].done.get_loop()
        if not loop.is_closed():
            # One call for the whole group: each wakes the loop through a pipe.
            loop.call_soon_threadsafe(_finish, [batch.done for batch in batches], error)

    async def close(self) -> None:
        """Write what is queued and stop."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)


def _finish(waiting: "list[asyncio.Future[None]]", error: Exception | None) -> None:
    for done in waiting:
        if done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


def _write_events(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """The last word on each object: what was overwritten within the group need not reach the disk."""
    last = {(event.store, (event.new or event.old).key): event for event in events}  # type: ignore[union-attr]
    rows = [
        (store, key, event.version, event.new.body, event.new.form) for (store, key), event in last.items() if event.new
    ]
    gone = [place for place, event in last.items() if event.new is None]
    if rows:
        connection.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", rows)
    if gone:
        connection.executemany("DELETE FROM objects WHERE store = ? AND key = ?", gone)
