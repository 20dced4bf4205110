"""A Workload's status while a decision is being made: read, change, read back, and hand over the sum of the changes.

Every decision about Workloads (reconciler, job reconciler, scheduler's plan) edits the same status through a
``StatusDraft``. The draft never touches the document it was made of; ``intents`` is what the applier must write.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.names import ON_HOLD, QUOTA_RESERVED
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import intent_effects
from worker_agent.engine.intents import WORKLOAD_CONTROLLER_MANAGER, ApplyStatus, SetCondition, condition_manager


def key_of(workload: Document) -> Key:
    metadata = workload.get("metadata") or {}
    return Key(metadata.get("namespace", ""), metadata.get("name", ""))


def is_true(workload: Document, type_: str) -> bool:
    found = intent_effects.find_condition(workload, type_)
    return found is not None and found.get("status") == "True"


def is_false(workload: Document, type_: str) -> bool:
    found = intent_effects.find_condition(workload, type_)
    return found is not None and found.get("status") == "False"


def reason_of(workload: Document, type_: str) -> str:
    """The condition's reason; empty where there is no such condition."""
    return str((intent_effects.find_condition(workload, type_) or {}).get("reason", ""))


def since(workload: Document, type_: str) -> datetime:
    """When the condition last flipped; year 1 where the object does not say, as in Go."""
    text = (intent_effects.find_condition(workload, type_) or {}).get("lastTransitionTime")
    return timestamps.parse(text) if text else timestamps.ZERO


_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


class StatusDraft:
    """One Workload document and the status changes decided on top of it at ``now``."""

    __slots__ = ("_conditions", "_fields", "_removed", "document", "now", "original")

    def __init__(self, workload: Document, now: datetime) -> None:
        self.original = workload
        self.document = workload
        self.now = now
        self._conditions: dict[str, SetCondition] = {}
        self._removed: set[str] = set()
        self._fields: dict[str, Any] = {}

    @property
    def key(self) -> Key:
        return key_of(self.original)

    @property
    def status(self) -> Document:
        return self.document.get("status") or {}

    @property
    def spec(self) -> Document:
        return self.document.get("spec") or {}

    @property
    def changed(self) -> bool:
        return self.document is not self.original

    def find(self, type_: str) -> Document | None:
        return intent_effects.find_condition(self.document, type_)

    def is_true(self, type_: str) -> bool:
        return is_true(self.document, type_)

    def is_false(self, type_: str) -> bool:
        return is_false(self.document, type_)

    def reason(self, type_: str) -> str:
        return reason_of(self.document, type_)

    def set(self, type_: str, status: bool, reason: str, message: str) -> bool:
        """Write a condition; True when it differs from what was there. Its time moves only with its status."""
        wanted = SetCondition(type_, "True" if status else "False", reason, message)
        after = intent_effects.with_condition(self.document, wanted, self.now)
        if after is self.document:
            return False
        self.document = after
        self._conditions[type_] = wanted
        self._removed.discard(type_)
        return True

    def turn_off(self, type_: str, reason: str) -> bool:
        """A condition that is True becomes False, keeping its message as ``Previously: ...``."""
        found = self.find(type_)
        if found is None or found.get("status") != "True":
            return False
        return self.set(type_, False, reason, f"Previously: {found.get('message', '')}")

    def remove(self, types: Iterable[str]) -> bool:
        present = tuple(type_ for type_ in types if self.find(type_) is not None)
        self._removed.update(present)
        for type_ in present:
            self._conditions.pop(type_, None)
        if not present:
            return False
        change = ApplyStatus(resource=WORKLOADS, key=self.key, removed_conditions=present)
        self.document = intent_effects.status_after(self.document, change, self.now)
        return True

    def put(self, **fields: Any) -> bool:
        """Set status fields by their JSON names; an empty value removes the field. True when something changed."""
        status = self.status
        differing: dict[str, Any] = {}
        for name, value in fields.items():
            wanted = None if value in _EMPTY else value
            present = status.get(name)
            if present != wanted and not (wanted is None and present in _EMPTY):
                differing[name] = wanted
        if not differing:
            return False
        self._fields |= differing
        self.document = intent_effects.with_fields(self.document, differing)
        return True

    def intent(self) -> ApplyStatus:
        """All changes to the admission status so far as one apply."""
        return ApplyStatus(
            resource=WORKLOADS,
            key=self.key,
            conditions=tuple(c for c in self._conditions.values() if c.type in intent_effects.ADMISSION_CONDITIONS),
            removed_conditions=tuple(sorted(self._removed)),
            fields=dict(self._fields),
        )

    def intents(self) -> list[ApplyStatus]:
        """All changes so far: the admission status, and each other condition under a manager of its own."""
        admission = self.intent()
        differs = admission.conditions or admission.removed_conditions or admission.fields
        if len(admission.conditions) == len(self._conditions):
            return [admission] if differs else []
        return [admission] * bool(differs) + [
            ApplyStatus(
                resource=WORKLOADS,
                key=self.key,
                field_manager=condition_manager(WORKLOAD_CONTROLLER_MANAGER, type_),
                conditions=(condition,),
                strict=False,
            )
            for type_, condition in self._conditions.items()
            if type_ not in intent_effects.ADMISSION_CONDITIONS
        ]


def is_on_hold(workload: Document) -> bool:
    """Its job wants no quota for now."""
    return is_false(workload, QUOTA_RESERVED) and reason_of(workload, QUOTA_RESERVED) == ON_HOLD
