"""The checks of a new Workload are first listed together with what the engine says of it, which is about to come."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from worker_agent.api import document as documents
from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.engine import intent_effects
from worker_agent.engine.intents import ApplyStatus, Intent, RequeueAfter

SOON: Final = timedelta(seconds=5)
"""By then the engine has looked at a new Workload, or something keeps it from that."""


def left_unsaid(workload: Document, intents: Sequence[Intent], now: datetime) -> Iterator[Intent]:
    """``intents`` without a first list of checks that would be a write of its own; looks again when it may be one.

    The write that reserves quota lists the checks anyway, and nobody works on a check before that.
    """
    age = now - timestamps.parse(workload["metadata"]["creationTimestamp"])
    is_new = timedelta(0) <= age < SOON and not documents.get(workload, "status.admissionChecks", [])
    judged = intent_effects.find_condition(workload, names.QUOTA_RESERVED)
    writes = [intent for intent in intents if isinstance(intent, ApplyStatus)]
    if not is_new or judged or not all(_only_lists_checks(write) for write in writes):
        yield from intents
        return
    for intent in intents:
        yield RequeueAfter((SOON - age).total_seconds()) if isinstance(intent, ApplyStatus) else intent


def _only_lists_checks(write: ApplyStatus) -> bool:
    said = write.conditions or write.removed_conditions or write.entries
    return not said and list(write.fields) == ["admissionChecks"]
