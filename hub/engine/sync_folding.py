"""What follows from a decision of the synchronisation is written with it: a Ready check may be all that was missing."""

from collections.abc import Sequence
from datetime import datetime

from hub.engine.intents import HubIntent
from hub.engine.remote_group import RemoteGroup
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import intent_effects, reservation
from worker_agent.engine.intents import ADMISSION_MANAGER, ApplyStatus
from worker_agent.engine.reservation import Observability
from worker_agent.engine.workload_status import StatusDraft


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


def _concerns(intent: ApplyStatus, group: RemoteGroup) -> bool:
    own = intent.resource == WORKLOADS and intent.key == group.key and not intent.cluster
    return own and intent.field_manager == ADMISSION_MANAGER and "admissionChecks" in intent.fields and group.has_quota
