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
  store TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (store, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
"""
_GAP = 10_000
"""Revisions skipped at a restart: a client may have read one that never became durable; it must not come again."""


class Row(NamedTuple):
    store: str
    version: int
    body: bytes


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

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def load(self) -> tuple[int, Iterator[Row]]:
        """The revision to go on from (0 for a new file) and every object. Starts the writer."""
        connection = self._connected()
        found = connection.execute("SELECT version FROM counter").fetchone()
        rows = [Row(*row) for row in connection.execute("SELECT store, version, body FROM objects")]
        connection.close()
        self._thread.start()
        return (found[0] + _GAP if found else 0), iter(rows)

    async def append(self, events: Sequence[Event]) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._queue.put(_Batch(events, done))
        await done

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
        try:
            connection.execute("BEGIN IMMEDIATE")
            for batch in batches:
                for event in batch.events:
                    _write_event(connection, event)
            version = max(event.version for batch in batches for event in batch.events)
            connection.execute("INSERT OR REPLACE INTO counter VALUES (1, ?)", (version,))
            connection.execute("COMMIT")
        except sqlite3.Error as problem:
            error = problem
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        for batch in batches:
            loop = batch.done.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(_finish, batch.done, error)

    async def close(self) -> None:
        """Write what is queued and stop."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)


def _finish(done: "asyncio.Future[None]", error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def _write_event(connection: sqlite3.Connection, event: Event) -> None:
    if event.new is None:
        assert event.old is not None
        connection.execute("DELETE FROM objects WHERE store = ? AND key = ?", (event.store, event.old.key))
    else:
        row = (event.store, event.new.key, event.version, event.new.body)
        connection.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", row)
