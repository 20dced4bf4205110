"""TopologyPlacement: the placement that a cycle consults, on the state's node rooms (spec/tas 4, 13).

One object serves one cycle (or one question): it remembers which pod sets were placed before, because preferred node
affinity counts for the first placement only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from worker_agent.api import names
from worker_agent.engine.assignment import Assignment, PodSetResult
from worker_agent.engine.assignment import Attempt as Tried
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.modes import Mode, NoFitReason, PreemptionMode
from worker_agent.engine.preemption.search import Preemptor, Target
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.tas import ask, driver, pod_set_asks, workload_facts
from worker_agent.engine.tas.ask import PodSetAsk
from worker_agent.engine.tas.driver import Outcome, Situation
from worker_agent.engine.tas.flavor_room import FlavorRoom, Shortage
from worker_agent.engine.tas.known_counts import KnownCounts
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.placement import asks_for_topology, is_explicit
from worker_agent.engine.tas.placer import Attempt
from worker_agent.engine.tas.pod_set_asks import READY, Surroundings
from worker_agent.engine.tas.topology_assignment import TopologyAssignment
from worker_agent.engine.workload_info import UNKNOWN_HASH, PodSetRow, WorkloadRow

Asks = Mapping[str, Sequence[PodSetAsk]]


class TopologyPlacement:
    def __init__(self, state: QueueState) -> None:
        self._state = state
        self._topology = state.topology
        self._rules = state.policy.topology
        self._scored: set[tuple[str, str, str]] = set()
        self._counts = KnownCounts()
        self._surroundings: dict[tuple[str, bool], Surroundings] = {}
        self._asked: dict[Any, tuple[list[Any], dict[str, list[PodSetAsk]]]] = {}
        self._lacking: dict[int, tuple[TopologyAssignment | None, Shortage]] = {}
        """Places that did not hold, by identity, of workloads that held none before."""
        self._answers: dict[tuple[Any, ...], tuple[dict[str, Outcome], list[PlacedPods]]] = {}

    # -- flavors ---------------------------------------------------------------------------------------------------

    def mismatch(
        self, pod_set: PodSetRow, flavor: FlavorRow, queue: ClusterQueueRow, flavors: Mapping[str, FlavorRow]
    ) -> str:
        request = pod_set.topology_request
        if request is None or not is_explicit(request):
            if asks_for_topology(pod_set, queue, flavors) or not flavor.topology:
                return ""
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
        if not flavor.topology:
            covered = {r for group in queue.groups if flavor.name in group.flavors for r in group.resources}
            if covered.isdisjoint(pod_set.shape.pod_requests):
                return ""
            return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
        levels = self._topology.levels(flavor.name)
        if not levels:
            return f'Flavor "{flavor.name}" information missing in TAS cache'
        wanted = [ask.requested_label(request, levels, False), *(layer.level for layer in ask.layers(request))]
        if any(level not in levels for level in wanted):
            return f'Flavor "{flavor.name}" does not contain the requested level'
        return ""

    # -- places ----------------------------------------------------------------------------------------------------

    def place(self, preemptor: Preemptor, assignment: Assignment, replaced: WorkloadRow | None = None) -> None:
        asks = assignment.asks = self._asks(preemptor, assignment, replaced)
        if any(result.error for result in assignment.pod_sets):
            assignment.mode = Mode.NO_FIT
            return
        if not asks:
            return
        if assignment.mode is Mode.FIT:
            outcomes = self._find(preemptor, asks, empty=False)
            failed = _failure(outcomes)
            if failed is None:
                _store(assignment, outcomes)
                if not (preemptor.row.placed or preemptor.row.reserved_in or replaced):
                    assignment.placed_at = self._state.journal.version
            else:
                _lower(_result(assignment, failed), outcomes[failed].reason)
                assignment.mode = Mode.PREEMPT
        if assignment.mode is Mode.PREEMPT and not workload_facts.unhealthy_node(preemptor.row.workload):
            self._place_after_preemption(preemptor, assignment, asks)

    def _place_after_preemption(self, preemptor: Preemptor, assignment: Assignment, asks: Asks) -> None:
        """Would the pods have their place if no placed pod ran? Then preemption has to look at these flavors."""
        outcomes = self._find(preemptor, asks, empty=True)
        failed = _failure(outcomes)
        if failed is not None:
            _give_up(_result(assignment, failed))
            assignment.mode = Mode.NO_FIT
            return
        for group in asks.values():
            for one in group:
                for choice in _result(assignment, one.name).flavors.values():
                    choice.mode = Mode.PREEMPT

    def has_room(self, preemptor: Preemptor, assignment: Assignment) -> bool:
        return _failure(self._find(preemptor, assignment.asks, empty=False)) is None

    def reserve(self, preemptor: Preemptor, assignment: Assignment, targets: Sequence[Target]) -> None:
        if workload_facts.unhealthy_node(preemptor.row.workload):
            return
        if not assignment.asks:
            return
        with self._state.trial():
            for target in targets:
                self._state.remove_reservation(target.row)
            outcomes = self._find(preemptor, assignment.asks, empty=not targets)
        if _failure(outcomes) is None:
            _store(assignment, outcomes)

    def fits(self, preemptor: Preemptor, assignment: Assignment) -> bool:
        if assignment.placed_at == self._state.journal.version:
            return True
        if self._still_lacking(assignment):
            return False
        lack = self._topology.shortage(net_usage(preemptor.row, assignment))
        if lack is None:
            return True
        if not preemptor.row.placed and len(assignment.pod_sets) == 1 and lack.room is not None:
            self._lacking[id(assignment.pod_sets[0].topology)] = (assignment.pod_sets[0].topology, lack)
        return False

    def _still_lacking(self, assignment: Assignment) -> bool:
        """Heads alike have one place in common until the first of them takes it."""
        if not self._lacking or len(assignment.pod_sets) != 1:
            return False
        known = self._lacking.get(id(assignment.pod_sets[0].topology))
        return known is not None and known[1].persists()

    # -- one search ------------------------------------------------------------------------------------------------

    def _asks(
        self, preemptor: Preemptor, assignment: Assignment, replaced: WorkloadRow | None
    ) -> dict[str, list[PodSetAsk]]:
        row, queue = preemptor.row, preemptor.queue
        alike = self._alike(row, queue)
        if alike is None or any([result.topology is not None for result in assignment.pod_sets]):
            return self._asks_afresh(row, queue, assignment, replaced)
        chosen = [
            (result.error, result.count, [choice.flavor for choice in result.flavors.values()])
            for result in assignment.pod_sets
        ]
        known = self._asked.get(alike)
        if known is not None and known[0] == chosen:
            return known[1]
        asks = self._asks_afresh(row, queue, assignment, replaced)
        if not any(result.error or result.delayed for result in assignment.pod_sets):
            self._asked[alike] = (chosen, asks)
        return asks

    def _alike(self, row: WorkloadRow, queue: ClusterQueueRow) -> Any:
        """Equal for workloads that ask the same once they got the same flavors; None where that is not known."""
        status = row.workload.status
        if self._rules.elastic or status.unhealthy_nodes:
            return None
        if row.hash == UNKNOWN_HASH or queue.checks or status.admission_checks:
            return row.key
        return row.hash, queue.scanned

    def _asks_afresh(
        self, row: WorkloadRow, queue: ClusterQueueRow, assignment: Assignment, replaced: WorkloadRow | None
    ) -> dict[str, list[PodSetAsk]]:
        flavors = self._state.catalog.flavors
        if not any(asks_for_topology(pod_set, queue, flavors) for pod_set in row.pod_sets):
            return {}
        elastic = self._elastic(row)
        unhealthy = workload_facts.unhealthy_node(row.workload)
        previous = workload_facts.places(replaced) if elastic and replaced is not None else {}
        return pod_set_asks.by_flavor(row, assignment, self._around(queue, elastic), previous, unhealthy)

    def _around(self, queue: ClusterQueueRow, elastic: bool) -> Surroundings:
        found = self._surroundings.get((queue.name, elastic))
        if found is None:
            catalog = self._state.catalog
            known = frozenset(name for name in queue.flavors if self._topology.levels(name))
            found = Surroundings(queue, catalog.flavors, known, catalog.checks, elastic)
            self._surroundings[queue.name, elastic] = found
        return found

    def _elastic(self, row: WorkloadRow) -> bool:
        if not (self._rules.elastic and self._state.policy.elastic_jobs):
            return False
        return row.workload.metadata.annotation(names.ELASTIC_JOB_ANNOTATION) == "true"

    def _find(self, preemptor: Preemptor, asks: Asks, empty: bool) -> dict[str, Outcome]:
        """By pod set, over all flavors."""
        situation = workload_facts.situation(preemptor.row.workload, self._state.policy, self._elastic(preemptor.row))
        shared: list[PlacedPods] = []
        outcomes: dict[str, Outcome] = {}
        for flavor, group in asks.items():
            room = self._topology.room(flavor)
            if room is None:
                continue
            common = self._rules.overlapping_flavors and room.tree.hostname
            scored = self._scores(preemptor.row, room, group)
            attempt = Attempt(self._rules, empty, scored, shared if common else [], self._counts)
            outcomes |= self._place_all(room, group, situation, attempt)
        return outcomes

    def _place_all(
        self, room: FlavorRoom, group: Sequence[PodSetAsk], situation: Situation, attempt: Attempt
    ) -> dict[str, Outcome]:
        """Equal asks on an equal state have one answer: heads of one cycle are often alike."""
        if attempt.assumed or attempt.scored or situation != workload_facts.PLAIN:
            return driver.place_all(room, group, situation, attempt)
        asked = (self._state.journal.version, room.name, attempt.empty, tuple(one.signature for one in group))
        known = self._answers.get(asked)
        if known is None:
            known = self._answers[asked] = (driver.place_all(room, group, situation, attempt), attempt.assumed)
            return known[0]
        attempt.assumed += known[1]
        return known[0]

    def _scores(self, row: WorkloadRow, room: FlavorRoom, group: Sequence[PodSetAsk]) -> bool:
        """Whether preferred affinity counts this time; the first pod set of the flavor stands for all."""
        if not self._rules.preferred_affinity:
            return False
        if not (self._rules.scores_once and row.uid):
            return True
        placed = (room.name, row.uid, group[0].name)
        seen = placed in self._scored
        self._scored.add(placed)
        return not seen


def _result(assignment: Assignment, name: str) -> PodSetResult:
    return next(result for result in assignment.pod_sets if result.name == name)


def _failure(outcomes: Mapping[str, Outcome]) -> str | None:
    """The pod set whose failure is told: the first."""
    return next((name for name, outcome in outcomes.items() if outcome.reason), None)


def _store(assignment: Assignment, outcomes: Mapping[str, Outcome]) -> None:
    for result in assignment.pod_sets:
        outcome = outcomes.get(result.name)
        if outcome is None:
            continue
        if outcome.assignment != result.topology:
            result.topology, result.written = outcome.assignment, None
        if result.delayed:
            result.delayed = READY


def _lower(result: PodSetResult, reason: str) -> None:
    result.reasons.append(reason)
    for choice in result.flavors.values():
        choice.mode = Mode.PREEMPT


def _give_up(result: PodSetResult) -> None:
    """Not even without other placed pods: no attempt on the chosen flavors fits.

    As in the reference, no further reason is told, so a pod set that fitted until now still has none.
    """
    for choice in result.flavors.values():
        choice.mode = Mode.NO_FIT
    chosen = {choice.flavor for choice in result.flavors.values()}
    # In place: pod sets of one group share choices and attempts.
    result.attempts[:] = [_unplaced(attempt) if attempt.flavor in chosen else attempt for attempt in result.attempts]


def _unplaced(attempt: Tried) -> Tried:
    hopeless = attempt.mode._replace(preemption=PreemptionMode.NO_FIT)
    return attempt._replace(mode=hopeless, reason=NoFitReason.TOPOLOGY_PLACEMENT_FAILED)


def usage(row: WorkloadRow, assignment: Assignment) -> list[PlacedPods]:
    """What the places of an assignment take, under each flavor of the pod set."""
    taken: list[PlacedPods] = []
    for pod_set, result in zip(row.pod_sets, assignment.pod_sets, strict=False):
        topology = result.topology
        if topology is None:
            continue
        if result.placed is None or result.placed[0] is not topology:
            flavors = {choice.flavor for choice in result.flavors.values()}
            result.placed = (topology, tuple(pod_set.placed(topology, flavors)))
        taken += result.placed[1]
    return taken


def net_usage(row: WorkloadRow, assignment: Assignment) -> list[PlacedPods]:
    """The same beyond what the workload holds already (spec/tas 13.3)."""
    if not row.placed:
        return usage(row, assignment)
    held = {(pods.flavor, pods.pod_set): pods for pods in row.placed}
    wanted = ((pods, held.get((pods.flavor, pods.pod_set))) for pods in usage(row, assignment))
    return [pods if before is None else pods.beyond(before) for pods, before in wanted]
