"""Copies of an earlier run of a job: its cluster was lost, the job was sent elsewhere, and contact is there again."""

from dataclasses import replace

from hub.engine.remote_group import RemoteGroup, Sight
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at


def is_left_over(group: RemoteGroup, cluster: str) -> bool:
    """Whether the job runs in its own cluster while ``cluster`` only came back with a copy of an earlier run."""
    own = group.cluster_name
    chosen = group.connected.get(own)
    runs = chosen is not None and chosen.copy is not None and chosen.copy.is_true(names.ADMITTED)
    return cluster != own and runs and not (chosen and chosen.copy and chosen.copy.is_true(names.EVICTED))


def first_finished(group: RemoteGroup) -> tuple[str, Sight] | None:
    """The copy whose end is the job's: the earliest one that the manager's job can still tell of.

    Once that job tells of a later run, its API server refuses the times of an earlier one, and the job would never end.
    """
    untold = {cluster for cluster, _ in group.copies() if _cannot_be_told(group, cluster)}
    if not untold:
        return group.first_with(names.FINISHED)
    connected = {cluster: remote for cluster, remote in group.connected.items() if cluster not in untold}
    return replace(group, connected=connected).first_with(names.FINISHED)


def evicted(group: RemoteGroup) -> tuple[str, Sight] | None:
    """The evicted copy that has the job: the chosen cluster's, else the one evicted first.

    Clocks differ between clusters: a copy without a job may seem to have been evicted earlier, and its cluster has
    nothing to say of the pods that the manager waits for.
    """
    chosen = group.connected.get(group.cluster_name)
    if chosen is not None and chosen.copy is not None and chosen.copy.is_true(names.EVICTED):
        return group.cluster_name, chosen.copy
    return group.first_with(names.EVICTED)


def _cannot_be_told(group: RemoteGroup, cluster: str) -> bool:
    told, remote = _started_at(group.job), _started_at(group.connected[cluster].job)
    return bool(told and remote) and told != remote and is_left_over(group, cluster)


def _started_at(job: Document | None) -> str:
    return "" if job is None else str(value_at(job, "status.startTime", "") or "")
