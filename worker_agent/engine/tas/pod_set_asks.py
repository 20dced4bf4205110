"""From an assignment that has its flavors to asks, flavor by flavor (spec/tas 4, 13.1 and 14)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.pod import Toleration
from worker_agent.api.workload import PodSetTopologyRequest, PodSetUpdate, Workload
from worker_agent.engine.assignment import Assignment, PodSetResult
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.tas import placement
from worker_agent.engine.tas.ask import NO_REQUEST, PodDemand, PodSetAsk
from worker_agent.engine.tas.topology_assignment import TopologyAssignment
from worker_agent.engine.workload_info import PodSetRow, WorkloadRow

PENDING: Final = "Pending"
"""A pod set's place is found after the checks."""
READY: Final = "Ready"
NO_CACHE: Final = "workload requires Topology, but there is no TAS cache information"


class AskProblem(ValueError):
    """Why a pod set cannot ask."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the flavors of a queue are, and what its checks want."""

    queue: ClusterQueueRow
    flavors: Mapping[str, FlavorRow]
    topologies: frozenset[str]
    """Flavors whose topology is known."""
    checks: Mapping[str, AdmissionCheck]
    elastic: bool = False

    def wants(self, pod_set: PodSetRow) -> bool:
        """Whether the pod set is placed by a topology."""
        return placement.asks_for_topology(pod_set, self.queue, self.flavors)

    def controlled_by(self, controller: str, flavor: str | None = None) -> bool:
        """Whether a check of this controller guards the queue (or the flavor)."""
        return any(
            check in self.checks
            and self.checks[check].spec.controller_name == controller
            and (flavor is None or flavor in guarded)
            for check, guarded in self.queue.checks.items()
        )


def by_flavor(
    row: WorkloadRow,
    assignment: Assignment,
    around: Surroundings,
    previous: Mapping[str, TopologyAssignment],
    unhealthy: str,
) -> dict[str, list[PodSetAsk]]:
    """The asks of all pod sets that need a place, in order of flavor names. Delays and errors go to the results."""
    asks: dict[str, list[PodSetAsk]] = {}
    for pod_set, result in zip(row.pod_sets, assignment.pod_sets, strict=False):
        if not around.wants(pod_set) or result.error or not result.count:
            continue
        if result.topology is not None and not (unhealthy and result.topology.touches(unhealthy)):
            continue
        try:
            flavor = _only_flavor(result, around)
            if _is_delayed(row, around, flavor):
                result.delayed = PENDING
                continue
            ask = _ask(row.workload, pod_set, result, previous.get(pod_set.name), around)
        except AskProblem as problem:
            result.error, result.failed = str(problem), True
            continue
        asks.setdefault(flavor, []).append(ask)
    return dict(sorted(asks.items()))


def _only_flavor(result: PodSetResult, around: Surroundings) -> str:
    if not any(name in around.topologies for name in around.queue.flavors):
        raise AskProblem(NO_CACHE)
    chosen = {choice.flavor for choice in result.flavors.values()}
    found = sorted(name for name in chosen if name in around.flavors and around.flavors[name].topology)
    if not found:
        raise AskProblem("no TAS flavor assigned")
    if len(found) > 1:
        raise AskProblem(f"more than one TAS flavor assigned: {', '.join(found)}")
    return found[0]


def _is_delayed(row: WorkloadRow, around: Surroundings, flavor: str) -> bool:
    if around.controlled_by(names.MULTIKUEUE_CONTROLLER):
        return True
    return not row.reserved_in and around.controlled_by(names.PROVISIONING_CONTROLLER, flavor)


def _ask(
    workload: Workload,
    pod_set: PodSetRow,
    result: PodSetResult,
    previous: TopologyAssignment | None,
    around: Surroundings,
) -> PodSetAsk:
    request = pod_set.topology_request or NO_REQUEST
    explicit = placement.is_explicit(request)
    if around.elastic and explicit:
        _refuse_closeness(request)
    return PodSetAsk(
        pod_set.name,
        result.count,
        pod_set.shape.pod_requests,
        request,
        _demand(workload, pod_set),
        implied=not explicit,
        group=pod_set.group,
        previous=previous,
    )


def _refuse_closeness(request: PodSetTopologyRequest) -> None:
    for name, level in (("required", request.required), ("preferred", request.preferred)):
        if level is not None:
            raise AskProblem(f"{name} topology is not supported with ElasticJobsViaWorkloadSlices")


# -- what checks add -------------------------------------------------------------------------------------------------


def _demand(workload: Workload, pod_set: PodSetRow) -> PodDemand:
    """The template's own, with what Ready checks want in the pods. Raises AskProblem."""
    spec = pod_set.shape.spec
    tolerations: list[Toleration] = list(spec.tolerations or ())
    selector = dict(spec.node_selector or {})
    updates = list(_updates(workload, pod_set.name))
    if updates:
        _check_conflicts(pod_set.name, updates)
        for update in updates:
            _merge(pod_set.name, "nodeSelector", selector, update.node_selector)
            tolerations += [t for t in update.tolerations or () if t not in tolerations]
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return PodDemand(tolerations, selector, affinity)


def _updates(workload: Workload, pod_set: str) -> Iterable[PodSetUpdate]:
    for check in workload.status.admission_checks or ():
        if check.state == "Ready":
            yield from (update for update in check.pod_set_updates or () if update.name == pod_set)


def _check_conflicts(pod_set: str, updates: Sequence[PodSetUpdate]) -> None:
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    for update in updates:
        _merge(pod_set, "annotations", annotations, update.annotations)
        _merge(pod_set, "labels", labels, update.labels)


def _merge(pod_set: str, what: str, into: dict[str, str], more: Mapping[str, str] | None) -> None:
    for key, value in (more or {}).items():
        if into.setdefault(key, value) != value:
            raise AskProblem(
                f"invalid podSetUpdate for PodSet {pod_set}, error: invalid admission check PodSetUpdate: conflict for "
                f"{what}: conflict for key={key}, value1={into[key]}, value2={value}"
            )
