"""Carries out intents: the one place from which controllers write to the API server.

Several intents on one object fold into one write per field manager, nothing is sent where nothing differs, and events
follow only after the writes they tell of have succeeded.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS, ResourceType
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.write_turns import Ref
from worker_agent.engine import audience, intent_effects
from worker_agent.engine.intents import (
    ApplyStatus,
    CreateObject,
    DeleteObject,
    Intent,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    RequeueAfter,
    RetryWithError,
    Write,
)
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import AlreadyExists, Conflict, Invalid, NotFound, ReconcileError
from worker_agent.kube.events import EventRecorder, ObjectReference

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Batch:
    """One call of ``apply``: each object touched, as the decision saw it and then as our writes left it."""

    documents: dict[Ref, Document | None] = field(default_factory=dict)


class Applier:
    """Writes through ``client`` and remembers the answers in ``known``."""

    def __init__(
        self,
        client: Client,
        known: KnownObjects,
        recorder: EventRecorder,
        clock: Clock,
        is_told: Callable[[Document, RecordEvent], bool] = audience.is_told,
    ) -> None:
        self._client = client
        self._known = known
        self._recorder = recorder
        self._clock = clock
        self._is_told = is_told

    async def apply(self, intents: Sequence[Intent]) -> float | None:
        """Carry out a decision; returns the seconds after which to look again, None for no wish.

        Call it in the same turn of the event loop in which the decision was made: what is known then is what strict
        writes are compared with. Raises ApiError (Conflict: somebody else wrote meanwhile), ConnectionError and
        ReconcileError.
        """
        if not intents:
            return None  # as most looks end
        batch = self._begin(intents)
        writes = _folded(intents)
        if writes:
            # Workloads have several writers among our controllers; of everything else there is one.
            async with self._known.turns.turn(ref for ref in batch.documents if ref[0] == WORKLOADS):
                self._catch_up(batch, intents)
                for write in writes:
                    await self._write(batch, write)
        return self._conclude(batch, intents)

    def versions(self, intents: Iterable[object]) -> Mapping[Ref, str]:
        """The versions that the strict writes among ``intents`` rest on, as known now."""
        return {
            (intent.resource, intent.key): _resource_version(self._known.document(intent.resource, intent.key))
            for intent in intents
            if isinstance(intent, ApplyStatus | PatchObject) and intent.strict
        }

    async def apply_in_turn(self, intents: Sequence[Intent]) -> float | None:
        """As ``apply``, for a caller that holds the turns and decided on what is known now."""
        batch = self._begin(intents)
        for write in _folded(intents):
            await self._write(batch, write)
        return self._conclude(batch, intents)

    def _catch_up(self, batch: _Batch, intents: Sequence[Intent]) -> None:
        """After waiting for a turn: a strict decision on an older version is void, the others go on from the newest."""
        strict = {(i.resource, i.key) for i in intents if isinstance(i, ApplyStatus | PatchObject) and i.strict}
        for ref, document in batch.documents.items():
            newest = self._known.document(*ref)
            if newest is document or newest is None or document is None:
                continue
            if ref in strict and _version_of(newest) != _version_of(document):
                raise Conflict(409, "Conflict", f"{ref[0].kind} {ref[1]} was changed by another part of this program")
            batch.documents[ref] = newest

    def _conclude(self, batch: _Batch, intents: Sequence[Intent]) -> float | None:
        for intent in intents:
            if isinstance(intent, RecordEvent):
                self._record(batch, intent)
        for intent in intents:
            if isinstance(intent, RetryWithError):
                raise ReconcileError(intent.message)
        return min((intent.seconds for intent in intents if isinstance(intent, RequeueAfter)), default=None)

    def _begin(self, intents: Iterable[Intent]) -> _Batch:
        batch = _Batch()
        for intent in intents:
            if isinstance(intent, ApplyStatus | RemoveFinalizer | PatchObject | RecordEvent):
                ref = (intent.resource, intent.key)
                if ref not in batch.documents:
                    batch.documents[ref] = self._known.document(*ref)
        return batch

    async def _write(self, batch: _Batch, write: Write | list[ApplyStatus]) -> None:
        if isinstance(write, list):
            await self._apply_status(batch, write)
        elif isinstance(write, PatchObject):
            await self._patch(batch, write)
        elif isinstance(write, CreateObject):
            await self._create(batch, write)
        elif isinstance(write, RemoveFinalizer):
            await self._remove_finalizer(batch, write)
        elif isinstance(write, DeleteObject):
            await self._delete(write)

    async def _apply_status(self, batch: _Batch, changes: list[ApplyStatus]) -> None:
        first = changes[0]
        ref = (first.resource, first.key)
        before = batch.documents.get(ref)
        if before is None:
            log.debug("%s %s is gone, its status is not written", first.resource.kind, first.key)
            return
        now = self._clock.now()
        after = before
        for change in changes:
            after = intent_effects.status_after(after, change, now)
        if after is before:
            return
        body = intent_effects.applied_status(after, changes)
        if not body["status"]:
            # A server makes null of a status that loses its last field by an apply, and then refuses it.
            await self._remove_leftovers(batch, ref, before, changes)
            return
        try:
            raw = await self._send_status(ref, body, first.field_manager)
        except Invalid:
            left = after.get("status") or {}
            gone = [name for name, value in (before.get("status") or {}).items() if value and not left.get(name)]
            if not gone:
                raise
            # Where somebody else owns a part of what is to go, a server makes null of the rest and then refuses it.
            removal = {"metadata": _version_of(before), "status": dict.fromkeys(gone)}
            await self._merge(batch, ref, removal, first.field_manager, "status")
            if "resourceVersion" in body["metadata"]:
                body["metadata"] |= _version_of(batch.documents[ref] or {})
            raw = await self._send_status(ref, body, first.field_manager)
        written = batch.documents[ref] = self._known.note(first.resource, raw)
        await self._remove_leftovers(batch, ref, written, changes)

    async def _send_status(self, ref: Ref, body: Document, manager: str) -> bytes:
        resource, key = ref
        apply = self._client.apply(resource, key.name, key.namespace, body, field_manager=manager, subresource="status")
        return await self._guarded(ref, apply)

    async def _remove_leftovers(self, batch: _Batch, ref: Ref, written: Document, changes: list[ApplyStatus]) -> None:
        """Fields that another manager owns too stay in spite of our apply; what a decision removed has to go."""
        status: Document = dict(written.get("status") or {})
        set_later = {condition.type for change in changes for condition in change.conditions}
        gone = {type_ for change in changes for type_ in change.removed_conditions} - set_later
        fields: dict[str, Any] = {}
        for change in changes:
            fields |= dict(change.fields)
        patch: Document = {name: None for name, value in fields.items() if value is None and status.get(name)}
        conditions = status.get("conditions") or []
        if any(condition.get("type") in gone for condition in conditions):
            patch["conditions"] = [condition for condition in conditions if condition.get("type") not in gone]
        if patch:
            body = {"metadata": _version_of(written), "status": patch}
            manager = changes[0].field_manager
            await self._merge(batch, ref, body, manager, "status")

    async def _patch(self, batch: _Batch, patch: PatchObject) -> None:
        ref = (patch.resource, patch.key)
        body = intent_effects.patch_body(patch)
        if not body:
            return
        newest = batch.documents.get(ref)
        if patch.strict and newest is not None and body.get("metadata", {}).get("resourceVersion"):
            # An earlier write of this very decision may have moved the version on.
            body = {**body, "metadata": {**body["metadata"], **_version_of(newest)}}
        await self._merge(batch, ref, body, patch.field_manager, patch.subresource)

    async def _merge(self, batch: _Batch, ref: Ref, body: Document, manager: str, subresource: str) -> None:
        resource, key = ref
        raw = await self._guarded(
            ref,
            self._client.patch(
                resource,
                key.name,
                key.namespace,
                body,
                patch_type=PatchType.MERGE,
                subresource=subresource,
                field_manager=manager,
            ),
        )
        batch.documents[ref] = self._known.note(resource, raw)

    async def _create(self, batch: _Batch, create: CreateObject) -> None:
        namespace = (create.document.get("metadata") or {}).get("namespace", "")
        try:
            raw = await self._client.create(
                create.resource, create.document, namespace, field_manager=create.field_manager
            )
        except AlreadyExists:
            if not create.may_exist:
                raise
            return
        batch.documents[create.resource, create.key] = self._known.note(create.resource, raw)
        _log(create.resource, create.key, "created")

    async def _remove_finalizer(self, batch: _Batch, removal: RemoveFinalizer) -> None:
        ref = (removal.resource, removal.key)
        document = batch.documents.get(ref)
        finalizers = ((document or {}).get("metadata") or {}).get("finalizers") or []
        if document is None or removal.finalizer not in finalizers:
            return
        left = [name for name in finalizers if name != removal.finalizer]
        body = {"metadata": {"finalizers": left or None, **_version_of(document)}}
        try:
            await self._merge(batch, ref, body, "kueue", "")
        except NotFound:
            return
        if not left and document["metadata"].get("deletionTimestamp"):
            batch.documents[ref] = None
            self._known.drop(*ref)

    async def _delete(self, delete: DeleteObject) -> None:
        try:
            await self._client.delete(
                delete.resource,
                delete.key.name,
                delete.key.namespace,
                uid=delete.uid,
                propagation=delete.propagation,
                grace_seconds=delete.grace_seconds,
            )
            _log(delete.resource, delete.key, "deleted")
        except NotFound:
            pass
        except Conflict:
            if not delete.uid or await self._uid(delete.resource, delete.key) == delete.uid:
                raise
            log.debug("%s %s was made anew, it is not the one to delete", delete.resource.kind, delete.key)
        self._known.drop(delete.resource, delete.key)

    async def _uid(self, resource: ResourceType, key: Key) -> str:
        """Of the object that is there; empty when none is."""
        try:
            found: Document = msgspec.json.decode(await self._client.get(resource, key.name, key.namespace))
        except NotFound:
            return ""
        return str(found["metadata"].get("uid", ""))

    async def _guarded(self, ref: Ref, call: Any) -> bytes:
        """Await a write; where the server disagrees about the object, our own memory of it goes."""
        try:
            raw: bytes = await call
        except (NotFound, Conflict):
            self._known.drop(*ref)
            raise
        return raw

    def _record(self, batch: _Batch, event: RecordEvent) -> None:
        document = batch.documents.get((event.resource, event.key)) or {}
        _log(event.resource, event.key, f"{event.reason}: {event.message}")
        if not self._is_told(document, event):
            return
        uid = event.uid or (document.get("metadata") or {}).get("uid", "")
        about = ObjectReference(
            event.resource.api_version, event.resource.kind, event.key.namespace, event.key.name, uid
        )
        self._recorder.record(about, event.type, event.reason, event.message, event.action or event.reason)


def _log(resource: ResourceType, key: Key, what: str) -> None:
    if log.isEnabledFor(logging.INFO):
        log.info("%s %s %s", resource.kind, key, what)


def _version_of(document: Document) -> Document:
    version = _resource_version(document)
    return {"resourceVersion": version} if version else {}


def _resource_version(document: Document | None) -> str:
    return str(((document or {}).get("metadata") or {}).get("resourceVersion") or "")


def _folded(intents: Sequence[Intent]) -> list[Write | list[ApplyStatus]]:
    """Writes in order; status changes of one object and manager stand together where the first of them stood."""
    order: list[Write | list[ApplyStatus]] = []
    groups: dict[tuple[ResourceType, Key, str], list[ApplyStatus]] = {}
    for intent in intents:
        if isinstance(intent, ApplyStatus):
            group = (intent.resource, intent.key, intent.field_manager)
            if group not in groups:
                groups[group] = []
                order.append(groups[group])
            groups[group].append(intent)
        elif isinstance(intent, PatchObject | CreateObject | DeleteObject | RemoveFinalizer):
            order.append(intent)
    return order
