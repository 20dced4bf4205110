"""What is on a worker, what draining it would move, and whom that would hurt: read from the manager's objects alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hub.engine import admission_check, condition
from hub.engine.admission_check import BadReference
from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.workload import AdmissionCheckState, Workload

DRAINED: Final = 'Cluster "{cluster}" is being drained, resetting for re-dispatch'


@dataclass(frozen=True, slots=True)
class Resident:
    """A Workload that a worker holds. ``elsewhere`` are the clusters it may go to instead: open, and not found
    impossible when the hub last chose. ``lost_pod_seconds`` is the work that moving it throws away, 0 where it has not
    started. ``check_index`` and ``check_name`` say where its MultiKueue check stands."""

    key: Key
    job: str
    runs: bool
    pods: int
    priority: int
    lost_pod_seconds: int
    elsewhere: tuple[str, ...]
    found: str
    """What the hub found of every candidate when it last chose."""
    check_index: int
    check_name: str

    @property
    def stranded(self) -> bool:
        """It would wait until some cluster is open to it again."""
        return not self.elsewhere


@dataclass(frozen=True, slots=True)
class Federation:
    """The manager's objects, by name."""

    clusters: Mapping[str, MultiKueueCluster]
    checks: Mapping[str, AdmissionCheck]
    configs: Mapping[str, MultiKueueConfig]


def residents(cluster: str, workloads: Iterable[Workload], federation: Federation, now: datetime) -> Sequence[Resident]:
    """What ``cluster`` holds: running first, the most work lost first, then by name."""
    found = [_resident(cluster, workload, federation, now) for workload in workloads]
    held = [resident for resident in found if resident is not None]
    return sorted(held, key=lambda each: (not each.runs, -each.lost_pod_seconds, each.key))


def is_open(cluster: MultiKueueCluster) -> bool:
    """Whether new work may go there."""
    active = condition.find(cluster.status.conditions, names.ACTIVE)
    closed = is_cordoned(cluster) or bool(cluster.metadata.annotation(names.DECLARED_LOST_ANNOTATION))
    return active is not None and active.is_true and not closed


def is_cordoned(cluster: MultiKueueCluster) -> bool:
    return cluster.metadata.annotation(names.CORDONED_ANNOTATION) == "true"


def _resident(cluster: str, workload: Workload, federation: Federation, now: datetime) -> Resident | None:
    index, state = _multikueue_check(workload, federation)
    runs = workload.status.cluster_name == cluster
    waits = not workload.status.cluster_name and cluster in (workload.status.nominated_cluster_names or ())
    leaving = state is not None and state.state in (names.CHECK_RETRY, names.CHECK_REJECTED)
    if state is None or leaving or not (runs or waits) or workload.is_true(names.FINISHED):
        return None
    pods = sum(pod_set.count for pod_set in workload.spec.pod_sets or ())
    admitted = workload.condition(names.ADMITTED)
    since = admitted.last_transition_time if runs and admitted is not None and admitted.is_true else None
    seconds = max(0, int((now - since).total_seconds())) if since is not None else 0
    owner = workload.metadata.controller
    found = chosen.message if (chosen := workload.condition(names.DISPATCHED)) is not None else ""
    return Resident(
        key=workload.metadata.key,
        job=f"{owner.kind}/{owner.name}" if owner is not None else "",
        runs=runs,
        pods=pods,
        priority=workload.spec.priority or 0,
        lost_pod_seconds=pods * seconds,
        elsewhere=tuple(
            name for name in _elsewhere(cluster, state.name, federation) if not _is_impossible(name, found)
        ),
        found=found,
        check_index=index,
        check_name=state.name,
    )


def _multikueue_check(workload: Workload, federation: Federation) -> tuple[int, AdmissionCheckState | None]:
    for index, state in enumerate(workload.status.admission_checks or ()):
        check = federation.checks.get(state.name)
        if check is not None and check.spec.controller_name == names.MULTIKUEUE_CONTROLLER:
            return index, state
    return 0, None


def _is_impossible(cluster: str, found: str) -> bool:
    """Whether the hub, when it last chose, found that a cluster could not take the workload even empty."""
    verdict = f"{cluster}: impossible: "
    return found.startswith(verdict) or f"; {verdict}" in found


def _elsewhere(cluster: str, check: str, federation: Federation) -> tuple[str, ...]:
    try:
        config = admission_check.resolve(federation.checks[check], federation.configs)
    except BadReference:
        return ()
    others = [name for name in config.spec.clusters if name != cluster and name in federation.clusters]
    return tuple(name for name in others if is_open(federation.clusters[name]))
