"""Server-side apply and the ownership that plain writes leave behind.

``apply`` merges what a manager applies into the live object: fields it no longer applies and no one else owns go
away; fields others own are conflicts unless forced. ``track_update`` finds out what a create, update or patch changed
and gives these fields to its manager. Both follow structured-merge-diff's updater and apimachinery's managedfields.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from hub.local.apiserver.schema import field_set, managed_fields, typed_check, typed_comparison, typed_values
from hub.local.apiserver.schema.field_errors import go_json
from hub.local.apiserver.schema.field_set import FieldSet
from hub.local.apiserver.schema.managed_fields import APPLY, UPDATE, ManagerKey, Managers, Owned
from hub.local.apiserver.schema.node import Node
from hub.local.apiserver.schema.typed_comparison import Comparison
from worker_agent.api.document import Document

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
SELF: Final = ManagerKey("current-operation", UPDATE, "", "")
Conflicts = dict[ManagerKey, FieldSet]


class ApplyConflict(Exception):
    """Others own fields with other values. ``causes`` are those of the Status, which has code 409, reason Conflict."""

    def __init__(self, conflicts: Conflicts) -> None:
        self.conflicts = conflicts
        self.causes: list[dict[str, str]] = []
        lines: dict[ManagerKey, list[str]] = {}
        for key in sorted(conflicts):
            for path in field_set.paths(conflicts[key]):
                text = field_set.text(path)
                lines.setdefault(key, []).append(text)
                reason = "FieldManagerConflict"
                self.causes.append({"reason": reason, "message": f"conflict with {key.text()}", "field": text})
        super().__init__(self._message(lines))

    def _message(self, lines: Mapping[ManagerKey, list[str]]) -> str:
        count = len(self.causes)
        if count == 1:
            return f"Apply failed with 1 conflict: {self.causes[0]['message']}: {self.causes[0]['field']}"
        parts = []
        for key, paths in lines.items():
            parts.append(f"conflicts with {key.text()}:")
            parts += [f"- {path}" for path in paths]
        return f"Apply failed with {count} conflicts: " + "\n".join(parts)


class ApplyError(Exception):
    """An apply that cannot be tried: ``status`` 400 for a malformed request, 500 for a value its schema forbids."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class MissingVersion(Exception):
    """A version that is not served any more: what its managers owned is forgotten."""


@dataclass(frozen=True, slots=True)
class Typing:
    """How one request sees its kind: the version and its node, fields its subresource resets, other versions."""

    api_version: str
    kind: str
    node: Node
    ignored: FieldSet
    empty: Document
    """The object before anything is set: what a creation is compared with."""
    node_of: Callable[[str], Node]
    """The node of another apiVersion of the kind. Raises MissingVersion."""

    @property
    def gvk_text(self) -> str:
        group, _, version = self.api_version.rpartition("/")
        return f"{group}/{version}, Kind={self.kind}"


def apply(
    live: Document, applied: Document, typing: Typing, manager: tuple[str, str], force: bool, now: datetime
) -> Document:
    """``live`` with ``applied`` merged in and managedFields brought up to date; ``manager`` is (name, subresource).

    ``live`` is empty but for its identity when the object is being created. Raises ApplyConflict and ApplyError.
    """
    if "managedFields" in (applied.get("metadata") or {}):
        raise ApplyError(400, "metadata.managedFields must be nil")
    name, subresource = manager
    key = ManagerKey.of(name, APPLY, typing.api_version, subresource)
    entries = (live.get("metadata") or {}).get("managedFields")
    try:
        managers = managed_fields.decode(entries, ordered=True)
    except managed_fields.BadManagedFields as problem:
        raise ApplyError(500, f"failed to decode managed fields: {problem}") from problem
    bare = without_managed_fields(live)
    _check_applied(applied, typing)
    if not managers:
        managers = _before_first_apply(bare, typing, now)
    try:
        merged, managers = _apply(bare, applied, typing, managers, key, force)
    except ApplyConflict as conflict:
        if name != "kubectl":
            raise
        _raise_unless_last_applied(conflict, bare, typing)
        merged, managers = _apply(bare, applied, typing, managers, key, True)
    changed = merged != bare
    managed_fields.strip(managers, key)
    if changed and key in managers:
        owned = managers[key]
        managers[key] = Owned(owned.fields, owned.api_version, owned.applied, managed_fields.stamp(now))
    if name == "kubectl":
        merged = _with_last_applied(merged, applied)
    return with_managed_fields(merged, managed_fields.encode(managers), entries if not changed else None)


