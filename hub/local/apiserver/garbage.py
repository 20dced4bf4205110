"""What happens by itself after a write: owners take their dependents along, namespaces and CRDs empty themselves.

Pure: events go in, requests come out, which the shell sends through the core like anybody's. The rules of owners are
those of kubernetes pkg/controller/garbagecollector (attemptToDeleteItem, orphanDependents).
"""

from collections.abc import Iterator
from datetime import datetime

from hub.local.apiserver import namespace_end
from hub.local.apiserver.crds import CLEANUP
from hub.local.apiserver.identity import AUTHENTICATED, Identity
from hub.local.apiserver.metadata import FOREGROUND, ORPHAN
from hub.local.apiserver.resources import CRDS, NAMESPACES, Resource
from hub.local.apiserver.store import Event, State, Stored, encode
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.transport import Request

COLLECTOR = Identity(
    "system:serviceaccount:kube-system:generic-garbage-collector",
    ("system:serviceaccounts", "system:serviceaccounts:kube-system", AUTHENTICATED),
)
_AGENT = "embedded-controllers/v1"
_HEADERS = {"user-agent": _AGENT, "content-type": "application/json", "accept": "application/json"}


class Cleaner:
    """Remembers what may need cleaning; ``requests`` gives what to do now."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], None] = {}
        self._namespaces: dict[str, None] = {}
        self._crds: dict[str, None] = {}

    def note(self, state: State, event: Event) -> None:
        """Look at a commit for work it makes."""
        new, old = event.new, event.old
        if new is None:
            assert old is not None
            self._gone(state, event.store, old)
            return
        if event.store == NAMESPACES and new.deleting:
            self._namespaces[new.name] = None
        elif event.store == CRDS and new.deleting:
            self._crds[new.name] = None
        if (new.deleting and (FOREGROUND in new.finalizers or ORPHAN in new.finalizers)) or (
            new.owners and not new.deleting and (old is None or old.owners != new.owners)
        ):
            self._items[event.store, new.key] = None

    def _gone(self, state: State, store: str, old: Stored) -> None:
        for member in state.dependents.get(old.uid, ()):
            self._items[member] = None
        for uid in old.owners:
            owner = state.owners.get(uid)
            if owner is not None and self._waits(state, owner):
                self._items[owner] = None
        if old.namespace:
            namespace = state.get(NAMESPACES, "", old.namespace)
            if namespace is not None and namespace.deleting:
                self._namespaces[old.namespace] = None
        for resource in state.resources.of_store(store)[:1]:
            name = f"{resource.plural}.{resource.group}"
            definition = state.get(CRDS, "", name) if resource.custom else None
            if definition is not None and definition.deleting:
                self._crds[name] = None

    @staticmethod
    def _waits(state: State, place: tuple[str, str]) -> bool:
        stored: Stored | None = state.collection(place[0]).objects.get(place[1])
        return stored is not None and stored.deleting

    @property
    def idle(self) -> bool:
        return not (self._items or self._namespaces or self._crds)

    def resume(self, state: State) -> None:
        """After a restart: whatever was under way is looked at again."""
        for store, collection in state.collections.items():
            for stored in collection.objects.values():
                if stored.deleting or stored.owners:
                    self.note(state, Event(store, stored.version, None, stored))

    def requests(self, state: State, now: datetime) -> Iterator[Request]:
        """What to do about everything noted so far; carry each out before taking the next."""
        items, self._items = self._items, {}
        for store, key in items:
            yield from _item_requests(state, store, key)
        namespaces, self._namespaces = self._namespaces, {}
        for name in namespaces:
            yield from namespace_end.requests(state, name, now)
        crds, self._crds = self._crds, {}
        for name in crds:
            yield from _crd_requests(state, name)


def _path(resource: Resource, stored: Stored, subresource: str = "") -> str:
    kind = ResourceType(resource.group, resource.version, resource.kind, resource.plural, resource.namespaced)
    return kind.path(stored.namespace, stored.name, subresource)


def _delete(resource: Resource, stored: Stored, propagation: str) -> Request:
    options = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": stored.uid},
        "propagationPolicy": propagation,
    }
    return Request("DELETE", _path(resource, stored), (), _HEADERS, encode(options))


def _merge(resource: Resource, stored: Stored, metadata: Document) -> Request:
    patch = {"metadata": {"uid": stored.uid, **metadata}}
    headers = {**_HEADERS, "content-type": "application/merge-patch+json"}
    return Request("PATCH", _path(resource, stored), (), headers, encode(patch))


def _without_finalizer(resource: Resource, stored: Stored, finalizer: str) -> Request:
    left = [name for name in stored.finalizers if name != finalizer]
    return _merge(resource, stored, {"finalizers": left, "resourceVersion": str(stored.version)})


def _found(state: State, store: str, key: str) -> tuple[Resource, Stored] | None:
    resources = state.resources.of_store(store)
    stored = state.collection(store).objects.get(key)
    return (resources[0], stored) if resources and stored is not None else None


def _item_requests(state: State, store: str, key: str) -> Iterator[Request]:
    found = _found(state, store, key)
    if found is None:
        return
    resource, stored = found
    if stored.deleting:
        if ORPHAN in stored.finalizers:
            yield from _orphan(state, resource, stored)
        elif FOREGROUND in stored.finalizers:
            yield from _foreground(state, resource, stored)
        return
    yield from _dependent(state, resource, stored)


def _members(state: State, owner: Stored) -> list[tuple[Resource, Stored]]:
    places = sorted(state.dependents.get(owner.uid, ()))
    found = (_found(state, *place) for place in places)
    return [pair for pair in found if pair is not None]


def _orphan(state: State, resource: Resource, owner: Stored) -> Iterator[Request]:
    """Dependents forget their owner, then the owner may go."""
    for kind, dependent in _members(state, owner):
        yield _forgetting(kind, dependent, {owner.uid})
    yield _without_finalizer(resource, owner, ORPHAN)


def _forgetting(resource: Resource, dependent: Stored, uids: set[str]) -> Request:
    owners = dependent.frozen()["metadata"].get("ownerReferences") or []
    left = [owner for owner in owners if owner["uid"] not in uids]
    return _merge(resource, dependent, {"ownerReferences": left or None})


def _foreground(state: State, resource: Resource, owner: Stored) -> Iterator[Request]:
    """Dependents go first; the owner follows when none is left that blocks it."""
    for kind, dependent in _members(state, owner):
        if not dependent.deleting:
            yield from _dependent(state, kind, dependent)
    blocking = [dependent for _, dependent in _members(state, owner) if _blocks(dependent, owner.uid)]
    if not blocking:
        current: Stored | None = state.get(resource.store, owner.namespace, owner.name)
        if current is not None and FOREGROUND in current.finalizers:
            yield _without_finalizer(resource, current, FOREGROUND)


def _blocks(dependent: Stored, uid: str) -> bool:
    owners = dependent.frozen()["metadata"].get("ownerReferences") or []
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)


def _dependent(state: State, resource: Resource, stored: Stored) -> Iterator[Request]:
    """One object with owners: kept while one of them stays, else deleted."""
    metadata = stored.frozen()["metadata"]
    gone, waiting, solid = set(), set(), set()
    for reference in metadata.get("ownerReferences") or ():
        if state.resources.of_kind(reference["apiVersion"], reference["kind"]) is None:
            return  # nobody can tell whether an owner of an unknown kind is there
        owner = _owner(state, reference, stored.namespace)
        if owner is None:
            gone.add(reference["uid"])
        elif owner.deleting and FOREGROUND in owner.finalizers:
            waiting.add(reference["uid"])
        else:
            solid.add(reference["uid"])
    if solid:
        if gone or waiting:
            yield _forgetting(resource, stored, gone | waiting)
        return
    if waiting and stored.uid in state.dependents:
        yield _delete(resource, stored, "Foreground")
    elif gone or waiting:
        kept = {FOREGROUND: "Foreground", ORPHAN: "Orphan"}
        policy = next((kept[name] for name in stored.finalizers if name in kept), "Background")
        yield _delete(resource, stored, policy)


def _owner(state: State, reference: Document, namespace: str) -> Stored | None:
    """The object a reference means; a namespaced owner must be in the dependent's namespace."""
    place = state.owners.get(reference["uid"])
    if place is None:
        return None
    owner: Stored | None = state.collection(place[0]).objects.get(place[1])
    if owner is None or (owner.namespace and owner.namespace != namespace):
        return None
    return owner


def _crd_requests(state: State, name: str) -> Iterator[Request]:
    """Delete the objects of a terminating CRD; let it go when none is left."""
    stored = state.get(CRDS, "", name)
    if stored is None or not stored.deleting or CLEANUP not in stored.finalizers:
        return
    (resource,) = state.resources.of_store(CRDS)
    spec = stored.document()["spec"]
    store = f"{spec['group']}/{spec['names']['plural']}"
    collection = state.collection(store)
    for kind in state.resources.of_store(store)[:1]:
        for custom in list(collection.objects.values()):
            if not custom.deleting:
                yield _delete(kind, custom, "Background")
    if not collection.objects:
        yield _without_finalizer(resource, stored, CLEANUP)
