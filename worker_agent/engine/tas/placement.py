"""The seam between the cycle and topology placement.

``NoPlacement`` knows no nodes: a flavor with a topology takes no pod set, a pod set with a topology request no flavor
without one.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from worker_agent.api.workload import PodSetTopologyRequest
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.preemption.search import Preemptor, Target
from worker_agent.engine.workload_info import PodSetRow, WorkloadRow


class Placement(Protocol):
    def mismatch(
        self, pod_set: PodSetRow, flavor: FlavorRow, queue: ClusterQueueRow, flavors: Mapping[str, FlavorRow]
    ) -> str:
        """Why the flavor cannot take the pod set's topology request; empty when it can."""

    def place(self, preemptor: Preemptor, assignment: Assignment, replaced: WorkloadRow | None = None) -> None:
        """Find nodes for an assignment that has its flavors; may lower its mode (spec/engine 8.8).

        ``replaced``: the slice of an elastic job whose place the workload takes.
        """

    def has_room(self, preemptor: Preemptor, assignment: Assignment) -> bool:
        """Whether all pods would find places on the state as it is now."""

    def reserve(self, preemptor: Preemptor, assignment: Assignment, targets: Sequence[Target]) -> None:
        """Note the places that an assignment in mode Preempt will have, so that later entries leave them alone."""

    def fits(self, preemptor: Preemptor, assignment: Assignment) -> bool:
        """Whether the places found still have their room on the state as it is now."""


class NoPlacement:
    def mismatch(
        self, pod_set: PodSetRow, flavor: FlavorRow, queue: ClusterQueueRow, flavors: Mapping[str, FlavorRow]
    ) -> str:
        if not asks_for_topology(pod_set, queue, flavors):
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling' if flavor.topology else ""
        if not flavor.topology:
            return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
        return f'Flavor "{flavor.name}" information missing in TAS cache'

    def place(self, preemptor: Preemptor, assignment: Assignment, replaced: WorkloadRow | None = None) -> None:
        return

    def has_room(self, preemptor: Preemptor, assignment: Assignment) -> bool:
        return True

    def reserve(self, preemptor: Preemptor, assignment: Assignment, targets: Sequence[Target]) -> None:
        return

    def fits(self, preemptor: Preemptor, assignment: Assignment) -> bool:
        return True


def asks_for_topology(pod_set: PodSetRow, queue: ClusterQueueRow, flavors: Mapping[str, FlavorRow]) -> bool:
    """Explicitly, or because every flavor of the queue has a topology."""
    if pod_set.topology_request is not None and is_explicit(pod_set.topology_request):
        return True
    return bool(queue.flavors) and all(name in flavors and flavors[name].topology for name in queue.flavors)


def is_explicit(request: PodSetTopologyRequest) -> bool:
    """Whether the request asks for a placement; one that only names index labels (every Job's does) asks for none."""
    return (
        request.unconstrained is not None
        or request.required is not None
        or request.preferred is not None
        or request.pod_set_slice_required_topology is not None
        or request.pod_set_slice_size is not None
        or bool(request.podset_slice_required_topology_constraints)
    )


NO_PLACEMENT: Final = NoPlacement()
