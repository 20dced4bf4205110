"""Workers that will not run a job: a copy deactivated there, and what becomes of a job that all of them refuse."""

from datetime import datetime, timedelta
from typing import Final

from hub.engine import remote_objects, sync_check
from hub.engine.dispatch import NO_CLUSTER
from hub.engine.intents import HubIntent
from hub.engine.remote_group import RemoteGroup, Sight
from worker_agent.api import names, timestamps
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.engine import admission_checks, eviction
from worker_agent.engine.intents import ADMISSION_MANAGER, ApplyStatus, Intent, RecordEvent, RequeueAfter
from worker_agent.engine.workload_status import StatusDraft

NOWHERE_PATIENCE: Final = timedelta(minutes=1)
"""For so long a job that no cluster can run keeps its quota: clusters come and queues are mended."""

NOWHERE: Final = "No worker cluster can run the workload"
"""How the check says why it gave the quota back; the eviction repeats it, and so it is known after a restart too."""

FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(hours=1)


def is_refused(group: RemoteGroup, copy: Sight) -> bool:
    """Whether the worker deactivated a copy that the manager wants active, and nothing else sets the two apart.

    Kueue makes such a copy anew, which is deactivated again, without end and without anybody being told.
    """
    if copy.view.spec.active is not False or group.local.view.spec.active is False or _stopped_out_of_contact(copy):
        return False
    here, there = (remote_objects.comparable_spec(found.document) for found in (group.local, copy))
    return {**here, "active": None} == {**there, "active": None}


def _stopped_out_of_contact(copy: Sight) -> bool:
    """Whether it was only stopped because this hub did not get through, and holds nothing any more: the hub is back,
    and nothing of what the worker thinks of the job speaks against a new copy."""
    evicted = copy.condition(names.EVICTED)
    if evicted is None or not evicted.is_true or copy.is_true(names.QUOTA_RESERVED):
        return False
    return evicted.reason == f"{names.DEACTIVATED_DUE_TO}{names.HUB_CONTACT_LOST}"


def refused_by_all(group: RemoteGroup) -> bool:
    """Whether every cluster of the configuration is in contact, holds a copy, and has deactivated it."""
    copies = dict(group.copies())
    return bool(copies) and len(copies) == len(group.order) and all(is_refused(group, c) for c in copies.values())


def nowhere_since(group: RemoteGroup) -> datetime | None:
    """Since when dispatch has known of no cluster that could ever run it, with the quota held here; None otherwise."""
    dispatched = group.local.condition(names.DISPATCHED)
    if dispatched is None or not dispatched.is_false or dispatched.reason != NO_CLUSTER:
        return None
    reserved = group.local.since(names.QUOTA_RESERVED)
    times = [moment for moment in (reserved, dispatched.last_transition_time) if moment is not None]
    return max(times, default=None)


def held_in_vain(group: RemoteGroup, now: datetime) -> list[HubIntent]:
    """Give the quota back once no cluster could run the job for a while; before that, when to look again."""
    since = nowhere_since(group)
    if since is None:
        return []
    left = NOWHERE_PATIENCE - (now - since)
    if left > timedelta(0):
        return [RequeueAfter(left.total_seconds())]
    dispatched = group.local.condition(names.DISPATCHED)
    told = dispatched.message if dispatched is not None else ""
    return give_back(group, f"{NOWHERE}: {told}", now)


def give_back(group: RemoteGroup, why: str, now: datetime) -> list[HubIntent]:
    """Release the quota that nobody can use, say why, and try again after a while that grows with every time.

    It is evicted here and not by the check's own delay, for which the quota would be kept.
    """
    draft, told = _evicted(group, why, now)
    state = draft.status.get("requeueState") or {}
    draft.put(requeueState={**state, "requeueAt": timestamps.rfc3339(now + pause(group))})
    return [*draft.intents(), told, sync_check.event(group, why, "Warning")]


def queue_again(group: RemoteGroup, why: str, now: datetime) -> list[Intent]:
    """Release the quota of a Workload that waits for a cluster, say why, and let it queue at once."""
    draft, told = _evicted(group, why, now)
    return [*draft.intents(), told, sync_check.event(group, why)]


def _evicted(group: RemoteGroup, why: str, now: datetime) -> tuple[StatusDraft, RecordEvent]:
    entry = sync_check.entry(group, names.CHECK_RETRY, sync_check.with_previous(group, why), now)
    draft = StatusDraft(group.local.document, now)
    draft.put(admissionChecks=sync_check.replaced(group, entry))
    message = f"Evicted due to {admission_checks.describe([entry], names.CHECK_RETRY)}"
    return draft, eviction.evict(draft, names.EVICTED_ADMISSION_CHECK, message)


def is_paused(workload: Workload) -> bool:
    """Whether it waits to be tried again only because no cluster could run it, and holds no quota any more."""
    evicted, state = workload.condition(names.EVICTED), workload.status.requeue_state
    if evicted is None or not evicted.is_true or NOWHERE not in evicted.message:
        return False
    if workload.is_true(names.QUOTA_RESERVED) or workload.is_true(names.FINISHED) or workload.spec.active is False:
        return False
    return state is not None and state.requeue_at is not None


def end_of_pause(workload: Sight) -> ApplyStatus:
    """It may be tried again at once; how often it was tried stays."""
    state = (workload.document.get("status") or {}).get("requeueState") or {}
    kept = {name: value for name, value in state.items() if name != "requeueAt"}
    return ApplyStatus(
        resource=WORKLOADS, key=workload.key, field_manager=ADMISSION_MANAGER, fields={"requeueState": kept or None}
    )


def pause(group: RemoteGroup) -> timedelta:
    """1, 2, 4 ... minutes, at most an hour."""
    return min(FIRST_PAUSE * (1 << min(group.check.retry_count or 0, 10)), LONGEST_PAUSE)
