"""List-then-watch as a state machine without a socket: what to do next, given what came.

The list is the beginning of a watch where the server can do that (``initial_events``), else a request of its own. The
shell (``reflector``) asks ``step``, does it, and reports back with ``listed``, ``opened``, ``received`` and ``ended``.
The promise: whatever happens to lists and streams (cuts, duplicates, compaction, silence, error events), the events
handed out since the last list, on top of that list, never show an object older than it was shown before.
"""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from worker_agent.kube import errors

FIRST_DELAY = 0.2
LONGEST_DELAY = 30.0
LONGEST_UNREACHABLE = 3.0
"""Where nothing answers at all an attempt costs nobody anything, and a server that is started again is soon back."""

SHORT_STREAM_SECONDS = 1.0
"""A stream that ends sooner and brought nothing is a failure: reopening it at once would spin."""

FAILURES_UNTIL_RELIST = 4
"""Streams in a row that brought nothing before the resumption point itself is given up."""


class Change(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Head(msgspec.Struct):
    """Identity and version of an object; the rest of its bytes is skipped, not decoded."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)


class Line(msgspec.Struct):
    """One event of a watch; the object is not decoded."""

    type: str
    object: msgspec.Raw


class WatchEvent(msgspec.Struct, frozen=True):
    """A change of one object; ``raw`` is the object's JSON (the last state for DELETED)."""

    change: Change
    head: Head
    raw: bytes


@dataclass(frozen=True, slots=True)
class StreamAll:
    """Wait ``delay`` seconds (times a jitter of the shell), then open a watch that begins with everything."""

    delay: float


@dataclass(frozen=True, slots=True)
class ListAll:
    """Wait likewise, then list everything."""

    delay: float


@dataclass(frozen=True, slots=True)
class OpenWatch:
    """Wait ``delay`` seconds, then watch from ``resource_version``."""

    resource_version: str
    delay: float


_line_decoder = msgspec.json.Decoder(Line)
_head_decoder = msgspec.json.Decoder(Head)
_CHANGES = {change.value: change for change in Change}


def read_line(text: bytes) -> Line:
    """An event. Raises MalformedAnswer where it is none, and the ApiError that an ERROR event tells of."""
    try:
        line = _line_decoder.decode(text)
    except msgspec.DecodeError as error:
        raise errors.MalformedAnswer(f"watch: not a watch event: {error}") from error
    if line.type == "ERROR":
        raise errors.from_body(0, bytes(line.object))
    return line


def head_of(line: Line) -> Head:
    """Of an event's object. Raises MalformedAnswer."""
    try:
        return _head_decoder.decode(line.object)
    except msgspec.DecodeError as error:
        raise errors.MalformedAnswer(f"watch: not a watch event: {error}") from error


def read_head(raw: bytes) -> Head:
    """Identity of an object's bytes; raises MalformedAnswer if it has none."""
    try:
        head = _head_decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise errors.MalformedAnswer(f"watch: not an object: {error}") from error
    if not head.metadata.name:
        raise errors.MalformedAnswer("watch: an object without metadata.name")
    return head


def is_newer(version: str, than: str) -> bool:
    """Whether one resourceVersion follows another; where one is not a number nobody knows, and it is taken as newer."""
    return not (version.isdecimal() and than.isdecimal()) or int(version) > int(than)


class ListWatch:
    """The machine. ``resource_version`` is where a watch would resume; empty before the first list.

    Failed lists and failed streams are counted apart: a server whose lists work and whose watches do not must not be
    listed in a tight loop, so only a stream that lived forgives streams.
    """

    def __init__(self) -> None:
        self.resource_version = ""
        self.last_error: BaseException | None = None
        self._must_list = True
        self._streams = True
        self._list_next = False
        self._list_failures = 0
        self._stream_failures = 0
        self._opened_at = 0.0
        self._progress = False

    @property
    def step(self) -> StreamAll | ListAll | OpenWatch:
        if self._must_list:
            delay = _delay(max(self._list_failures, self._stream_failures), self.last_error)
            return StreamAll(delay) if self._streams and not self._list_next else ListAll(delay)
        return OpenWatch(self.resource_version, _delay(self._stream_failures, self.last_error))

    @property
    def is_current(self) -> bool:
        """Whether a watch can go on from what is known; else everything is to be listed."""
        return not self._must_list

    def not_streamed(self, *, for_good: bool = True) -> None:
        """No watch begins with everything there: it is listed, now and, ``for_good``, from now on."""
        self._list_next = True
        self._streams = self._streams and not for_good

    def listed(self, resource_version: str) -> None:
        """A whole list came, in whichever way; nothing that happened before it matters any more."""
        self.resource_version = resource_version
        self.last_error = None
        self._must_list = False
        self._list_next = False
        self._list_failures = 0

    def list_failed(self, error: BaseException) -> None:
        self.last_error = error
        self._list_next = False
        self._list_failures += 1

    def opened(self, now: float) -> None:
        """A stream is open since ``now`` (monotonic seconds)."""
        self._opened_at = now
        self._progress = False

    def open_failed(self, error: BaseException) -> None:
        """No stream could be opened."""
        self.last_error = error
        self._stream_failed(error)

    def received(self, line: bytes) -> WatchEvent | None:
        """The change in one line; None for bookmarks and for what is old news.

        Raises what ends the stream: an ApiError for an ERROR event, MalformedAnswer for something unreadable.
        """
        decoded = read_line(line)
        head = head_of(decoded)
        if decoded.type == "BOOKMARK":
            self._advance(head.metadata.resource_version)
            return None
        return self._changed(decoded, head)

    def ended(self, error: BaseException | None, now: float) -> None:
        """The stream ended: cleanly (None) or with ``error``. It is resumed where it was, if that is possible."""
        self.last_error = error
        lived = self._progress or (error is None and now - self._opened_at >= SHORT_STREAM_SECONDS)
        if lived:
            self._stream_failures = 0
            self._must_list = isinstance(error, errors.Gone)
        else:
            self._stream_failed(error)

    def _changed(self, line: Line, head: Head) -> WatchEvent | None:
        change = _CHANGES.get(line.type)
        if change is None or not head.metadata.name:
            raise errors.MalformedAnswer(f"watch: event of type {line.type!r} without a name or of an unknown type")
        version = head.metadata.resource_version
        # A repeated line about an object that is gone by now would bring it back. Deletions pass: some servers send
        # them with the object's last version, and the store knows by itself which of two is the newer one.
        if change is not Change.DELETED and not is_newer(version, self.resource_version):
            return None
        self._advance(version)
        return WatchEvent(change, head, bytes(line.object))

    def _stream_failed(self, error: BaseException | None) -> None:
        self._stream_failures += 1
        if isinstance(error, errors.Gone) or self._stream_failures % FAILURES_UNTIL_RELIST == 0:
            self._must_list = True

    def _advance(self, resource_version: str) -> None:
        self._progress = True
        self._stream_failures = 0
        self.last_error = None
        if resource_version and is_newer(resource_version, self.resource_version):
            self.resource_version = resource_version


def _delay(failures: int, error: BaseException | None) -> float:
    if failures == 0:
        return 0.0
    longest = LONGEST_UNREACHABLE if errors.is_unreachable(error) else LONGEST_DELAY
    delay: float = min(FIRST_DELAY * 2 ** min(failures - 1, 20), longest)
    return delay
