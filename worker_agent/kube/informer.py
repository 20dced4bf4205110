"""A store of one kind of objects that follows the API server, with handlers and indexes."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Final, Generic, TypeVar

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.reflector import Reflector, Source
from worker_agent.kube.watch import Change, Head, WatchEvent, is_newer, read_head

log = logging.getLogger(__name__)

T = TypeVar("T")

REPLACE_CHUNK = 500
"""Objects of a list decoded between two turns of the event loop."""

DOCUMENTS_REMEMBERED: Final = 512
"""Documents decoded last: an object is read many times while it is on its way, and seldom afterwards."""


class EventType(StrEnum):
    ADDED = "Added"
    MODIFIED = "Modified"
    DELETED = "Deleted"


class Keep(Enum):
    """What the store holds of each object: memory against time. With RAW, ``get`` decodes anew at every call."""

    BOTH = "both"
    DECODED = "decoded"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """One change: ``old`` is what handlers saw last (None for Added), ``new`` what is there now (None for Deleted)."""

    type: EventType
    key: Key
    old: T | None
    new: T | None


class _Entry(Generic[T]):
    __slots__ = ("decoded", "raw", "uid", "version")

    def __init__(self, head: Head, raw: bytes | None, decoded: T | None) -> None:
        self.version = head.metadata.resource_version
        self.uid = head.metadata.uid
        self.raw = raw
        self.decoded = decoded


_document_decoder = msgspec.json.Decoder(Document)


@lru_cache(DOCUMENTS_REMEMBERED)
def document(raw: bytes) -> Document:
    """Decodes an object as a document, without ``metadata.managedFields``: large, and nothing here reads them.

    Equal bytes may give the very same document: treat it as frozen.
    """
    decoded: Document = _document_decoder.decode(raw)
    decoded.get("metadata", {}).pop("managedFields", None)
    return decoded


class Informer(Generic[T]):
    """Follows one collection; objects come as ``decode`` makes them and are shared: treat them as frozen.

    Handlers run in the informer's task, must not block, and see every object once as Added when they join late.
    An object made anew under the same name is told as Deleted, then Added. ``synced`` is set after the first list.
    """

    def __init__(  # noqa: PLR0913 - each names one property of the collection
        self,
        client: Client,
        resource: ResourceType,
        decode: Callable[[bytes], T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        keep: Keep = Keep.BOTH,
        silence: float = 120.0,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.last_error: BaseException | None = None
        self.undecodable = 0
        self._decode = decode
        self._keep = keep
        self._store: dict[Key, _Entry[T]] = {}
        self._handlers: list[Callable[[Event[T]], None]] = []
        self._health_handlers: list[Callable[[BaseException | None], None]] = []
        self._index_keys: dict[str, Callable[[T], Iterable[str]]] = {}
        self._indexes: dict[str, dict[str, dict[Key, None]]] = {}
        source = Source(resource, namespace, label_selector, field_selector, silence)
        self._reflector = Reflector(client, source, self, self._health)

    def add_handler(self, handler: Callable[[Event[T]], None]) -> None:
        self._handlers.append(handler)
        for key in list(self._store):
            self._call(handler, Event(EventType.ADDED, key, None, self.get(key)))

    def add_health_handler(self, handler: Callable[[BaseException | None], None]) -> None:
        """``handler(error)`` when contact is lost, ``handler(None)`` when it is there again."""
        self._health_handlers.append(handler)

    def add_index(self, name: str, values: Callable[[T], Iterable[str]]) -> None:
        """Keeps objects findable by the values that ``values(object)`` yields."""
        self._index_keys[name] = values
        self._indexes[name] = {}
        for key in self._store:
            self._index(key, self.get(key), name)

    async def run(self) -> None:
        """Follows the server until cancelled."""
        await self._reflector.run()

    def get(self, key: Key) -> T | None:
        entry = self._store.get(key)
        return None if entry is None else self._decoded(entry)

    def version(self, key: Key) -> str:
        """The object's resourceVersion; empty where it is not there. Nothing is decoded for it."""
        entry = self._store.get(key)
        return "" if entry is None else entry.version

    @property
    def keeps_raw(self) -> bool:
        return self._keep is not Keep.DECODED

    def raw(self, key: Key) -> bytes:
        """The object's JSON as the server sent it; KeyError if it is not there."""
        raw = self._store[key].raw
        if raw is None:
            raise ValueError(f"informer of {self.resource.plural} keeps decoded objects only (keep=Keep.DECODED)")
        return raw

    def values(self) -> Iterator[T]:
        return (self._decoded(entry) for entry in list(self._store.values()))

    def keys(self) -> list[Key]:
        return list(self._store)

    def __len__(self) -> int:
        return len(self._store)

    def __contains__(self, key: object) -> bool:
        return key in self._store

    def by_index(self, name: str, value: str) -> list[T]:
        """Objects whose index ``name`` has ``value``, in order of arrival."""
        return [self._decoded(self._store[key]) for key in self._indexes[name].get(value, ())]

    def index_values(self, name: str) -> list[str]:
        """The values of index ``name`` that some object has."""
        return list(self._indexes[name])

    async def replace(self, items: list[bytes]) -> None:
        """Makes the store equal to a whole list (called by the reflector)."""
        present = set()
        for position, raw in enumerate(items):
            if position % REPLACE_CHUNK == REPLACE_CHUNK - 1:
                await asyncio.sleep(0)
            head = read_head(raw)
            key = Key(head.metadata.namespace, head.metadata.name)
            present.add(key)
            self._put(key, head, raw, even_older=True)
        for key in [key for key in self._store if key not in present]:
            self._remove(key)
        self.synced.set()

    def apply(self, event: WatchEvent) -> None:
        """Applies one change (called by the reflector)."""
        meta = event.head.metadata
        key = Key(meta.namespace, meta.name)
        if event.change is not Change.DELETED:
            self._put(key, event.head, event.raw, even_older=False)
            return
        entry = self._store.get(key)
        # A late repeat of a deletion must not take the object that was made since under the same name.
        if entry is not None and (entry.uid == meta.uid or is_newer(meta.resource_version, entry.version)):
            self._remove(key)

    def _put(self, key: Key, head: Head, raw: bytes, *, even_older: bool) -> None:
        entry = self._store.get(key)
        meta = head.metadata
        if entry is not None:
            if entry.version == meta.resource_version and entry.uid == meta.uid:
                return
            # After a list even an older object is the truth: the server may have been restored from a backup.
            if not even_older and not is_newer(meta.resource_version, entry.version):
                return
        try:
            new = self._decode(raw)
        except (msgspec.DecodeError, ValueError, TypeError, KeyError) as error:
            self.undecodable += 1
            log.error("%s %s: cannot be read and is left as it was known: %s", self.resource.kind, key, error)
            return
        if entry is not None and entry.uid != meta.uid:
            self._remove(key)
            entry = None
        self._store_new(key, entry, _Entry(head, raw if self._keep is not Keep.DECODED else None, new))

    def _store_new(self, key: Key, before: _Entry[T] | None, entry: _Entry[T]) -> None:
        new = entry.decoded
        if self._keep is Keep.RAW:
            entry.decoded = None
        old = None if before is None else self._decoded(before)
        for name in self._indexes:
            self._unindex(key, old, name)
            self._index(key, new, name)
        self._store[key] = entry
        self._tell(Event(EventType.ADDED if before is None else EventType.MODIFIED, key, old, new))

    def _remove(self, key: Key) -> None:
        old = self._decoded(self._store.pop(key))
        for name in self._indexes:
            self._unindex(key, old, name)
        self._tell(Event(EventType.DELETED, key, old, None))

    def _decoded(self, entry: _Entry[T]) -> T:
        if entry.decoded is not None:
            return entry.decoded
        assert entry.raw is not None
        return self._decode(entry.raw)

    def _index(self, key: Key, item: T | None, name: str) -> None:
        if item is not None:
            for value in self._index_keys[name](item):
                self._indexes[name].setdefault(value, {})[key] = None

    def _unindex(self, key: Key, item: T | None, name: str) -> None:
        if item is None:
            return
        index = self._indexes[name]
        for value in self._index_keys[name](item):
            keys = index.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del index[value]

    def _tell(self, event: Event[T]) -> None:
        for handler in self._handlers:
            self._call(handler, event)

    def _call(self, handler: Callable[[Event[T]], None], event: Event[T]) -> None:
        try:
            handler(event)
        except Exception:
            # One handler's mistake must not stop the store, on which everybody else depends.
            log.exception("%s %s %s: a handler failed", self.resource.kind, event.key, event.type)

    def _health(self, error: BaseException | None) -> None:
        self.last_error = error
        for handler in self._health_handlers:
            handler(error)
