"""Taking our objects off a worker: first the job, then the Workload's finalizer, then the Workload (spec S2)."""

from collections.abc import Iterable
from itertools import chain

from hub.engine import remote_objects
from hub.engine.intents import EachCluster, HubIntent, OnCluster
from hub.engine.remote_group import Remote, RemoteGroup
from worker_agent.api import names
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import DeleteObject, RemoveFinalizer


def on_cluster(group: RemoteGroup, cluster: str, remote: Remote) -> list[HubIntent]:
    """What removes our job and copy from one cluster; objects that are not ours stay."""
    intents: list[HubIntent] = []
    kind = group.owner.kind
    if kind is not None and remote.job is not None and not _is_shared(group, cluster):
        for member in kind.members(remote.job):
            if remote_objects.is_ours(member, group.policy.origin):
                key, uid = remote_objects.key_of(member), member["metadata"].get("uid", "")
                intents.append(DeleteObject(resource=kind.resource, key=key, uid=uid, cluster=cluster))
    if remote.copy is None:
        return intents
    metadata = remote.copy.view.metadata
    if names.IN_USE_FINALIZER in (metadata.finalizers or ()):
        finalizer = names.IN_USE_FINALIZER
        intents.append(RemoveFinalizer(resource=WORKLOADS, key=group.key, finalizer=finalizer, cluster=cluster))
    intents.append(DeleteObject(resource=WORKLOADS, key=group.key, uid=metadata.uid, cluster=cluster))
    return intents


def _is_shared(group: RemoteGroup, cluster: str) -> bool:
    """Another Workload of the same owner runs by the object there: the last to leave removes it."""
    members = group.components.members if group.components is not None else ()
    return any(member.key != group.key and member.cluster_name == cluster for member in members)


def each_cluster(group: RemoteGroup) -> list[HubIntent]:
    """Remove from every connected cluster; one that fails does not stop the others (S2)."""
    return _served(group, chain(_in_order(group), group.outside.items()))


def outside(group: RemoteGroup) -> list[HubIntent]:
    """Remove what stands on connected clusters that the configuration does not name any more."""
    return _served(group, group.outside.items())


def everywhere(group: RemoteGroup) -> list[HubIntent]:
    """Remove from every connected cluster, stopping at the first failure (a deleted Workload, section 7 step 6)."""
    found = chain(_in_order(group), group.outside.items())
    return [step for cluster, remote in found for step in on_cluster(group, cluster, remote)]


def elsewhere(group: RemoteGroup, kept: str) -> list[HubIntent]:
    """Remove the copies on every connected cluster of the configuration but ``kept``."""
    intents: list[HubIntent] = []
    for cluster, remote in _in_order(group):
        if cluster != kept and remote.copy is not None:
            intents += on_cluster(group, cluster, remote)
    return intents


def _served(group: RemoteGroup, remotes: Iterable[tuple[str, Remote]]) -> list[HubIntent]:
    served = [
        OnCluster(cluster, tuple(steps)) for cluster, remote in remotes if (steps := on_cluster(group, cluster, remote))
    ]
    return [EachCluster(tuple(served))] if served else []


def _in_order(group: RemoteGroup) -> Iterable[tuple[str, Remote]]:
    return ((name, group.connected[name]) for name in group.order if name in group.connected)
