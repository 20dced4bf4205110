"""What the program knows of each object: the informer's copy, or the answer to our own last write where that is newer.

Without the second half every write followed by another would be a conflict until the watch has caught up.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ResourceType
from worker_agent.controllers.write_turns import WriteTurns
from worker_agent.kube import informer
from worker_agent.kube.informer import Event, Informer
from worker_agent.kube.watch import is_newer

LIFETIME_SECONDS = 60.0
"""How long an answer counts that the watch has not confirmed: it may have missed the object's whole life."""


class _Written(NamedTuple):
    document: Document
    until: float


class KnownObjects:
    """Documents by kind and key. They are shared: copy before changing."""

    def __init__(self) -> None:
        self._informers: dict[ResourceType, Informer[Any]] = {}
        self._written: dict[ResourceType, dict[Key, _Written]] = {}
        self.turns = WriteTurns()

    def follow(self, resource: ResourceType, source: Informer[Any]) -> None:
        """Take ``source`` as what the server says about this kind."""
        self._informers[resource] = source
        self._written[resource] = {}
        source.add_handler(self._forgetter(resource))

    def informer(self, resource: ResourceType) -> Informer[Any]:
        return self._informers[resource]

    def follows(self, resource: ResourceType) -> bool:
        return resource in self._informers

    def document(self, resource: ResourceType, key: Key) -> Document | None:
        """The newest version known; None where there is no such object (or the kind is not followed).

        Of kinds that are kept decoded only (nodes, pods) it holds the fields of the typed view: enough for patches.
        """
        # Mostly the watch has caught up, and a hub asks for every Workload on every worker, where it is not.
        written = self.written(resource, key) if self._written.get(resource) else None
        if written is not None:
            return written
        source = self._informers.get(resource)
        item = None if source is None else source.get(key)
        if source is None or item is None:
            return None
        if isinstance(item, dict):
            return item
        return informer.document(source.raw(key)) if source.keeps_raw else _shown(item)

    def written(self, resource: ResourceType, key: Key) -> Document | None:
        """The answer to our own last write where the watch does not show it yet."""
        written = self._written.get(resource, {}).get(key)
        if written is None or asyncio.get_running_loop().time() >= written.until:
            return None
        return written.document

    def documents(self, resource: ResourceType, index: str, value: str) -> Iterator[Document]:
        """Objects that the informer's index finds, each in its newest version, and those we just created."""
        source = self._informers[resource]
        found = dict.fromkeys(_key(item) for item in source.by_index(index, value))
        for key in [*found, *(key for key in self._written[resource] if key not in source)]:
            document = self.document(resource, key)
            if document is not None:
                yield document

    def note(self, resource: ResourceType, raw: bytes) -> Document:
        """Remember the server's answer to a write; returns it as a document."""
        document = informer.document(raw)
        metadata = document.get("metadata") or {}
        key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
        if resource in self._informers and self._ahead(resource, key, str(metadata.get("resourceVersion", ""))):
            until = asyncio.get_running_loop().time() + LIFETIME_SECONDS
            self._written[resource][key] = _Written(document, until)
        return document

    def drop(self, resource: ResourceType, key: Key) -> None:
        """The server says that there is no such object, or that ours is not the newest version."""
        self._written.get(resource, {}).pop(key, None)

    def _ahead(self, resource: ResourceType, key: Key, version: str) -> bool:
        source = self._informers[resource]
        return key not in source or is_newer(version, source.version(key))

    def _forgetter(self, resource: ResourceType) -> Callable[[Event[Any]], None]:
        written = self._written[resource]

        def forget(event: Event[Any]) -> None:
            mine = written.get(event.key)
            if mine is None:
                return
            seen = self._informers[resource].version(event.key)
            if event.new is None or not is_newer(_version(mine.document), seen):
                del written[event.key]

        return forget


def _shown(item: Any) -> Document:
    """The fields of a typed view as a document."""
    shown: Document = msgspec.to_builtins(item)
    return shown


def _version(document: Document) -> str:
    return str((document.get("metadata") or {}).get("resourceVersion", ""))


def _key(item: Any) -> Key:
    if not isinstance(item, dict):
        key: Key = item.metadata.key
        return key
    metadata = item.get("metadata") or {}
    return Key(metadata.get("namespace", ""), metadata.get("name", ""))
