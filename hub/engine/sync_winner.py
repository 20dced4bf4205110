"""The copy that was admitted first runs the job; what happens when none is visible any more (spec S6)."""

from datetime import datetime, timedelta
from typing import Any, Final

from hub.engine import fencing, sync_check, sync_job, sync_removal
from hub.engine.intents import CountAdmitted, HubIntent, Revisit
from hub.engine.remote_group import RemoteGroup, Sight
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import (
    ADMISSION_MANAGER,
    MULTIKUEUE_MANAGER,
    ApplyStatus,
    PatchObject,
    RequeueAfter,
    RetryWithError,
    SetCondition,
)

EVICTED_ON_MANAGER: Final = "EvictedOnManagerCluster"
PENDING: Final = "Pending"
TOPOLOGY_READY: Final = "Ready"

STAYS_PENDING: Final = (
    "its job stays suspended here until it has ended there, because this API server does not keep managedBy"
)

_LEAVING: Final = (names.CHECK_RETRY, names.CHECK_REJECTED)
"""States of the check by which the Workload leaves its cluster: no job is started on the way out."""


def adopt(group: RemoteGroup, cluster: str, copy: Sight, now: datetime) -> list[HubIntent]:
    """``cluster`` admitted the Workload: drop the other copies, tell the manager's Workload, and run the job there.

    Kueue runs the job first. When the manager cannot be told then, and the worker is lost before it can, the job runs
    in a place that nobody knows of, and once more in the next. So the choice is on record before anything runs by it.
    """
    intents = sync_removal.elsewhere(group, cluster)
    evicted = group.local.condition(names.EVICTED)
    if group.has_quota and evicted is not None and evicted.is_true:
        if copy.is_true(names.DEACTIVATION_TARGET) and not fencing.is_running(group, group.connected[cluster]):
            # Told, and nothing to stop: what is gone cannot start any more, and nobody needs to be waited for.
            return [*intents, *sync_removal.on_cluster(group, cluster, group.connected[cluster])]
        intents.append(_deactivate(group, cluster, evicted.message))
        return intents
    if _nominated_elsewhere(group, cluster):
        return [*intents, _status(group, {"nominatedClusterNames": [cluster]})]
    sync = sync_job.validated(group, cluster, now, may_create=group.check.state not in _LEAVING)
    if not sync.refused:
        intents += _told(group, cluster, copy, now)
    intents += sync.intents
    if sync.refused or any(isinstance(intent, RetryWithError) for intent in intents):
        return intents
    timeout = group.policy.worker_lost_timeout.total_seconds()
    intents.append(RequeueAfter(sync_job.pause_seconds(group, now) if sync.deferred else timeout))
    return intents


def _nominated_elsewhere(group: RemoteGroup, cluster: str) -> bool:
    """The copy was admitted just when the Workload was being nominated to another cluster.

    Only a nominated cluster may become the Workload's own (its webhook sees to that), so the nomination follows the
    copy first; what it changes brings the Workload here again.
    """
    nominated = group.local.view.status.nominated_cluster_names
    return bool(nominated) and cluster not in (nominated or ()) and group.cluster_name != cluster


def lost(group: RemoteGroup, now: datetime) -> list[HubIntent]:
    """The check is Ready, yet no admitted copy can be seen."""
    name = group.cluster_name
    if not name:
        message = "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"
        return [sync_check.set_state(group, names.CHECK_RETRY, message, now)]
    if name in group.unavailable:
        if group.policy.keep_when_lost and name not in group.declared_lost:
            return [RequeueAfter(group.policy.worker_lost_timeout.total_seconds())]
        out_of_contact = now - (group.unavailable[name] or now)
        remaining = group.policy.worker_lost_timeout - out_of_contact
        if remaining > timedelta(0) and name not in group.declared_lost:
            return [RequeueAfter(remaining.total_seconds())]
        lost = sync_check.set_state(group, names.CHECK_RETRY, "Admitting remote lost", now)
        return [*forget_pods(group), lost, *_warning(group, name)]
    message = "Admitting remote no longer exists"
    return [*forget_pods(group), sync_check.set_state(group, names.CHECK_RETRY, message, now)]


