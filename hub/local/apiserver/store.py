"""Objects, the one revision counter and the event log: what etcd is to the real server.

An object is kept as encoded bytes without kind and apiVersion (its ``body``), because these differ between versions and
are left out in lists of built-in kinds; so a read is a splice of bytes and a list one ``join``.
``metadata.resourceVersion`` always stands first in the body, which lets a deletion's event carry its own revision
without decoding the object.
"""

import copy
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from heapq import merge
from typing import Any, Final, NamedTuple

import msgspec
from sortedcontainers import SortedDict

from hub.local.apiserver.resources import ResourceTable
from worker_agent.api.document import Document

_OPENING = b'"metadata":{"resourceVersion":"'
_NOT_IN_BODY = ("kind", "apiVersion")
WINDOW = 10_000
"""Events a collection keeps for watches that come back; older revisions are answered with 410."""

DOCUMENTS_REMEMBERED: Final = 512
"""Objects written or decoded last: one that is written is read again by what follows, and by the next write of it."""

encode = msgspec.json.Encoder().encode
decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


class Stored:
    """One object at one revision; never changed after it was made."""

    __slots__ = (
        "_documents", "body", "deleting", "fields", "finalizers", "form", "key", "labels", "name", "namespace",
        "owners", "uid", "version", "views",
    )  # fmt: skip

    def __init__(self, document: Document, version: int, fields: dict[str, str] | None, form: str = "") -> None:
        metadata = document["metadata"]
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.key = object_key(self.namespace, self.name)
        self.version = version
        self.uid: str = metadata.get("uid", "")
        self.labels: dict[str, str] | None = metadata.get("labels")
        self.owners: tuple[str, ...] = tuple(owner["uid"] for owner in metadata.get("ownerReferences") or ())
        self.deleting = bool(metadata.get("deletionTimestamp"))
        self.finalizers: tuple[str, ...] = tuple(metadata.get("finalizers") or ())
        self.fields = fields
        self.form = form
        """The version of a custom kind that the body is in."""
        self.views: dict[str, bytes] | None = None
        """What versions show that differ from the body, as far as somebody wanted to see them."""
        kept = _kept(document, version)
        self.body = encode(kept)[1:]
        self._documents: dict[bytes, Document] = {}
        """By body: what is remembered of this object as ``frozen`` shows it."""
        self._remember(self.body, kept)

    def seen(self, version: str) -> bytes:
        """The body as a version of the kind shows it."""
        return self.body if self.views is None else self.views.get(version, self.body)

    def show_as(self, version: str, document: Document) -> None:
        self.views = {**(self.views or {}), version: encode(_kept(document, self.version))[1:]}

    def seen_at(self, version: str, revision: int) -> bytes:
        """The same object under another revision: what a watch shows when the object leaves its view."""
        rest = self.seen(version)[len(_OPENING) + len(str(self.version)) :]
        return b"%s%d%s" % (_OPENING, revision, rest)

    def document(self, version: str = "") -> Document:
        """A fresh document without kind and apiVersion; the caller may change it."""
        decoded: Document = decode(b"{" + self.seen(version))
        return decoded

    def frozen(self, version: str = "") -> Document:
        """The same, shared with whoever else reads the object: nobody may change it, or anything in it."""
        body = self.seen(version)
        known = self._documents.get(body)
        if known is None:
            known = decode(b"{" + body)
            self._remember(body, known)
        return known

    def _remember(self, body: bytes, document: Document) -> None:
        """Until DOCUMENTS_REMEMBERED others have been remembered."""
        while len(_remembering) >= DOCUMENTS_REMEMBERED:
            _remembering.popleft()._documents = {}
        self._documents[body] = document
        _remembering.append(self)


_remembering: Final[deque[Stored]] = deque()
"""Whose documents are remembered, the oldest first."""


