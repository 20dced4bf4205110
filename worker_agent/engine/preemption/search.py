"""The seam between the cycle and preemption: what a scan may ask, what a nomination gets.

``NoPreemption`` is the search that never finds a victim: queues that all have policy Never behave the same under any
implementation.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from worker_agent.engine.assignment import Assignment
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.workload_info import WorkloadRow


class Simulation(NamedTuple):
    """What removing victims would bring for one FlavorResource; ``level`` is the borrowing level afterwards."""

    mode: PreemptionMode
    level: int


class Target(NamedTuple):
    """A workload chosen to leave, and why (a reason of the Preempted condition)."""

    row: WorkloadRow
    reason: str


class Preemptor(NamedTuple):
    """Who wants room, where, on which state. Searches may change the state only inside ``state.trial()``."""

    row: WorkloadRow
    queue: ClusterQueueRow
    state: QueueState
    now: int


class PreemptionSearch(Protocol):
    def simulate(self, preemptor: Preemptor, fr: FlavorResource, amount: int, level: int) -> Simulation:
        """Could victims make room for ``amount`` of this one FlavorResource? ``level``: borrowing without victims."""

    def targets(
        self, preemptor: Preemptor, assignment: Assignment, placed: Callable[[], bool] | None = None
    ) -> list[Target]:
        """The victims that make the whole assignment fit; none when it cannot be made to fit.

        ``placed``: whether its pods find their nodes too, on the state as it is then.
        """


class NoPreemption:
    def simulate(self, preemptor: Preemptor, fr: FlavorResource, amount: int, level: int) -> Simulation:
        return Simulation(PreemptionMode.NO_CANDIDATES, level)

    def targets(
        self, preemptor: Preemptor, assignment: Assignment, placed: Callable[[], bool] | None = None
    ) -> list[Target]:
        return []


NO_PREEMPTION: Final = NoPreemption()
