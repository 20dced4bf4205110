"""``metadata.managedFields``: who owns which fields, read, kept and written as the real server does."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from hub.local.apiserver.schema import field_set
from hub.local.apiserver.schema.field_set import FieldSet
from worker_agent.api import timestamps
from worker_agent.api.document import Document

APPLY: Final = "Apply"
UPDATE: Final = "Update"
ANCIENT: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"
MOST_UPDATERS: Final = 10

NEVER_OWNED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{
            f"f:{name}": {}
            for name in (
                "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
                "managedFields", "resourceVersion",
            )
        },
    },
}  # fmt: skip
"""Fields that no one owns: the object's identity and what the server keeps."""


class ManagerKey(NamedTuple):
    """Who, as one entry stands for it. Appliers have no version: they keep their entry when they change versions."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    def text(self) -> str:
        """As conflict messages name it."""
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text

    @classmethod
    def of(cls, manager: str, operation: str, api_version: str, subresource: str) -> "ManagerKey":
        return cls(manager or "unknown", operation, "" if operation == APPLY else api_version, subresource)


@dataclass(frozen=True, slots=True)
class Owned:
    """What one manager owns, in which version's words, since when (as written).

    ``entry`` is how it is written, where that is known.
    """

    fields: FieldSet
    api_version: str
    applied: bool
    time: str | None = None
    entry: Document | None = None

    def keeping(self, fields: FieldSet) -> "Owned":
        """The same with some fields less."""
        if fields is self.fields:
            return self
        return Owned(fields, self.api_version, self.applied, self.time)


Managers = dict[ManagerKey, Owned]


class BadManagedFields(ValueError):
    """managedFields that cannot be read; the message says which entry and why."""


def decode(entries: Sequence[Document] | None, *, ordered: bool = False) -> Managers:
    """The managers of an object. Raises BadManagedFields. ``ordered``: the entries are as ``encode`` wrote them."""
    managers: Managers = {}
    for index, entry in enumerate(entries or ()):
        operation, api_version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in {APPLY, UPDATE}:
            raise BadManagedFields("operation must be `Apply` or `Update`")
        if not api_version:
            raise BadManagedFields("apiVersion must not be empty")
        kind = entry.get("fieldsType", "")
        if kind != "FieldsV1":
            words = f'invalid fieldsType "{kind}"' if kind else "missing fieldsType"
            raise BadManagedFields(f"{words} in managed fields entry {index}")
        fields = entry.get("fieldsV1") or {}
        if not isinstance(fields, dict):
            raise BadManagedFields(f"error decoding set in managed fields entry {index}")
        applied = operation == APPLY
        key = ManagerKey(
            entry.get("manager", ""), operation, "" if applied else api_version, entry.get("subresource", "")
        )
        managers[key] = Owned(fields, api_version, applied, entry.get("time"), entry if ordered else None)
    return managers


def decode_or_empty(entries: Sequence[Document] | None, *, ordered: bool = False) -> Managers:
    try:
        return decode(entries, ordered=ordered)
    except BadManagedFields:
        return {}


def is_reset(entries: Any) -> bool:
    """Whether a request asks to forget all managers: an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])


def encode(managers: Managers) -> list[Document]:
    """The entries as they are written: by operation, time, manager, version, subresource."""
    entries = sorted(managers.items(), key=_order)
    return [_entry(key, owned) for key, owned in entries]


def _order(item: tuple[ManagerKey, Owned]) -> tuple[str, str, str, str, str]:
    key, owned = item
    return key.operation, owned.time or "", key.manager, owned.api_version, key.subresource


def _entry(key: ManagerKey, owned: Owned) -> Document:
    if owned.entry is not None:
        return owned.entry
    entry: Document = {"manager": key.manager, "operation": APPLY if owned.applied else key.operation}
    entry["apiVersion"] = owned.api_version
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = field_set.in_order(owned.fields)
    if key.subresource:
        entry["subresource"] = key.subresource
    return entry


def stamp(now: datetime) -> str:
    """The time of an entry: whole seconds."""
    return timestamps.rfc3339(now)


def strip(managers: Managers, key: ManagerKey) -> None:
    """Take what no one owns out of one manager's set; an empty manager disappears."""
    owned = managers.get(key)
    if owned is None:
        return
    fields = field_set.difference(owned.fields, NEVER_OWNED)
    if fields:
        managers[key] = owned.keeping(fields)
    else:
        del managers[key]


def cap_updaters(managers: Managers) -> None:
    """Keep at most ten entries of updates: the oldest of one version flow together into ``ancient-changes``."""
    updaters = [key for key, owned in managers.items() if not owned.applied]
    count = len(updaters)
    if count <= MOST_UPDATERS:
        return
    updaters.sort(key=lambda key: (managers[key].time or "", key))
    first_of: dict[str, ManagerKey] = {}
    for key in updaters:
        if count <= MOST_UPDATERS:
            return
        owned = managers[key]
        version = owned.api_version
        if version not in first_of:
            first_of[version] = key
            continue
        bucket = ManagerKey(ANCIENT, UPDATE, version, "")
        if bucket not in managers:
            managers[bucket] = managers.pop(first_of[version])
        merged = field_set.union(owned.fields, managers[bucket].fields)
        del managers[key]
        managers[bucket] = Owned(merged, version, False, owned.time)
        count -= 1


def equal_but_for_times(left: Sequence[Document], right: Sequence[Document]) -> bool:
    return len(left) == len(right) and all(
        one == other or {**one, "time": None} == {**other, "time": None} for one, other in zip(left, right, strict=True)
    )