def _kept(document: Document, version: int) -> Document:
    """What is encoded of a document. Its parts are the document's own, which nobody changes from here on."""
    first: Document = {"resourceVersion": ""}
    first.update(document["metadata"])
    first["resourceVersion"] = str(version)
    ordered: Document = {"metadata": first}
    ordered.update(document)
    ordered["metadata"] = first
    for name in _NOT_IN_BODY:
        ordered.pop(name, None)
    return ordered


def object_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


class Event:
    """One commit: ``old`` is None for a creation, ``new`` for a deletion."""

    __slots__ = ("frames", "new", "old", "store", "version")

    def __init__(self, store: str, version: int, old: Stored | None, new: Stored | None) -> None:
        self.store = store
        self.version = version
        self.old = old
        self.new = new
        self.frames: dict[object, bytes] = {}
        """Encoded watch frames by what shapes them, shared by all watches that want the same."""


class Collection:
    """All objects of one kind in the order of their keys, and the log of what happened to them."""

    def __init__(self, version: int, window: int = WINDOW) -> None:
        self.objects: SortedDict[str, Stored] = SortedDict()
        self.log: list[Event] = []
        self.dropped = 0
        """How many events were dropped from the front of the log: position = dropped + index."""
        self.oldest = version
        """Watches may start at this revision or later."""
        self._window = window

    def twin(self) -> "Collection":
        """One that goes on from here by itself."""
        twin = Collection(self.oldest, self._window)
        twin.objects = self.objects.copy()
        twin.log = list(self.log)
        twin.dropped = self.dropped
        return twin

    def append(self, event: Event) -> None:
        self.log.append(event)
        if len(self.log) > 2 * self._window:
            cut = len(self.log) - self._window
            self.oldest = self.log[cut - 1].version
            del self.log[:cut]
            self.dropped += cut

    def position_after(self, version: int) -> int:
        """Where in the log the events later than ``version`` begin."""
        return self.dropped + bisect_right(self.log, version, key=lambda event: event.version)

    def in_namespace(self, namespace: str) -> Iterator[Stored]:
        """Objects in key order; an empty namespace means all of them."""
        if not namespace:
            return iter(self.objects.values())
        keys = self.objects.irange(f"{namespace}/", f"{namespace}0", inclusive=(True, False))
        return (self.objects[key] for key in keys)

    def between(self, span: "Span") -> Iterator[Stored]:
        """The objects of a span in key order, as they were at its revision: what was written since is undone."""
        keys = self.objects.irange(span.first, span.last, inclusive=(not span.after, False))
        undone = self._undone(span)
        if not undone:
            return (self.objects[key] for key in keys)
        gone = sorted(key for key in undone if key not in self.objects)
        each = ((key, undone[key] if key in undone else self.objects[key]) for key in merge(keys, gone))
        return (stored for _, stored in each if stored is not None)

    def count(self, span: "Span") -> int:
        """How many objects ``between`` gives, without looking at all of them."""
        place = self.objects.bisect_right if span.after else self.objects.bisect_left
        start = 0 if span.first is None else place(span.first)
        end = len(self.objects) if span.last is None else self.objects.bisect_left(span.last)
        changed = sum((old is not None) - (key in self.objects) for key, old in self._undone(span).items())
        return max(0, int(end - start)) + changed

    def _undone(self, span: "Span") -> dict[str, Stored | None]:
        """What was written since, by key, as it was before; None where there was nothing."""
        undone: dict[str, Stored | None] = {}
        if not self.log or self.log[-1].version <= span.version:
            return undone
        for event in reversed(self.log[self.position_after(span.version) - self.dropped :]):
            key = (event.new or event.old).key  # type: ignore[union-attr]  # one of them is there
            if span.holds(key):
                undone[key] = event.old
        return undone


class Span(NamedTuple):
    """Keys from ``first`` (or after it) up to ``last``, which is not among them, at a revision inside the window."""

    version: int
    first: str | None
    last: str | None
    after: bool = False

    def holds(self, key: str) -> bool:
        if self.first is not None and (key < self.first or (self.after and key == self.first)):
            return False
        return self.last is None or key < self.last


