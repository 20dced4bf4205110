"""What follows from a decision is written with it: Admitted where a Ready check was all that was missing, and with the
quota's reservation the nomination of all clusters at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from hub.engine.intents import HubIntent
from hub.engine.remote_group import RemoteGroup
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import intent_effects, reservation
from worker_agent.engine.intents import ADMISSION_MANAGER, ApplyStatus
from worker_agent.engine.reservation import Observability
from worker_agent.engine.workload_status import StatusDraft

_NOMINATION: Final = {"nominatedClusterNames"}


def with_admission(
    intents: Sequence[HubIntent], group: RemoteGroup, how: Observability, now: datetime
) -> list[HubIntent]:
    """``intents`` with Admitted set in the write that makes the last check Ready; the others as they are.

    Left to the Workload's own controller it would be a write of its own a moment later.
    """
    folded: list[HubIntent] = []
    for intent in intents:
        folded.append(intent)
        if isinstance(intent, ApplyStatus) and _concerns(intent, group):
            draft = StatusDraft(intent_effects.status_after(group.local.document, intent, now), now)
            if reservation.sync_admitted(draft, how):
                folded += draft.intents()
    return folded


def joined_nomination(intents: Sequence[HubIntent]) -> list[ApplyStatus]:
    """The nomination out of what was decided for a Workload as its admission will leave it; none unless it comes first.

    Copies are made once it shows on the Workload, as of any other nomination.
    """
    first = intents[0] if intents else None
    if (
        isinstance(first, ApplyStatus)
        and not first.cluster
        and not first.conditions
        and set(first.fields) == _NOMINATION
    ):
        return [first]
    return []


def _concerns(intent: ApplyStatus, group: RemoteGroup) -> bool:
    own = intent.resource == WORKLOADS and intent.key == group.key and not intent.cluster
    return own and intent.field_manager == ADMISSION_MANAGER and "admissionChecks" in intent.fields and group.has_quota
