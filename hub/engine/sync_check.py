"""The Workload's MultiKueue admission check: its entry, the ways it is written, and the events that tell of it."""

from datetime import datetime
from typing import Final

from hub.engine.remote_group import RemoteGroup
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intent_effects import CONDITION_MESSAGE_BYTES, truncated
from worker_agent.engine.intents import MULTIKUEUE_MANAGER, ApplyStatus, RecordEvent

EVENT_REASON: Final = "MultiKueue"


def with_previous(group: RemoteGroup, message: str) -> str:
    """The message with the state it replaces, cut to what a condition may hold."""
    return truncated(f'{message}, Previously: "{group.check.state}"', CONDITION_MESSAGE_BYTES)


def entry(group: RemoteGroup, state: str, message: str, now: datetime) -> Document:
    """The check's entry with a new state and message; its time moves only when the state changes."""
    current = next((check for check in _entries(group) if check.get("name") == group.check.name), {})
    moved = now if current.get("state") != state or not current.get("lastTransitionTime") else None
    return {
        **current,
        "name": group.check.name,
        "state": state,
        "message": message,
        "lastTransitionTime": timestamps.rfc3339(moved) if moved else current["lastTransitionTime"],
    }


def replaced(group: RemoteGroup, changed: Document) -> list[Document]:
    """All entries of the Workload, with the one of this check replaced."""
    return [changed if check.get("name") == changed["name"] else check for check in _entries(group)]


def set_state(group: RemoteGroup, state: str, message: str, now: datetime) -> ApplyStatus:
    """Write this one entry; the stored message tells the previous state as well."""
    return ApplyStatus(
        resource=WORKLOADS,
        key=group.key,
        field_manager=MULTIKUEUE_MANAGER,
        entries={"admissionChecks": (entry(group, state, with_previous(group, message), now),)},
        strict=False,
    )


def event(group: RemoteGroup, message: str, type_: str = "Normal") -> RecordEvent:
    return RecordEvent(
        resource=WORKLOADS,
        key=group.key,
        reason=EVENT_REASON,
        action=EVENT_REASON,
        message=message,
        type=type_,
        uid=group.local.view.metadata.uid,
    )


def _entries(group: RemoteGroup) -> list[Document]:
    return (group.local.document.get("status") or {}).get("admissionChecks") or []
