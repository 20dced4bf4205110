"""Which clusters get a copy, and the copies themselves (spec S8 and S9)."""

from collections.abc import Collection, Sequence

from hub.engine import fencing, remote_objects, sync_removal
from hub.engine.intents import CountDispatched, EachCluster, HubIntent, OnCluster, Revisit
from hub.engine.remote_group import ALL_AT_ONCE, Component, Components, RemoteGroup
from hub.engine.sync_winner import cluster_queue
from worker_agent.api import names
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import (
    ADMISSION_MANAGER,
    MULTIKUEUE_MANAGER,
    ApplyStatus,
    CreateObject,
    RetryWithError,
)


def stopped(group: RemoteGroup) -> bool:
    """Whether nothing may be nominated now: the check is not Pending, or the last cluster is not left yet (S8)."""
    if group.has_quota and group.local.is_true(names.EVICTED):
        return True
    return group.check.state != names.CHECK_PENDING or (bool(group.cluster_name) and not group.elastic)


def other_checks_pending(group: RemoteGroup) -> bool:
    """Dispatch comes last: any other check that is not Ready holds it back."""
    checks = group.local.view.status.admission_checks or ()
    return any(check.name != group.check.name and check.state != names.CHECK_READY for check in checks)


def nominate(group: RemoteGroup) -> list[HubIntent]:
    """Write the nomination where it is ours to write, then create and remove copies to match it."""
    if other_checks_pending(group):
        return []
    if group.components is not None:
        intents, settled = _with_siblings(group, group.components)
        if settled:
            return intents
        return [*intents, *_nominated(group)]
    return _nominated(group)


def _nominated(group: RemoteGroup) -> list[HubIntent]:
    listed = group.local.view.status.nominated_cluster_names or []
    if group.elastic and group.cluster_name:
        return _synchronise(group, [group.cluster_name])
    if group.policy.dispatcher != ALL_AT_ONCE:
        return _synchronise(group, listed)
    wanted = sorted(group.connected)
    intents: list[HubIntent] = []
    if set(wanted) != set(listed):
        intents.append(nomination(group, wanted))
    return intents + _synchronise(group, wanted)


def nomination(group: RemoteGroup, clusters: Sequence[str]) -> ApplyStatus:
    return ApplyStatus(
        resource=WORKLOADS,
        key=group.key,
        field_manager=ADMISSION_MANAGER,
        fields={"nominatedClusterNames": list(clusters) or None},
    )


def _synchronise(group: RemoteGroup, nominated: Collection[str], *, gated: bool = True) -> list[HubIntent]:
    served = [
        OnCluster(name, error=f"cluster {name}: no remote client for nominated cluster")
        for name in nominated
        if name not in group.connected
    ]
    for name in group.order:
        remote = group.connected.get(name)
        if remote is None:
            continue
        if name not in nominated:
            if remote.copy is not None:
                served.append(OnCluster(name, tuple(sync_removal.on_cluster(group, name, remote))))
        elif remote.foreign:
            message = f'cluster {name}: workload "{group.key}" of that name there does not come from this manager'
            served.append(OnCluster(name, error=message))
        elif remote.copy is None:
            served.append(OnCluster(name, (_created(group, name, gated), CountDispatched(cluster_queue(group), name))))
    return [EachCluster(tuple(served))] if served else []


def _created(group: RemoteGroup, cluster: str, gated: bool) -> CreateObject:
    return CreateObject(
        resource=WORKLOADS,
        document=fencing.stamped(
            remote_objects.workload_copy(group.local.document, group.policy, gated=gated), group, cluster
        ),
        field_manager=MULTIKUEUE_MANAGER,
        may_exist=True,
        cluster=cluster,
    )


def _with_siblings(group: RemoteGroup, components: Components) -> tuple[list[HubIntent], bool]:
    """All Workloads of one owner share a cluster: the first is dispatched, the others follow. True: all is said."""
    if len(components.members) < components.expected:
        return [], True
    siblings = [member for member in components.members if member.key != group.key]
    taken = sorted({member.cluster_name for member in siblings if member.cluster_name})
    if len(taken) > 1:
        text = " and ".join(f'"{name}"' for name in taken[:2])
        message = f"checking component workloads: component workloads assigned to different clusters: {text}"
        return [RetryWithError(message)], True
    if taken:
        return _follow(group, taken[0]), True
    if _is_primary(group.key.name, components.members, siblings):
        return [], False
    # It may have waited for this one. The others are told by the first once it has a cluster: nobody tells in a circle.
    first = _first(components.members)
    return [Revisit((first.key,))] if first is not None and first.key != group.key else [], True


def _first(members: Sequence[Component]) -> Component | None:
    indexed = [(member.index, member.key, member) for member in members if member.index is not None]
    return min(indexed)[2] if indexed else None


def _follow(group: RemoteGroup, cluster: str) -> list[HubIntent]:
    if cluster not in group.connected:
        return [RetryWithError(f'assigned worker cluster "{cluster}" is not available')]
    intents: list[HubIntent] = []
    if cluster not in (group.local.view.status.nominated_cluster_names or ()):
        intents.append(nomination(group, [cluster]))
    return intents + _synchronise(group, [cluster], gated=False)


def _is_primary(name: str, members: Sequence[Component], siblings: Sequence[Component]) -> bool:
    own = next((member.index for member in members if member.key.name == name), None)
    if own is None:
        return False
    return not any(member.index is not None and member.index < own for member in siblings)
