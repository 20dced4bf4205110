"""Head: what a ClusterQueue offers to the cycle."""

from dataclasses import dataclass

from worker_agent.api.meta import Key
from worker_agent.engine.workload_info import WorkloadRow


@dataclass(frozen=True, slots=True)
class Head:
    """A workload whose turn it is, and the ClusterQueue that offers it."""

    row: WorkloadRow
    cluster_queue: str
    second_pass: bool = False

    @property
    def key(self) -> Key:
        return self.row.key
