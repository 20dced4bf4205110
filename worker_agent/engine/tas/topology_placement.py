"""TopologyPlacement: the placement that a cycle consults, on the state's node rooms (spec/tas 4, 13).

One object serves one cycle (or one question): it remembers which pod sets were placed before, because preferred node
affinity counts for the first placement only.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

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
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.placement import asks_for_topology, is_explicit
from worker_agent.engine.tas.placer import Attempt
from worker_agent.engine.tas.pod_set_asks import READY, Surroundings
from worker_agent.engine.workload_info import PodSetRow, WorkloadRow

Asks = Mapping[str, Sequence[PodSetAsk]]
PLAIN: Final = Situation()


class TopologyPlacement:
    def __init__(self, state: QueueState) -> None:
        self._state = state
        self._topology = state.topology
        self._rules = state.policy.topology
        self._scored: set[tuple[str, str, str]] = set()
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
        return self._topology.holds(net_usage(preemptor.row, assignment))

    # -- one search ------------------------------------------------------------------------------------------------

    def _asks(
        self, preemptor: Preemptor, assignment: Assignment, replaced: WorkloadRow | None
    ) -> dict[str, list[PodSetAsk]]:
        row, queue, catalog = preemptor.row, preemptor.queue, self._state.catalog
        if not any(asks_for_topology(pod_set, queue, catalog.flavors) for pod_set in row.pod_sets):
            return {}
        elastic = self._elastic(row)
        around = Surroundings(
            queue,
            catalog.flavors,
            frozenset(name for name in queue.flavors if self._topology.levels(name)),
            catalog.checks,
            elastic,
        )
        previous = workload_facts.places(replaced) if elastic and replaced is not None else {}
        unhealthy = workload_facts.unhealthy_node(row.workload)
        return pod_set_asks.by_flavor(row, assignment, around, previous, unhealthy)

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
            attempt = Attempt(self._rules, empty, self._scores(preemptor.row, room, group), shared if common else [])
            outcomes |= self._place_all(room, group, situation, attempt)
        return outcomes

    def _place_all(
        self, room: FlavorRoom, group: Sequence[PodSetAsk], situation: Situation, attempt: Attempt
    ) -> dict[str, Outcome]:
        """Equal asks on an equal state have one answer: heads of one cycle are often alike."""
        if attempt.assumed or attempt.scored or situation != PLAIN:
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
    return [
        pods
        for pod_set, result in zip(row.pod_sets, assignment.pod_sets, strict=False)
        if result.topology is not None
        for pods in pod_set.placed(result.topology, {choice.flavor for choice in result.flavors.values()})
    ]


def net_usage(row: WorkloadRow, assignment: Assignment) -> list[PlacedPods]:
    """The same beyond what the workload holds already (spec/tas 13.3)."""
    held = {(pods.flavor, pods.pod_set): pods for pods in row.placed}
    wanted = ((pods, held.get((pods.flavor, pods.pod_set))) for pods in usage(row, assignment))
    return [pods if before is None else pods.beyond(before) for pods, before in wanted]
