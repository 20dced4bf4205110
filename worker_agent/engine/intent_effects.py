"""What an intent does to a document, purely: the Applier's arithmetic, and the way decisions are run to a fixpoint.

``effect`` gives the object after a write; ``merge_patch`` and ``applied_status`` give the bodies that bring a server
there.
"""

from collections.abc import Iterable, Set
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.engine.intents import (
    ADMISSION_MANAGER,
    ApplyStatus,
    CreateObject,
    DeleteObject,
    PatchObject,
    RemoveFinalizer,
    SetCondition,
    Write,
)

CONDITION_MESSAGE_BYTES: Final = 32 * 1024
EVENT_MESSAGE_BYTES: Final = 1024

_ABSENT: Final = object()

ADMISSION_CONDITIONS: Final = frozenset(
    (
        "QuotaReserved",
        "Admitted",
        "Evicted",
        "Preempted",
        "Requeued",
        "DeactivationTarget",
        "BlockedOnPreemptionGates",
        names.DISPATCHED,
    )
)
ADMISSION_FIELDS: Final = (
    "admission",
    "requeueState",
    "admissionChecks",
    "resourceRequests",
    "accumulatedPastExecutionTimeSeconds",
    "schedulingStats",
    "nominatedClusterNames",
    "clusterName",
    "unhealthyNodes",
    "preemptionGates",
)
"""What ``kueue-admission`` owns of a Workload's status: an apply by it always states the whole of this."""


def truncated(message: str, limit: int) -> str:
    """``message`` cut to ``limit`` bytes of UTF-8, ending in ``...`` when anything was cut."""
    if 4 * len(message) <= limit:
        return message
    encoded = message.encode()
    if len(encoded) <= limit:
        return message
    return encoded[: limit - 3].decode(errors="ignore") + "..."


def find_condition(document: Document, type_: str) -> Document | None:
    """The condition of this type in ``status.conditions``, or None."""
    conditions = (document.get("status") or {}).get("conditions") or ()
    for condition in conditions:
        if condition.get("type") == type_:
            found: Document = condition
            return found
    return None


def effect(write: Write, document: Document | None, now: datetime) -> Document | None:
    """The object after ``write``; None when it is gone. A write that changes nothing returns the same document.

    Removing the last finalizer of an object being deleted makes it go, as the API server does.
    """
    if isinstance(write, CreateObject):
        return document if document is not None else write.document
    if document is None:
        return None
    if isinstance(write, PatchObject):
        return _patched(write, document)
    if isinstance(write, ApplyStatus):
        return status_after(document, write, now)
    if isinstance(write, RemoveFinalizer):
        return _without_finalizer(document, write.finalizer)
    return _deleted(write, document, now)


def status_after(document: Document, change: ApplyStatus, now: datetime) -> Document:
    """``document`` with the status change made; the same object when nothing differs.

    A condition's lastTransitionTime becomes its ``since`` or ``now`` when it is new or its status flips, else it stays.
    """
    old = document.get("status") or {}
    conditions = old.get("conditions") or []
    generation = document.get("metadata", {}).get("generation", 0)
    changed = _conditions_after(conditions, change, generation, now)
    differing: Document = {} if changed is conditions else {"conditions": changed}
    for name, value in change.fields.items():
        if old.get(name, _ABSENT) != (_ABSENT if value is None else value):
            differing[name] = value
    for name, entries in change.entries.items():
        merged = _merged_by_name(differing.get(name, old.get(name)) or [], entries)
        if old.get(name, _ABSENT) != merged:
            differing[name] = merged
    return with_fields(document, differing) if differing else document


def with_fields(document: Document, fields: Document) -> Document:
    """``document`` with these status fields put in place; None removes one."""
    status = {**(document.get("status") or {}), **fields}
    for name, value in fields.items():
        if value is None:
            del status[name]
    return {**document, "status": status}


def with_condition(document: Document, wanted: SetCondition, now: datetime) -> Document:
    """``document`` with one condition set; the same object when it says so already."""
    conditions = (document.get("status") or {}).get("conditions") or []
    generation = document.get("metadata", {}).get("generation", 0)
    after = _with_condition(conditions, wanted, generation, now)
    return document if after is conditions else with_fields(document, {"conditions": after})


