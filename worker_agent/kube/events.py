"""events.k8s.io/v1 Events for people: fire and forget, repeats gathered in a series.

Recording never waits and never fails the caller. Events say what happened; nothing in the program reads them back.
"""

import asyncio
import logging
import socket
from collections import OrderedDict, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from worker_agent.api import document as documents
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.resource_type import EVENTS
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, NotFound

log = logging.getLogger(__name__)

LONGEST_NOTE = 1024
"""Bytes the API allows in an Event's note."""

QUEUE_LIMIT = 2000
"""Events waiting to be written; beyond it the oldest are dropped, work is more important."""

SERIES_MEMORY_SECONDS = 360.0
SERIES_INTERVAL_SECONDS = 60.0
"""A series ends after six quiet minutes; while it lasts its count is written at most once a minute."""


HELD_SECONDS = 30.0
"""How long a step is kept back that the next one makes superfluous."""

NEEDS = (need.of(EVENTS, "create", "patch"),)


class ObjectReference(NamedTuple):
    """What an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    @classmethod
    def of(cls, document: Document) -> "ObjectReference":
        text = documents.get
        return cls(
            text(document, "apiVersion", ""),
            text(document, "kind", ""),
            text(document, "metadata.namespace", ""),
            text(document, "metadata.name", ""),
            text(document, "metadata.uid", ""),
        )

    def document(self) -> Document:
        pairs = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }
        return {name: value for name, value in pairs.items() if value}


class _What(NamedTuple):
    """Two events with equal ones are repeats of each other."""

    regarding: ObjectReference
    type: str
    reason: str
    note: str
    action: str


@dataclass(slots=True)
class _Series:
    """``count`` includes the first; ``written`` is the count the server knows (0 = event not created yet)."""

    name: str
    first: datetime
    last: datetime
    last_seen: float
    count: int = 1
    written: int = 0
    written_at: float = 0.0
    queued: bool = True


class EventRecorder:
    """``run`` writes what ``record`` takes in; ``dropped`` counts losses to a full queue or a refusing server.

    ``supersedes``: by the reason of a step, that of an earlier one about the same object which it makes superfluous.
    The earlier one is kept back for a while, and for good when the step comes by then.
    """

    def __init__(
        self,
        client: Client,
        reporting_controller: str,
        clock: Clock,
        *,
        instance: str = "",
        supersedes: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._controller = reporting_controller
        self._instance = (instance or f"{reporting_controller}-{socket.gethostname()}")[:128]
        self._clock = clock
        self._series: OrderedDict[_What, _Series] = OrderedDict()
        self._queue: deque[_What] = deque()
        self._late: dict[_What, float] = {}
        self._supersedes = dict(supersedes or {})
        self._held: dict[tuple[ObjectReference, str], _What] = {}
        self._filled = asyncio.Event()
        self.dropped = 0

    def record(self, regarding: ObjectReference, type: str, reason: str, message: str, action: str = "") -> None:
        """Takes in one event; ``type`` is Normal or Warning, ``action`` what was done (default: the reason)."""
        what = _What(regarding, type, reason, shortened(message), action or reason)
        now = self._clock.monotonic()
        self._drop_held(regarding, self._supersedes.get(reason, ""))
        series = self._series.get(what)
        if series is not None and now - series.last_seen < SERIES_MEMORY_SECONDS:
            series.count += 1
            series.last = self._clock.now()
            series.last_seen = now
            self._series.move_to_end(what)
            if series.queued:
                return
            if series.written > 1 and now - series.written_at < SERIES_INTERVAL_SECONDS:
                if what not in self._late:
                    self._late[what] = series.written_at + SERIES_INTERVAL_SECONDS
                    self._filled.set()  # ``run`` must learn when to wake up
                return
            series.queued = True
        else:
            at = self._clock.now()
            self._series[what] = _Series(self._name(regarding), at, at, now)
            self._series.move_to_end(what)
            if reason in self._supersedes.values() and self._hold(what, now):
                return
        self._enqueue(what)
        self._forget_old(now)

    def _hold(self, what: _What, now: float) -> bool:
        """Keep a step back; False where too many are, or another of its kind is about the same object."""
        place = (what.regarding, what.reason)
        if place in self._held or len(self._held) >= QUEUE_LIMIT:
            return False
        self._held[place] = what
        self._late[what] = now + HELD_SECONDS
        self._filled.set()  # ``run`` must learn when to wake up
        return True

    def _drop_held(self, regarding: ObjectReference, reason: str) -> None:
        what = self._held.pop((regarding, reason), None)
        if what is not None:
            self._late.pop(what, None)
            self._series.pop(what, None)

    async def run(self) -> None:
        """Writes events until cancelled."""
        while True:
            await self._wait()
            self._filled.clear()
            self._enqueue_late()
            await self.flush()

    async def _wait(self) -> None:
        """Until there is something to write, or a series whose count is due."""
        if not self._late:
            await self._filled.wait()
            return
        pause = max(0.0, min(self._late.values()) - self._clock.monotonic())
        with suppress(TimeoutError):
            async with asyncio.timeout(pause + 0.001):
                await self._filled.wait()

    def _enqueue_late(self) -> None:
        now = self._clock.monotonic()
        for what, due in list(self._late.items()):
            if due <= now:
                self._release(what)

    def _release(self, what: _What) -> None:
        del self._late[what]
        self._held.pop((what.regarding, what.reason), None)
        self._queue.append(what)

    async def flush(self) -> None:
        """Writes what is waiting; beside ``run`` only when that has ended."""
        while self._queue:
            what = self._queue.popleft()
            series = self._series.get(what)
            if series is not None:
                await self._write(what, series)

    async def finish(self) -> None:
        """Writes everything, what is kept back too: nobody will come back to it. After ``run`` has ended."""
        for what in list(self._held.values()):
            self._release(what)
        await self.flush()

    async def _write(self, what: _What, series: _Series) -> None:
        series.queued = False
        count = series.count
        namespace = what.regarding.namespace or "default"
        try:
            if series.written == 0:
                await self._client.create(
                    EVENTS, self._document(what, series), namespace, field_manager="fedhub-events"
                )
            elif count > series.written:
                body = {"series": {"count": count, "lastObservedTime": micro_time(series.last)}}
                await self._client.patch(EVENTS, series.name, namespace, body, patch_type=PatchType.MERGE)
        except NotFound:
            self._series.pop(what, None)  # the event expired, or its namespace did: the next one starts anew
            return
        except (ApiError, ConnectionError) as error:
            self.dropped += 1
            log.debug("event %s of %s/%s not written: %s", what.reason, namespace, what.regarding.name, error)
            return
        series.written = count
        series.written_at = self._clock.monotonic()

    def _document(self, what: _What, series: _Series) -> Document:
        event: Document = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": series.name, "namespace": what.regarding.namespace or "default"},
            "eventTime": micro_time(series.first),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": what.action[:128],
            "reason": what.reason[:128],
            "regarding": what.regarding.document(),
            "note": what.note,
            "type": what.type,
        }
        if series.count > 1:
            event["series"] = {"count": series.count, "lastObservedTime": micro_time(series.last)}
        return event

    def _enqueue(self, what: _What) -> None:
        if len(self._queue) >= QUEUE_LIMIT:
            self.dropped += 1
            self._series.pop(self._queue.popleft(), None)
        self._queue.append(what)
        self._filled.set()

    def _forget_old(self, now: float) -> None:
        while self._series:
            what, series = next(iter(self._series.items()))
            if series.queued or now - series.last_seen < SERIES_MEMORY_SECONDS:
                return
            del self._series[what]

    def _name(self, regarding: ObjectReference) -> str:
        suffix = f"{int(self._clock.random() * 16**12):012x}"
        return f"{regarding.name[:236].rstrip('-.')}.{suffix}"


def shortened(note: str) -> str:
    """The note within the API's limit of bytes, cut between characters and marked so."""
    encoded = note.encode()
    if len(encoded) <= LONGEST_NOTE:
        return note
    return encoded[: LONGEST_NOTE - 3].decode("utf-8", "ignore") + "..."


def micro_time(at: datetime) -> str:
    """metav1.MicroTime."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
