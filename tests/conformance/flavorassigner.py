"""Recorded flavor assignments: modes, choices, resume state, reasons and messages (conformance/README)."""

from typing import Any

from tests.conformance import engine_objects, quota_nodes
from tests.conformance.case import Document
from worker_agent.api import quantity, timestamps
from worker_agent.api.workload import Workload
from worker_agent.engine import flavors, policy, workload_info
from worker_agent.engine.assignment import Assignment, PodSetResult
from worker_agent.engine.flavor_request import FlavorRequest
from worker_agent.engine.modes import Mode, NoFitReason, PreemptionMode
from worker_agent.engine.preemption.search import Preemptor, Simulation, Target
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.slice_replacement import HeldPodSet, Replaced
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas.topology_placement import TopologyPlacement

NOW = timestamps.parse("2026-01-01T00:00:00Z")
LENIENT = ("TestReclaimBeforePriorityPreemption", "TestHierarchical", "TestAssignFlavorsWithAllowedFlavors")
"""Tests in which the reference asserts modes and chosen flavors only."""

_MODES = {Mode.NO_FIT: "NoFit", Mode.PREEMPT: "Preempt", Mode.DEFERRED_FIT: "DeferredFit", Mode.FIT: "Fit"}
_POSSIBILITIES = {
    "NoCandidates": PreemptionMode.NO_CANDIDATES,
    "Preempt": PreemptionMode.PREEMPT,
    "Reclaim": PreemptionMode.RECLAIM,
}


class Oracle:
    """What simulating preemption would say, from the case; a pair that is not listed can be preempted."""

    def __init__(self, answers: list[Document]) -> None:
        self._answers = {
            (answer["flavor"], answer["resource"]): Simulation(
                _POSSIBILITIES[answer["possibility"]], answer["borrowingAfterSimulation"]
            )
            for answer in answers
        }

    def simulate(self, preemptor: Preemptor, fr: FlavorResource, amount: int, level: int) -> Simulation:
        return self._answers.get(fr, Simulation(PreemptionMode.PREEMPT, 0))

    def targets(self, preemptor: Preemptor, assignment: Assignment) -> list[Target]:
        return []


def run(case: Document) -> list[str]:
    configuration: Document = {"fairSharing": {}} if case["fairSharing"] else {}
    state = ClusterState(policy.resolve(case["featureGates"], configuration))
    engine_objects.load(state, case["objects"], NOW)
    for name, usage in (case.get("usage") or {}).items():
        state.add_usage(state.cluster_queues[name], quota_nodes.flat(usage))
    for name in case.get("deletedResourceFlavorsAfterSnapshot") or ():
        state.catalog.flavors.pop(name)
    row = workload_info.build(engine_objects.decode(case["workload"], Workload), state.shapes)
    queue = state.cluster_queues[case["clusterQueue"]]
    oracle = Oracle(case.get("preemptionSimulation") or [])
    request = FlavorRequest(
        row, queue, state, timestamps.micros(NOW), oracle, TopologyPlacement(state), cycle=1, replaced=_replaced(case)
    )
    return _differences(case, flavors.assign(request))


def _replaced(case: Document) -> Replaced | None:
    recorded = case.get("preemptWorkloadSlice")
    if not recorded:
        return None
    return Replaced(None, tuple(HeldPodSet(p["flavors"], p["requests"]) for p in recorded["totalRequests"]))


def _differences(case: Document, assignment: Assignment) -> list[str]:
    expected, lenient = case["expect"], case["test"] in LENIENT
    found = _expect("representativeMode", expected["representativeMode"], _MODES[assignment.mode])
    found += _expect("pod sets", [p["name"] for p in expected["podSets"]], [p.name for p in assignment.pod_sets])
    for wanted, pod_set in zip(expected["podSets"], assignment.pod_sets, strict=False):
        found += _pod_set(wanted, pod_set, lenient)
    if lenient:
        return found
    found += _expect("borrowing", expected.get("borrowing", 0), assignment.borrowing)
    found += _expect("usage", expected["usage"], quota_nodes.nested(assignment.usage))
    found += _expect("message", expected["message"], assignment.message)
    found += _expect("lastTriedFlavorIdx", expected["lastTriedFlavorIdx"], list(assignment.scan.tried))
    reason = assignment.no_fit_reason if assignment.mode is Mode.NO_FIT else ""
    return found + _expect("noFitReason", expected["noFitReason"], reason)


def _pod_set(expected: Document, pod_set: PodSetResult, lenient: bool) -> list[str]:
    name = pod_set.name
    wanted = {r: choice["name"] for r, choice in (expected.get("flavors") or {}).items()}
    found = _expect(f"{name}.flavors", wanted, {r: choice.flavor for r, choice in pod_set.flavors.items()})
    found += _expect(f"{name}.mode", expected["representativeMode"], _MODES[pod_set.mode])
    if lenient or found:
        return found
    for resource, choice in (expected.get("flavors") or {}).items():
        mine = pod_set.flavors[resource]
        found += _expect(f"{name}.{resource}.mode", choice["mode"], _MODES[mine.mode])
        found += _expect(f"{name}.{resource}.tried", choice["triedFlavorIdx"], mine.tried)
        found += _expect(f"{name}.{resource}.borrow", choice.get("borrow", 0), mine.level)
    requests = {r: quantity.value(r, amount) for r, amount in (expected.get("requests") or {}).items()}
    found += _expect(f"{name}.requests", requests, _requests(expected, pod_set))
    found += _expect(f"{name}.count", expected["count"], pod_set.count)
    found += _expect(f"{name}.reasons", sorted(expected["status"]["reasons"]), sorted(pod_set.reasons))
    return found + _attempts(expected, pod_set)


def _requests(expected: Document, pod_set: PodSetResult) -> Any:
    return {r: n for r, n in pod_set.requests.items() if n or r in (expected.get("requests") or {})}


def _attempts(expected: Document, pod_set: PodSetResult) -> list[str]:
    """Each attempted flavor with its level and reason; the order is free."""
    wanted = {(a["flavor"], a["noFitReason"]) for a in expected.get("attempts") or ()}
    mine = {(a.flavor, a.reason.text if a.reason is not NoFitReason.NONE else "") for a in pod_set.attempts}
    return _expect(f"{pod_set.name}.attempts", wanted, mine)


def _expect(what: str, expected: Any, actual: Any) -> list[str]:
    return [] if expected == actual else [f"{what}: expected {expected}, got {actual}"]


RUNNERS = {
    "TestAssignFlavors*": run,
    "TestDeletedFlavors": run,
    "TestHierarchical": run,
    "TestIsNoFitDueToCapacityAndLimits": run,
    "TestReclaimBeforePriorityPreemption": run,
}