def applied_status(document: Document, changes: Iterable[ApplyStatus]) -> Document:
    """The server-side apply body that makes ``document`` (already changed) real; ``changes`` share one field manager.

    For ``kueue-admission`` that is the whole admission status; for any other manager just what the changes name.
    """
    changes = list(changes)
    status = document.get("status") or {}
    if changes[0].field_manager == ADMISSION_MANAGER:
        body = {name: status[name] for name in ADMISSION_FIELDS if status.get(name)}
        conditions: Set[str] = ADMISSION_CONDITIONS
    else:
        body = {}
        conditions = {condition.type for change in changes for condition in change.conditions}
        for change in changes:
            body |= {name: status[name] for name in change.fields if name in status}
            for name, entries in change.entries.items():
                names = {entry["name"] for entry in entries}
                body[name] = [entry for entry in status.get(name) or [] if entry.get("name") in names]
    owned = [condition for condition in status.get("conditions") or [] if condition.get("type") in conditions]
    if owned:
        body["conditions"] = owned
    metadata = document["metadata"]
    identity = {name: metadata[name] for name in ("name", "namespace", "uid") if metadata.get(name)}
    if any(change.strict for change in changes) and metadata.get("resourceVersion"):
        identity["resourceVersion"] = metadata["resourceVersion"]
    resource = changes[0].resource
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": identity, "status": body}


def merge_patch(before: Any, after: Any) -> Any:
    """The JSON merge patch (RFC 7396) that turns ``before`` into ``after``; ``{}`` when two objects are equal."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: Document = {name: None for name in before if name not in after}
    for name, value in after.items():
        if name not in before:
            patch[name] = value
        elif before[name] != value:
            patch[name] = merge_patch(before[name], value)
    return patch


def patch_body(patch: PatchObject) -> Document:
    """The merge patch of a PatchObject, limited to its half of the object; ``{}`` when there is nothing to send."""
    before, after = _halves(patch)
    body: Document = merge_patch(before, after)
    version = patch.before["metadata"].get("resourceVersion")
    if body and patch.strict and version:
        body["metadata"] = {**(body.get("metadata") or {}), "resourceVersion": version}
    return body


def _halves(patch: PatchObject) -> tuple[Document, Document]:
    if patch.subresource:
        return (
            {patch.subresource: patch.before.get(patch.subresource) or {}},
            {patch.subresource: patch.after.get(patch.subresource) or {}},
        )
    return (
        {name: value for name, value in patch.before.items() if name != "status"},
        {name: value for name, value in patch.after.items() if name != "status"},
    )


def _patched(patch: PatchObject, document: Document) -> Document:
    before, after = _halves(patch)
    body = merge_patch(before, after)
    return _merge(document, body) if body else document


def _merge(document: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged


def _conditions_after(
    conditions: list[Document], change: ApplyStatus, generation: int, now: datetime
) -> list[Document]:
    """The same list when nothing differs."""
    kept = conditions
    if change.removed_conditions:
        kept = [condition for condition in conditions if condition.get("type") not in change.removed_conditions]
        if len(kept) == len(conditions):
            kept = conditions
    for wanted in change.conditions:
        kept = _with_condition(kept, wanted, generation, now)
    return kept


def _with_condition(conditions: list[Document], wanted: SetCondition, generation: int, now: datetime) -> list[Document]:
    for index, old in enumerate(conditions):
        if old.get("type") == wanted.type:
            new = _condition(wanted, old, generation, now)
            return conditions if new is old else [*conditions[:index], new, *conditions[index + 1 :]]
    return [*conditions, _condition(wanted, {}, generation, now)]


def _condition(wanted: SetCondition, old: Document, generation: int, now: datetime) -> Document:
    message = truncated(wanted.message, CONDITION_MESSAGE_BYTES)
    stays = old.get("status") == wanted.status
    same = stays and old.get("reason") == wanted.reason and old.get("message", "") == message
    if same and not (wanted.follows and generation > (old.get("observedGeneration") or 0)):
        return old
    moved = old.get("lastTransitionTime") if stays else None
    condition: Document = {
        "type": wanted.type,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": message,
        "lastTransitionTime": moved or _stamp(wanted.since or now),
    }
    if generation:
        condition["observedGeneration"] = generation
    return condition


@lru_cache(maxsize=64)
def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _merged_by_name(current: list[Document], entries: Iterable[Document]) -> list[Document]:
    merged = {entry.get("name"): entry for entry in current}
    for entry in entries:
        merged[entry["name"]] = entry
    return list(merged.values())


def _without_finalizer(document: Document, finalizer: str) -> Document | None:
    metadata = document["metadata"]
    finalizers = metadata.get("finalizers") or []
    if finalizer not in finalizers:
        return document
    kept = [name for name in finalizers if name != finalizer]
    if not kept and metadata.get("deletionTimestamp"):
        return None
    return {**document, "metadata": {**metadata, "finalizers": kept}}


def _deleted(write: DeleteObject, document: Document, now: datetime) -> Document | None:
    metadata = document["metadata"]
    if write.uid and metadata.get("uid") and metadata["uid"] != write.uid:
        return document
    if not metadata.get("finalizers"):
        return None
    if metadata.get("deletionTimestamp"):
        return document
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**document, "metadata": {**metadata, "deletionTimestamp": stamp}}
