"""The job on the worker that runs it: create it, keep its spec in step, bring its status home (spec 10.2 to 10.4)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hub.engine import fencing, remote_objects
from hub.engine.intents import HubIntent
from hub.engine.remote_group import DEFERRED_SYNC_SECONDS, RemoteGroup, Sight
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import Finish, JobKind
from worker_agent.api.meta import Key
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.engine import fencing as worker_fencing
from worker_agent.engine.intents import MULTIKUEUE_MANAGER, CreateObject, PatchObject, RetryWithError

LONGEST_LAG: Final = timedelta(minutes=1)
"""How long a job's own word of its end is waited for."""

STARTING: Final = timedelta(minutes=5)
"""How long the start of a job here is waited for in silence, once nothing stands in its way."""


@dataclass(frozen=True, slots=True)
class JobSync:
    """``deferred``: the status cannot be copied yet, look again soon. ``refused``: a foreign object is in the way."""

    intents: tuple[HubIntent, ...] = ()
    deferred: bool = False
    refused: bool = False


def validated(group: RemoteGroup, cluster: str, now: datetime, *, may_create: bool = False) -> JobSync:
    """Synchronise the job on ``cluster`` after making sure that what stands there is ours.

    ``may_create``: what is not there is made. After the job's end that would run it a second time.
    """
    kind, local, remote = group.owner.kind, group.job, group.connected[cluster].job
    if kind is None:
        return JobSync()
    present = kind.members(remote) if remote is not None else []
    for member in present:
        if not remote_objects.is_ours(member, group.policy.origin):
            key = remote_objects.key_of(member)
            return JobSync((RetryWithError(_foreign(group, kind, key)),), refused=True)
    if local is None:
        return JobSync()
    by_key = {remote_objects.key_of(member): member for member in present}
    synced = []
    for member in kind.members(local):
        there = by_key.get(remote_objects.key_of(member))
        if there is not None:
            synced.append(_kept_in_step(group, cluster, member, there, now))
        elif may_create and kind.is_sent(member):
            synced.append(JobSync((_created(group, cluster, member),)))
    return JobSync(
        tuple(intent for sync in synced for intent in sync.intents), deferred=any(sync.deferred for sync in synced)
    )


def _foreign(group: RemoteGroup, kind: JobKind, key: Key) -> str:
    return remote_objects.foreign_object(kind.resource, key, group.policy.origin)


def _unstarted(kind: JobKind, job: Document, workload: Document) -> Document:
    """The job as its user wrote it: once the manager has started it, its templates carry what the manager's flavors
    and queues gave them, and the worker's own would contradict. Pods and what makes them are never started here."""
    if kind.serving or kind.is_suspended(job):
        return job
    pod_sets = (workload.get("spec") or {}).get("podSets") or ()
    restored, changed = kind.restore(job, [PodSetInfo.of_pod_set(pod_set) for pod_set in pod_sets])
    return kind.suspend(restored) if changed else job


def pause_seconds(group: RemoteGroup, now: datetime) -> float:
    """When to look again at a job whose status could not be copied.

    The start of a job here is an event that wakes us anyway. In a long queue of starts each look takes time from them,
    so looks become rare as the wait gets long.
    """
    admitted = group.local.since(names.ADMITTED)
    if admitted is None or group.job is None or not is_being_started(group, group.job, now):
        return DEFERRED_SYNC_SECONDS
    return max(DEFERRED_SYNC_SECONDS, (now - admitted).total_seconds() / 2)


def is_being_started(group: RemoteGroup, local: Document, now: datetime) -> bool:
    """The Workload is admitted here, and its suspended job is about to be started, which may take a while in a burst.

    What a suspended job is told until then nobody would read, and its start takes it back.
    """
    kind, admitted = group.owner.kind, group.local.since(names.ADMITTED)
    if kind is None or admitted is None or not group.local.is_true(names.ADMITTED):
        return False
    if group.local.is_true(names.EVICTED) or not kind.of_member.is_suspended(local):
        return False
    return timedelta(0) <= now - admitted < STARTING