class State:
    """The whole server's memory. ``entropy(n)`` returns n random bytes: uids and generated names come from it."""

    def __init__(self, entropy: Callable[[int], bytes], version: int = 1, window: int = WINDOW) -> None:
        self.entropy = entropy
        self.resources = ResourceTable()
        self.version = version
        self.window = window
        self.collections: dict[str, Collection] = {}
        self.owners: dict[str, tuple[str, str]] = {}
        """uid -> (store, key) of every object: where an owner reference points."""
        self.dependents: dict[str, set[tuple[str, str]]] = {}
        """Owner's uid -> (store, key) of the objects that name it."""
        self.conversions: dict[str, Any] = {}
        """Collection -> how its objects are kept (``conversion.Conversion``), for custom kinds."""
        self.aggregation: Any = None
        """The APIs of other servers (``aggregation.Aggregation``), set by ``core.new_state``."""
        self.hooks: Any = None
        """The parsed webhook configurations (``webhook_rules.HookTable``), set by ``core.new_state``."""
        self._unread: list[Event] = []

    def twin(self, entropy: Callable[[int], bytes]) -> "State":
        """Of a server that goes on from here by itself. Objects are shared, since they never change, and definitions
        with what is compiled of them: neither of the two may get another definition."""
        twin = State(entropy, self.version, self.window)
        twin.resources = self.resources
        twin.conversions = dict(self.conversions)
        twin.collections = {store: collection.twin() for store, collection in self.collections.items()}
        twin.owners = dict(self.owners)
        twin.dependents = {uid: set(members) for uid, members in self.dependents.items()}
        twin.aggregation, twin.hooks = copy.deepcopy((self.aggregation, self.hooks))
        twin._unread = list(self._unread)
        return twin

    def collection(self, store: str) -> Collection:
        found = self.collections.get(store)
        if found is None:
            found = self.collections[store] = Collection(self.version, self.window)
        return found

    def get(self, store: str, namespace: str, name: str) -> Stored | None:
        found: Stored | None = self.collection(store).objects.get(object_key(namespace, name))
        return found

    def put(self, store: str, document: Document, fields: dict[str, str] | None, form: str = "") -> Stored:
        """Write an object under the next revision."""
        self.version += 1
        new = Stored(document, self.version, fields, form)
        collection = self.collection(store)
        old = collection.objects.get(new.key)
        collection.objects[new.key] = new
        self._relate(store, old, new)
        self._note(collection, Event(store, self.version, old, new))
        return new

    def remove(self, store: str, key: str) -> Event:
        self.version += 1
        collection = self.collection(store)
        old: Stored = collection.objects.pop(key)
        self._relate(store, old, None)
        event = Event(store, self.version, old, None)
        self._note(collection, event)
        return event

    def restore(self, store: str, stored: Stored) -> None:
        """Put back an object from disk, without an event."""
        self.collection(store).objects[stored.key] = stored
        self._relate(store, None, stored)

    def take_events(self) -> list[Event]:
        """The commits since the last call, in order: the shell persists them and wakes watches."""
        events, self._unread = self._unread, []
        return events

    def _note(self, collection: Collection, event: Event) -> None:
        collection.append(event)
        self._unread.append(event)

    def _relate(self, store: str, old: Stored | None, new: Stored | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self.owners.pop(old.uid, None)
        if new is not None:
            self.owners[new.uid] = (store, new.key)
        before, after = (old.owners if old else ()), (new.owners if new else ())
        if before == after:
            return
        key = (store, (new or old).key)  # type: ignore[union-attr]  # one of them is there
        for uid in before:
            members = self.dependents.get(uid)
            if members is not None:
                members.discard(key)
                if not members:
                    del self.dependents[uid]
        for uid in after:
            self.dependents.setdefault(uid, set()).add(key)
