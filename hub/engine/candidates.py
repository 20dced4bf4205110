"""Which clusters are asked about a workload at all, and how near each is: contact, cordons, regions, data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.engine.evaluation import Evaluation, impossible
from worker_agent.api import names
from worker_agent.api.dispatch_policy import DispatchPolicySpec
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.workload import Workload

DATA_IS_FAR: Final = 1000
"""A cluster without the workload's data comes after all that have it, whatever their regions."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``open`` are worth a question, in configuration order; ``closed`` are answered without one."""

    open: tuple[str, ...]
    closed: tuple[Evaluation, ...]
    preference: Mapping[str, int]


def choose(
    configured: Sequence[str],
    clusters: Mapping[str, MultiKueueCluster],
    connected: Collection[str],
    policy: DispatchPolicySpec,
    workload: Workload,
) -> Asked:
    """Sort the configured clusters for one workload. ``clusters`` holds those that exist."""
    opened: list[str] = []
    closed: list[Evaluation] = []
    preference: dict[str, int] = {}
    here = _cluster_of(workload)
    for name in configured:
        cluster = clusters.get(name)
        obstacle = _obstacle(name, cluster, connected, policy, here)
        if obstacle is not None or cluster is None:
            closed.append(obstacle or _missing(name))
            continue
        opened.append(name)
        preference[name] = _distance(cluster, policy, workload)
    return Asked(tuple(opened), tuple(closed), preference)


def _obstacle(
    name: str,
    cluster: MultiKueueCluster | None,
    connected: Collection[str],
    policy: DispatchPolicySpec,
    here: Collection[str],
) -> Evaluation | None:
    if cluster is None:
        return _missing(name)
    if name not in connected:
        return impossible(name, "NoContact", "the hub is not in contact with it")
    if cluster.metadata.annotation(names.CORDONED_ANNOTATION) == "true" and name not in here:
        return impossible(name, "Cordoned", "cordoned")
    allowed = policy.regions.allowed if policy.regions is not None else None
    region = cluster.metadata.label(names.REGION_LABEL)
    if allowed and region not in allowed:
        return impossible(name, "RegionNotAllowed", f'region "{region}" is not allowed by the dispatch policy')
    return None


def _missing(name: str) -> Evaluation:
    return impossible(name, "NoCluster", "there is no MultiKueueCluster of that name")


def _distance(cluster: MultiKueueCluster, policy: DispatchPolicySpec, workload: Workload) -> int:
    preferred = (policy.regions.preferred if policy.regions is not None else None) or []
    region = cluster.metadata.label(names.REGION_LABEL)
    distance = preferred.index(region) if region in preferred else len(preferred)
    label = policy.data_locality_label
    wanted = workload.metadata.label(label) if label else ""
    if wanted and cluster.metadata.label(label) != wanted:
        distance += DATA_IS_FAR
    return distance


def _cluster_of(workload: Workload) -> Collection[str]:
    """A cordon keeps out what comes, not what is there."""
    return workload.status.nominated_cluster_names or ()
