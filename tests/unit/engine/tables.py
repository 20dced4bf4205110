"""Stand-ins for what an algorithm consults: a preemption search that answers from a table."""

from collections.abc import Mapping, Sequence

from worker_agent.engine.assignment import Assignment
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.preemption.search import Preemptor, Simulation, Target
from worker_agent.engine.resources import FlavorResource


class SearchTable:
    """``simulated``: flavor -> mode (no candidates where absent); ``victims``: keys handed out for an assignment."""

    def __init__(self, simulated: Mapping[str, PreemptionMode], victims: Sequence[str] = ()) -> None:
        self.simulated = simulated
        self.victims = victims

    def simulate(self, preemptor: Preemptor, fr: FlavorResource, amount: int, level: int) -> Simulation:
        return Simulation(self.simulated.get(fr[0], PreemptionMode.NO_CANDIDATES), level)

    def targets(self, preemptor: Preemptor, assignment: Assignment) -> list[Target]:
        rows = preemptor.queue.reservations.values()
        return [Target(row, "InClusterQueue") for row in rows if row.key.name in self.victims]
