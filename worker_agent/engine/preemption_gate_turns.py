"""Which variant of a Workload may preempt next: one at a time, the most favorable first (spec/engine 23)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.engine.variant_family import GATE, Member

TURN: Final = timedelta(minutes=5)
"""How long a variant may try to make room by preemption before the next one may as well."""

_NOT_EVALUATED: Final = (names.PENDING_EVALUATION, names.SUSPENDED, names.DEACTIVATED, names.ADMISSION_GATED)
"""Reasons of QuotaReserved=False that say nothing about a scheduling attempt."""


class Turn(NamedTuple):
    """Whose gate opens now, if any, and when to look again."""

    opens: Member | None = None
    wait: timedelta | None = None


def next_turn(variants: Sequence[Member], now: datetime) -> Turn:
    """``variants`` in order of favor. Nobody's turn comes while a more favorable one may still fit without victims."""
    admissible = [variant for variant in variants if _admissible(variant)]
    candidate = _candidate(admissible)
    if candidate is None:
        return Turn()
    opened = [gate["lastTransitionTime"] for gate in map(_gate, admissible) if _is_open(gate)]
    if opened:
        left = max(map(timestamps.parse, opened)) + TURN - now
        if left > timedelta():
            return Turn(wait=left)
    return Turn(candidate, TURN)


def open_gate(variant: Member, now: datetime) -> None:
    gate = {"name": GATE, "position": names.GATE_OPEN, "lastTransitionTime": timestamps.rfc3339(now)}
    others = [other for other in variant.draft.status.get("preemptionGates") or () if other["name"] != GATE]
    variant.draft.put(preemptionGates=[*others, gate])
    variant.event("PreemptionUngatedVariant", f'Opened preemption gate for variant workload "{variant.key}"')


def _candidate(admissible: Sequence[Member]) -> Member | None:
    for variant in admissible:
        if _is_open(_gate(variant)):
            continue
        if variant.draft.is_true(names.BLOCKED_ON_PREEMPTION_GATES):
            return variant
        if not _evaluated(variant):
            return None
    return None


def _admissible(variant: Member) -> bool:
    annotations = (variant.document.get("metadata") or {}).get("annotations") or {}
    gated = bool(annotations.get(names.ADMISSION_GATED_BY_ANNOTATION))
    on_hold = variant.draft.reason(names.QUOTA_RESERVED) == names.ON_HOLD
    return variant.active and not (variant.finished or variant.reserved or gated or on_hold)


def _evaluated(variant: Member) -> bool:
    return variant.draft.is_false(names.QUOTA_RESERVED) and (
        variant.draft.reason(names.QUOTA_RESERVED) not in _NOT_EVALUATED
    )


def _gate(variant: Member) -> Document:
    gates = variant.draft.status.get("preemptionGates") or ()
    found: Document = next((gate for gate in gates if gate["name"] == GATE), {})
    return found


def _is_open(gate: Document) -> bool:
    return bool(gate.get("position") == names.GATE_OPEN)
