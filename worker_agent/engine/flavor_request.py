"""FlavorRequest: a workload that wants flavors in a ClusterQueue, with all that a scan of flavors consults."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from worker_agent.engine.assignment import Assignment
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption.search import PreemptionSearch, Preemptor
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.scan import ScanState
from worker_agent.engine.slice_replacement import Replaced
from worker_agent.engine.tas.placement import Placement
from worker_agent.engine.workload_info import WorkloadRow

Nominated = Sequence[Mapping[str, str]]
"""Per pod set: resource -> the only flavor that a recomputation may use."""


class FlavorRequest(NamedTuple):
    """A workload that wants flavors in a ClusterQueue, and what the scan consults."""

    row: WorkloadRow
    queue: ClusterQueueRow
    state: QueueState
    now: int
    search: PreemptionSearch
    placement: Placement
    cycle: int
    scan: ScanState | None = None
    nominated: Nominated | None = None
    replaced: Replaced | None = None
    """The slice of an elastic job whose place the workload takes."""

    @property
    def policy(self) -> Policy:
        return self.state.policy

    @property
    def preemptor(self) -> Preemptor:
        return Preemptor(self.row, self.queue, self.state, self.now)

    def restricted_to(self, assignment: Assignment) -> "FlavorRequest":
        """The same request from the first flavor on, but only with the flavors nominated before."""
        nominated = [
            {resource: choice.flavor for resource, choice in pod_set.flavors.items()} for pod_set in assignment.pod_sets
        ]
        return self._replace(scan=None, nominated=nominated)