def _check_applied(applied: Document, typing: Typing) -> None:
    try:
        typed_check.check(applied, typing.node)
    except typed_values.TypeMismatch as problem:
        metadata = applied.get("metadata") or {}
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        words = f"failed to create typed patch object ({place}; {typing.gvk_text}): {problem}"
        raise ApplyError(500, words) from problem


def _before_first_apply(live: Document, typing: Typing, now: datetime) -> Managers:
    """What an object without managers has is owned by ``before-first-apply``."""
    return _update(typing.empty, live, typing, {}, (managed_fields.BEFORE_FIRST_APPLY, ""), now)


def _apply(
    live: Document, applied: Document, typing: Typing, managers: Managers, key: ManagerKey, force: bool
) -> tuple[Document, Managers]:
    merged: Document = typed_values.merge(live, applied, typing.node)
    fields = field_set.without(typed_values.fields_of(applied, typing.node), typing.ignored)
    last = managers.get(key)
    managers = {**managers, key: Owned(fields, typing.api_version, True, last.time if last else None)}
    if last is not None and field_set.difference(last.fields, fields):
        merged = _pruned(merged, last, managers, typing)
    managers = _settle(live, merged, typing, managers, key, force)
    return merged, managers


def _pruned(merged: Document, last: Owned, managers: Managers, typing: Typing) -> Document:
    """``merged`` without what its manager applied last time, does not apply now and no one else owns."""
    try:
        node = _node(typing, last.api_version)
    except MissingVersion:
        return merged
    named = typed_values.with_named_fields
    before = named(last.fields, node)
    pruned = typed_values.remove(merged, before, node) or {}
    everything = named(typed_values.fields_of(merged, node), node)
    for version in dict.fromkeys([last.api_version, *(owned.api_version for owned in managers.values())]):
        owned_now: FieldSet = {}
        for owned in managers.values():
            if owned.api_version == version:
                owned_now = field_set.union(owned_now, owned.fields)
        left = field_set.union(named(typed_values.fields_of(pruned, node), node), named(owned_now, node))
        pruned = typed_values.remove(merged, field_set.difference(everything, left), node) or {}
    left = named(typed_values.fields_of(pruned, node), node)
    gone = field_set.intersection(field_set.difference(everything, left), before)
    kept: Document = typed_values.remove(merged, gone, node) or {}
    return kept


def _node(typing: Typing, api_version: str) -> Node:
    return typing.node if api_version == typing.api_version else typing.node_of(api_version)


def _settle(old: Document, new: Document, typing: Typing, managers: Managers, key: ManagerKey, force: bool) -> Managers:
    """Take changed and removed fields from all other managers, or raise ApplyConflict where that is not forced."""
    comparisons: dict[str, Comparison] = {typing.api_version: compared(old, new, typing)}
    return _settle_compared(old, new, typing, managers, key, (comparisons, force))


def compared(old: Document, new: Document, typing: Typing) -> Comparison:
    return typed_comparison.compare(old, new, typing.node).without(typing.ignored)


def _settle_compared(
    old: Document,
    new: Document,
    typing: Typing,
    managers: Managers,
    key: ManagerKey,
    rest: tuple[dict[str, Comparison], bool],
) -> Managers:
    comparisons, force = rest
    result: Managers = {}
    conflicts: Conflicts = {}
    for other, owned in managers.items():
        if other == key:
            result[other] = owned
            continue
        comparison = comparisons.get(owned.api_version)
        if comparison is None:
            try:
                node = typing.node_of(owned.api_version)
            except MissingVersion:
                continue
            comparison = comparisons[owned.api_version] = typed_comparison.compare(old, new, node)
        touched = field_set.union(comparison.modified, comparison.added)
        contested = field_set.intersection(owned.fields, touched) if touched else {}
        if contested:
            conflicts[other] = contested
        fields = field_set.difference(owned.fields, contested)
        if comparison.removed:
            fields = field_set.difference(fields, comparison.removed)
        if fields:
            result[other] = owned.keeping(fields)
    if conflicts and not force:
        raise ApplyConflict(conflicts)
    return result


def _raise_unless_last_applied(conflict: ApplyConflict, live: Document, typing: Typing) -> None:
    """kubectl may take what its client-side apply wrote; conflicts beyond that stand."""
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    text = annotations.get(LAST_APPLIED, "")
    try:
        document = msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        document = None
    if not isinstance(document, dict) or document.get("apiVersion") != typing.api_version:
        raise conflict
    allowed = typed_values.fields_of(document, typing.node)
    allowed = _same_valued(allowed, document, live, typing)
    rest = {key: field_set.difference(fields, allowed) for key, fields in conflict.conflicts.items()}
    rest = {key: fields for key, fields in rest.items() if fields}
    if rest:
        raise ApplyConflict(rest)


