"""A watch: a selection and a position in a collection's log. It reads frames when asked; nothing is pushed to it."""

from collections.abc import Callable
from datetime import datetime

from hub.local.apiserver import conversion, event_versions, failure, request_path, selection
from hub.local.apiserver.answer import Answer, partial
from hub.local.apiserver.call import Call, Steps, bytes_of, document_of
from hub.local.apiserver.failure import Failure
from hub.local.apiserver.list_options import check_watch
from hub.local.apiserver.reading import table_of
from hub.local.apiserver.selection import Selection
from hub.local.apiserver.store import Event, Stored, encode
from worker_agent.api.document import Document

_INITIAL_END = "k8s.io/initial-events-end"


class Watch:
    """Frames are whole lines of JSON. ``read`` never waits; after it returned a refusal, ``ended`` is true.

    ``timeout`` is in seconds, None when the client named none.
    """

    def __init__(self, call: Call, chosen: Selection) -> None:
        self._call = call
        self._chosen = chosen
        self._collection = call.state.collection(call.resource.store)
        self._position = 0
        self._told = call.state.version
        """The revision up to which everything has been read."""
        self._first: list[bytes] = []
        self.shows_state = False
        """Whether it begins with the objects in memory, as a list does."""
        self._headed = False
        self._converted = 0
        resource = call.resource
        self._shape = (resource.version, resource.group)
        self.store = resource.store
        self.bookmarks = request_path.flag(call.query, "allowWatchBookmarks") or False
        self.timeout = request_path.number(call.query, "timeoutSeconds") or None
        self.ended = False
        self._start()

    @property
    def converts(self) -> bool:
        """Whether ``unconverted`` is to be carried out before each ``read``."""
        return self._call.resource.translated

    def _start(self) -> None:
        call, collection = self._call, self._collection
        wanted = request_path.revision(call.query, watch=True)
        initial = request_path.flag(call.query, "sendInitialEvents")
        if wanted is not None and initial and wanted > call.state.version:
            raise failure.too_large(wanted, call.state.version)
        if initial or (not wanted and initial is None):
            now = collection.dropped + len(collection.log)
            chosen = [found for found in collection.in_namespace(self._chosen.namespace) if self._chosen.matches(found)]
            self._first = self._added(chosen)
            self.shows_state = True
            self._position = now
            if initial and self.bookmarks:
                self._first.append(self.bookmark(initial_end=True))
            return
        if not wanted:
            self._position = collection.dropped + len(collection.log)
        elif wanted < collection.oldest:
            self._refuse(failure.too_old(wanted, collection.oldest))
        else:
            self._position = collection.position_after(wanted)

    def _added(self, chosen: list[Stored]) -> list[bytes]:
        """ADDED frames of what is there; where nothing has to be converted, one join for all of them."""
        resource = self._call.resource
        if not chosen:
            return []
        if self._call.form.kind != "object" or event_versions.differs(resource):
            return [self._frame("ADDED", found, found.version) for found in chosen]
        opening = b'{"type":"ADDED","object":' + resource.head
        bodies = [found.seen(resource.version) for found in chosen]
        return [opening + (b"}\n" + opening).join(bodies) + b"}\n"]

    def unconverted(self) -> Steps:
        """Ask for what the events to come need to be shown in this version; ``read`` goes no further than this."""
        collection = self._collection
        self._converted = collection.dropped + len(collection.log)
        start = max(self._position - collection.dropped, 0)
        events = collection.log[start:]
        shown = [stored for event in events for stored in (event.old, event.new) if stored is not None]
        try:
            yield from conversion.ready(self._call, shown)
        except Failure as refusal:
            self._refuse(refusal)
            self._position = self._converted
        return Answer(200)

    def read(self, clock: Callable[[], datetime], until: int | None = None) -> list[bytes]:
        """What happened since the last call, in order; nothing later than the revision ``until``. ``clock`` is asked
        where ages are shown."""
        frames, self._first = self._first, []
        resource = self._call.resource
        if self._call.state.resources.find(resource.group, resource.version, resource.plural) is None:
            self.ended = True  # its CRD is gone
        collection = self._collection
        end = collection.dropped + len(collection.log) if until is None else collection.position_after(until)
        if self.converts:
            end = min(end, self._converted)
        self._told = self._version_before(end)
        if self._position >= end or (self.ended and frames):
            return frames
        if self._position < collection.dropped:
            self._refuse(failure.too_old(collection.oldest - 1, collection.oldest))
            return frames + self._first
        if self._call.form.kind == "table":
            self._call.now = clock()
        start = self._position - collection.dropped
        self._position = end
        for event in collection.log[start : end - collection.dropped]:
            frame = self._event_frame(event)
            if frame is not None:
                frames.append(frame)
        return frames

    def _version_before(self, position: int) -> int:
        """The newest revision at which nothing later than ``position`` has happened yet."""
        log, index = self._collection.log, position - self._collection.dropped
        return log[index].version - 1 if 0 <= index < len(log) else self._call.state.version

    def bookmark(self, *, initial_end: bool = False) -> bytes:
        """A frame that says how far this watch has come: what is held back, as it is not yet safe on disk or not yet
        converted, comes later, and who reads a bookmark takes all up to it for old news."""
        resource = self._call.resource
        metadata: dict[str, object] = {"resourceVersion": str(self._told)}
        if initial_end:
            metadata["annotations"] = {_INITIAL_END: "true"}
        document: Document = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if self._call.form.kind == "partial":
            document = partial(document)
        elif self._call.form.kind == "table":
            document = self._table(document, metadata["resourceVersion"])
        return encode({"type": "BOOKMARK", "object": document}) + b"\n"

    def _event_frame(self, event: Event) -> bytes | None:
        old, new, chosen = event.old, event.new, self._chosen
        was = old is not None and chosen.matches(old)
        stays = new is not None and chosen.matches(new)
        if not was and not stays:
            return None
        if stays:
            kind, shown = "MODIFIED" if was else "ADDED", new
        else:
            kind, shown = "DELETED", old
        assert shown is not None
        if self._call.form.kind != "object":
            return self._frame(kind, shown, event.version)
        cached = event.frames.get((kind, self._shape))
        if cached is None:
            cached = event.frames[kind, self._shape] = self._frame(kind, shown, event.version)
        return cached

    def _frame(self, kind: str, stored: Stored, version: int) -> bytes:
        call = self._call
        resource = call.resource
        if call.form.kind == "object" and not event_versions.differs(resource):
            same = version == stored.version
            body = stored.seen(resource.version) if same else stored.seen_at(resource.version, version)
            return b'{"type":"%s","object":%s%s}\n' % (kind.encode(), resource.head, body)
        if call.form.kind == "object" and version == stored.version:
            return b'{"type":"%s","object":%s}\n' % (kind.encode(), bytes_of(resource, stored))
        document = document_of(resource, stored)
        document["metadata"]["resourceVersion"] = str(version)
        if call.form.kind == "partial":
            document = partial(document)
        elif call.form.kind == "table":
            document = self._table(document, str(version))
        return encode({"type": kind, "object": document}) + b"\n"

    def _table(self, document: Document, version: object) -> Document:
        """A Table of one row, a bookmark's too; only the first names the columns."""
        table = table_of(self._call, [document])
        table["metadata"] = {"resourceVersion": version}
        if self._headed:
            table["columnDefinitions"] = None
        self._headed = True
        return table

    def _refuse(self, refusal: Failure) -> None:
        self._first = [encode({"type": "ERROR", "object": refusal.document()}) + b"\n"]
        self.ended = True


def watch(call: Call) -> Steps:
    """Open a watch on a collection, or on one object by its name in the path."""
    check_watch(call)
    chosen = selection.select(call.resource, call.target.namespace, call.target.name, call.query)
    if call.resource.translated:
        how, collection = call.state.conversions[call.resource.store], call.state.collection(call.resource.store)
        version = call.resource.version
        # While a webhook is asked, others write: again until nothing is left to ask for.
        while lacking := [found for found in collection.in_namespace(chosen.namespace) if how.lacks(found, version)]:
            yield from conversion.ready(call, lacking)
    return Answer(200, watch=Watch(call, chosen))