def _warning(group: RemoteGroup, cluster: str) -> list[HubIntent]:
    """Agents evict the Workload of any job when the hub's lease lapses; that stops the jobs of kinds they know."""
    kind = group.owner.kind
    if kind is None or kind.framework or cluster in group.declared_lost:
        return []
    message = (
        f'{kind.resource.kind} "{group.owner.key}" may go on elsewhere: on worker cluster "{cluster}", out of contact, '
        "its workload was evicted, and only the program that made it there can stop the job"
    )
    return [sync_check.event(group, message, "Warning")]


def forget_pods(group: RemoteGroup) -> list[HubIntent]:
    """Nobody brings the status of the lost job up to date any more; pods it still tells of would hold the quota."""
    kind, job = group.owner.kind, group.job
    if kind is None or job is None or not kind.is_active(job):
        return []
    return [
        PatchObject(
            resource=kind.resource,
            before=member,
            after={**member, "status": kind.idle_status(member)},
            field_manager=MULTIKUEUE_MANAGER,
            subresource="status",
            strict=False,
        )
        for member in kind.members(job)
    ]


def _deactivate(group: RemoteGroup, cluster: str, message: str) -> ApplyStatus:
    """The manager evicts: the worker stops the job first, and only then is the manager's quota released."""
    return ApplyStatus(
        resource=WORKLOADS,
        key=group.key,
        # The worker must be able to take the condition back, so it goes with the rest of the admission status.
        field_manager=ADMISSION_MANAGER,
        conditions=(
            SetCondition(names.DEACTIVATION_TARGET, "True", EVICTED_ON_MANAGER, f"Evicted on manager: {message}"),
        ),
        cluster=cluster,
    )


def _told(group: RemoteGroup, cluster: str, copy: Sight, now: datetime) -> list[HubIntent]:
    fields: dict[str, Any] = {}
    admission = _with_topology_ready(group.local.document, copy.document)
    if admission is not None:
        fields["admission"] = admission
    state = group.check.state
    if state in _LEAVING:
        return [_status(group, fields)] if fields else []
    if group.cluster_name not in ("", cluster):
        return [
            RetryWithError(f'attempting to change immutable ClusterName from "{group.cluster_name}" to "{cluster}"')
        ]
    message = f'The workload was admitted on "{cluster}"'
    reached = names.CHECK_READY
    if group.unmarked:
        message, reached = f"{message}; {STAYS_PENDING}", names.CHECK_PENDING
    entry = sync_check.entry(group, reached, message, now)
    fields |= {
        "admissionChecks": sync_check.replaced(group, entry),
        "clusterName": cluster,
        "nominatedClusterNames": None,
    }
    intents: list[HubIntent] = [_status(group, fields), sync_check.event(group, message)]
    members = group.components.members if group.components is not None else ()
    siblings = tuple(member.key for member in members if member.key != group.key)
    if siblings and not group.placed:
        intents.append(Revisit(siblings))
    if not group.placed:
        intents.append(CountAdmitted(cluster_queue(group), cluster))
    return intents


def cluster_queue(group: RemoteGroup) -> str:
    admission = group.local.view.status.admission
    return admission.cluster_queue if admission is not None else ""


def _status(group: RemoteGroup, fields: dict[str, Any]) -> ApplyStatus:
    return ApplyStatus(resource=WORKLOADS, key=group.key, field_manager=ADMISSION_MANAGER, fields=fields)


def _with_topology_ready(local: Document, remote: Document) -> Document | None:
    """The local admission with the delayed topology requests settled that the worker has assigned; None if none."""
    admission = (local.get("status") or {}).get("admission") or {}
    assigned = {
        assignment.get("name")
        for assignment in ((remote.get("status") or {}).get("admission") or {}).get("podSetAssignments") or ()
        if assignment.get("topologyAssignment")
    }
    assignments = admission.get("podSetAssignments") or []
    settled = [
        {**assignment, "delayedTopologyRequest": TOPOLOGY_READY}
        if assignment.get("delayedTopologyRequest") == PENDING and assignment.get("name") in assigned
        else assignment
        for assignment in assignments
    ]
    return {**admission, "podSetAssignments": settled} if settled != assignments else None