def lags(group: RemoteGroup, cluster: str, copy: Sight, now: datetime) -> bool:
    """The copy says that its job has ended, and the job as it was last seen has not: its own word is still on the way.

    Objects of two kinds come in two streams. Without this the job would be removed before its end was brought home.
    """
    kind, job, finished = group.owner.kind, group.connected[cluster].job, copy.condition(names.FINISHED)
    if finished is None or finished.reason not in (names.SUCCEEDED, names.FAILED):
        return False
    if kind is None or not kind.tells_its_end or job is None or not remote_objects.is_ours(job, group.policy.origin):
        return False
    if _is_another(kind, job):
        return False
    since = copy.since(names.FINISHED)
    return kind.finished(job) is None and (since is None or now - since < LONGEST_LAG)


def end_is_lost(group: RemoteGroup, cluster: str, copy: Sight) -> bool:
    """The copy says that its job has ended, the job there is gone, and the manager's own was never told.

    It was removed in the moment of its end (by its user, its time to live, an earlier pass that was cut off). Where its
    end was not seen at once, it may even have been made anew, and will not be started any more.
    """
    kind, local, finished = group.owner.kind, group.job, copy.condition(names.FINISHED)
    if finished is None or finished.reason not in (names.SUCCEEDED, names.FAILED):
        return False
    if kind is None or not kind.tells_its_end or local is None:
        return False
    there = group.connected[cluster].job
    if there is not None and not (remote_objects.is_ours(there, group.policy.origin) and _is_another(kind, there)):
        return False
    return kind.finished(local) is None


def _is_another(kind: JobKind, job: Document) -> bool:
    """Whether it cannot be the job that ended: it waits to be started. It was read after its copy's end was known."""
    return kind.finished(job) is None and kind.is_suspended(job) and not kind.is_active(job)


def end_of(group: RemoteGroup, copy: Sight, now: datetime) -> Iterator[HubIntent]:
    """The end that only the copy tells of, written on the manager's job: work that is done is not run again.

    Kueue finishes the Workload alone, and the job seems to run for ever.
    """
    kind, finished = group.owner.kind, copy.condition(names.FINISHED)
    assert kind is not None
    assert group.job is not None
    assert finished is not None
    end = Finish(finished.reason == names.SUCCEEDED, finished.message)
    for member in kind.members(group.job):
        ended = kind.of_member.ended(member, end, now)
        if kind.of_member.finished(member) is None and kind.of_member.finished(ended) is not None:
            yield PatchObject(
                resource=kind.resource,
                before=member,
                after=kind.of_member.without_interim(ended) if group.unmarked else ended,
                field_manager=MULTIKUEUE_MANAGER,
                subresource="status",
                strict=False,
            )


def _created(group: RemoteGroup, cluster: str, local: Document) -> CreateObject:
    assert group.owner.kind is not None
    kind = group.owner.kind.of_member
    pristine = _unstarted(kind, local, group.local.document)
    document = kind.remote_copy(pristine, group.key.name, group.policy.origin, group.jobs_at(cluster))
    document = fencing.stamped(document, group, cluster)
    # Another Workload of the same owner may just have made it.
    shared = not kind.points_at_workload
    return CreateObject(
        resource=kind.resource,
        document=document,
        field_manager=MULTIKUEUE_MANAGER,
        may_exist=shared,
        cluster=cluster,
    )


def _kept_in_step(group: RemoteGroup, cluster: str, local: Document, remote: Document, now: datetime) -> JobSync:
    assert group.owner.kind is not None
    kind = group.owner.kind.of_member
    intents: list[HubIntent] = []
    wanted = kind.remote_patch(local, remote, group.key.name, group.jobs_at(cluster))
    if kind.is_suspended(remote) and worker_fencing.term_of(remote) and group.terms.get(cluster):
        # Sent by an earlier leader and not started yet: the agent starts it when this leader stands by it.
        wanted = fencing.stamped(wanted, group, cluster)
    if wanted != remote:
        intents.append(
            PatchObject(
                resource=kind.resource,
                before=remote,
                after=wanted,
                field_manager=MULTIKUEUE_MANAGER,
                strict=False,
                cluster=cluster,
            )
        )
    if group.unmarked and kind.finished(remote) is None:
        return JobSync(tuple(intents))
    home = kind.status_back(local, kind.without_interim(remote) if group.unmarked else remote, now)
    if home.deferred and is_being_started(group, local, now):
        return JobSync(tuple(intents), deferred=True)
    if home.status is not None:
        intents.append(
            PatchObject(
                resource=kind.resource,
                before=local,
                after={**local, "status": home.status},
                field_manager=MULTIKUEUE_MANAGER,
                subresource="status",
                strict=False,
            )
        )
    return JobSync(tuple(intents), deferred=home.deferred)
