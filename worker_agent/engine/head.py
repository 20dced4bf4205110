"""Head: what a ClusterQueue offers to the cycle."""

from typing import NamedTuple

from worker_agent.api.meta import Key
from worker_agent.engine.workload_info import WorkloadRow


class Head(NamedTuple):
    """A workload whose turn it is, and the ClusterQueue that offers it."""

    row: WorkloadRow
    cluster_queue: str
    second_pass: bool = False

    @property
    def key(self) -> Key:
        return self.row.key
