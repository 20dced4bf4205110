"""The search a cycle uses: the scan's simulation and the final choice of victims, nothing computed twice.

An object of this module serves one cycle, or one question asked of one cluster after the other: between its calls the
objects do not change, and what a trial changes shows in the journal's version. A search for the same need on an equal
state is answered from memory; the usual case is an assignment that lacks one FlavorResource, whose victims the scan has
found already.
"""

from collections.abc import Callable

from worker_agent.api.meta import Key
from worker_agent.engine import hierarchy
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption import classical_search, fair_search, need
from worker_agent.engine.preemption.classical_search import within_nominal
from worker_agent.engine.preemption.need import Need
from worker_agent.engine.preemption.ranking import NEVER
from worker_agent.engine.preemption.search import Preemptor, Simulation, Target
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.quota import QueueNode, QuotaNode
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.workload_info import WorkloadRow

Rule = Callable[[Preemptor, Need], list[Target]]
_Asked = tuple[int, str, Key, frozenset[FlavorResource], frozenset[tuple[FlavorResource, int]]]


class VictimSearch:
    """PreemptionSearch by one rule of choosing victims."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._state: QueueState | None = None
        """The one that everything remembered is about: versions of two states do not compare."""
        self._found: dict[_Asked, list[Target]] = {}
        self._told: tuple[int, WorkloadRow | None, frozenset[FlavorResource], bool] = (-1, None, frozenset(), False)
        self._borrowers: dict[tuple[QuotaNode, frozenset[FlavorResource]], tuple[int, set[QueueNode]]] = {}

    def simulate(self, preemptor: Preemptor, fr: FlavorResource, amount: int, level: int) -> Simulation:
        if not self._anybody(preemptor, frozenset((fr,))):
            return Simulation(PreemptionMode.NO_CANDIDATES, level)
        targets = self._victims(preemptor, need.of_resource(preemptor.queue, fr, amount))
        if not targets:
            return Simulation(PreemptionMode.NO_CANDIDATES, level)
        with preemptor.state.trial():
            for target in targets:
                preemptor.state.remove_reservation(target.row)
            level, _ = hierarchy.lowest_subtree_that_fits(preemptor.queue.node, fr, amount)
        inside = any(target.row.reserved_in == preemptor.queue.name for target in targets)
        return Simulation(PreemptionMode.PREEMPT if inside else PreemptionMode.RECLAIM, level)

    def targets(
        self, preemptor: Preemptor, assignment: Assignment, placed: Callable[[], bool] | None = None
    ) -> list[Target]:
        wanted = assignment.needing_preemption()
        if not self._anybody(preemptor, frozenset(wanted)):
            return []
        return list(self._victims(preemptor, need.of_assignment(preemptor.queue, assignment, placed)))

    def _victims(self, preemptor: Preemptor, wanted: Need) -> list[Target]:
        if wanted.placed is not None:
            # How many pods ask for which nodes is not told by the amounts.
            return self._rule(preemptor, wanted)
        asked = (
            preemptor.state.journal.version,
            preemptor.queue.name,
            preemptor.row.key,
            wanted.frs,
            frozenset(wanted.usage.items()),
        )
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = self._rule(preemptor, wanted)
        return found

    def _anybody(self, preemptor: Preemptor, frs: frozenset[FlavorResource]) -> bool:
        """Whether there are candidates at all: the scan asks it, and right after it the choice of victims."""
        if preemptor.state is not self._state:
            self._turn_to(preemptor.state)
        version, row = preemptor.state.journal.version, preemptor.row
        told = self._told
        if told[1] is row and told[0] == version and told[2] == frs:
            return told[3]
        found = self._search_anybody(preemptor, frs)
        self._told = (version, row, frs, found)
        return found

    def _turn_to(self, state: QueueState) -> None:
        """Forget what was found in another state."""
        self._state = state
        self._found.clear()
        self._borrowers.clear()
        self._told = (-1, None, frozenset(), False)

    def _search_anybody(self, preemptor: Preemptor, frs: frozenset[FlavorResource]) -> bool:
        """Lower ones in the own queue, or somebody who borrows."""
        queue = preemptor.queue
        if queue.candidates.any_eligible(frs, queue.within_cluster_queue, preemptor.row, queue.reservations):
            return True
        root = hierarchy.root_of(queue.node)
        if root is queue.node or queue.reclaim_within_cohort == NEVER:
            return False
        borrowers = self._borrowers_below(root, frs, preemptor.state.journal.version)
        return len(borrowers) > (queue.node in borrowers)

    def _borrowers_below(self, root: QuotaNode, frs: frozenset[FlavorResource], version: int) -> set[QueueNode]:
        """The same for all heads of a tree, until usage changes."""
        known = self._borrowers.get((root, frs))
        if known is None or known[0] != version:
            wanted = tuple(frs)
            found = {node for node in hierarchy.queues_below(root) if not within_nominal(node, wanted)}
            known = self._borrowers[root, frs] = (version, found)
        return known[1]


def search_of(policy: Policy) -> VictimSearch:
    """A search for one cycle under this policy."""
    return VictimSearch(fair_search.victims if policy.fair_sharing else classical_search.victims)