def _same_valued(fields: FieldSet, document: Document, live: Document, typing: Typing) -> FieldSet:
    """The fields of the last applied document that still have its values in the live object."""
    merged = typed_values.merge(live, document, typing.node)
    comparison = typed_comparison.compare(live, merged, typing.node)
    return field_set.difference(fields, field_set.union(comparison.modified, comparison.added))


def _with_last_applied(merged: Document, applied: Document) -> Document:
    metadata = merged.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return merged
    source = applied
    own = applied.get("metadata") or {}
    if own.get("annotations") is not None:
        cleaned = {key: value for key, value in own["annotations"].items() if key != LAST_APPLIED}
        source = {**applied, "metadata": {**own, "annotations": cleaned}}
    text = go_json(source) + "\n"
    return {**merged, "metadata": {**metadata, "annotations": {**annotations, LAST_APPLIED: text}}}


def track_update(
    old: Document | None, new: Document, typing: Typing, manager: tuple[str, str], now: datetime
) -> list[Document]:
    """The managedFields of ``new`` after a create (``old`` is None), update or patch by ``manager``.

    ``new`` may bring managedFields of its own: they replace those of ``old`` when readable, and an emptied list
    forgets all managers. An object without managers stays without until something is applied to it.
    """
    entries = ((old or {}).get("metadata") or {}).get("managedFields")
    given = (new.get("metadata") or {}).get("managedFields")
    if manager[1] or (entries and given == entries):
        managers = managed_fields.decode_or_empty(entries, ordered=True)
    elif is_reset_request(new):
        managers = {}
    else:
        managers = managed_fields.decode_or_empty(given) or managed_fields.decode_or_empty(entries, ordered=True)
    if not managers and old is not None:
        return []
    live = without_managed_fields(old) if old else typing.empty
    bare = without_managed_fields(new)
    try:
        managers = _update(live, bare, typing, managers, manager, now)
    except typed_values.TypeMismatch:  # validation will complain about the object; ownership cannot be told
        return []
    result = managed_fields.encode(managers)
    if entries and managed_fields.equal_but_for_times(result, entries) and bare == live:
        return list(entries)
    return result


def is_reset_request(new: Document) -> bool:
    return managed_fields.is_reset((new.get("metadata") or {}).get("managedFields"))


def _update(
    old: Document, new: Document, typing: Typing, managers: Managers, manager: tuple[str, str], now: datetime
) -> Managers:
    comparison = compared(old, new, typing)
    changes = field_set.union(comparison.modified, comparison.added)
    rest = ({typing.api_version: comparison}, True)
    result = _settle_compared(old, new, typing, managers, SELF, rest) if _differs(comparison) else dict(managers)
    mine = field_set.difference(changes, managed_fields.NEVER_OWNED)
    if mine:
        key = ManagerKey.of(manager[0], UPDATE, typing.api_version, manager[1])
        previous = result.get(key)
        fields = field_set.union(mine, previous.fields) if previous is not None else mine
        result[key] = Owned(fields, typing.api_version, False, managed_fields.stamp(now))
    managed_fields.cap_updaters(result)
    return result


def _differs(comparison: Comparison) -> bool:
    return bool(comparison.added or comparison.modified or comparison.removed)


def without_managed_fields(document: Document) -> Document:
    metadata = document.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return document
    return {**document, "metadata": {key: item for key, item in metadata.items() if key != "managedFields"}}


def with_old_times(new: Document, live: Document) -> Document:
    """``live`` itself where ``new`` differs from it only in the times of its managedFields."""
    entries, before = ((document.get("metadata") or {}).get("managedFields") or () for document in (new, live))
    if managed_fields.equal_but_for_times(entries, before) and without_managed_fields(new) == without_managed_fields(
        live
    ):
        return live
    return new


def with_managed_fields(document: Document, entries: list[Document], kept: Any = None) -> Document:
    """The document with these entries, or with ``kept`` when they differ from it only in times."""
    metadata = document.get("metadata") or {}
    chosen = kept if kept and managed_fields.equal_but_for_times(entries, kept) else entries
    if not chosen:
        return document
    return {**document, "metadata": {**metadata, "managedFields": chosen}}
