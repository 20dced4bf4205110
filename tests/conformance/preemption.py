"""Recorded preemption decisions: victims and their reasons, what is written about them, the order of candidates."""

from collections.abc import Callable, Iterator
from datetime import datetime

from tests.conformance import comparison, engine_objects
from tests.conformance.case import Document
from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import intent_effects, policy, resources, scheduling_writes, workload_info
from worker_agent.engine.assignment import Assignment, FlavorChoice, PodSetResult
from worker_agent.engine.intents import ApplyStatus, RecordEvent
from worker_agent.engine.modes import Mode
from worker_agent.engine.plan import Preempt
from worker_agent.engine.preemption import issue, ranking, victims
from worker_agent.engine.preemption.search import Preemptor, Target
from worker_agent.engine.resources import Amounts
from worker_agent.engine.scan import ScanState
from worker_agent.engine.state import ClusterState
from worker_agent.engine.workload_info import WorkloadRow

_MODES = {"Preempt": Mode.PREEMPT, "Fit": Mode.FIT, "NoFit": Mode.NO_FIT, "DeferredFit": Mode.DEFERRED_FIT}


def search(case: Document) -> list[str]:
    """The victims of one incoming workload with a given assignment, and what is written and told about them."""
    configuration = {"fairSharing": case["fairSharing"]} if case["fairSharing"] is not None else {}
    state = ClusterState(policy.resolve(case["featureGates"], configuration))
    now = timestamps.parse(case["now"])
    engine_objects.load(state, case["objects"], now)
    row = workload_info.build(engine_objects.decode(case["incoming"], Workload), state.shapes)
    queue = state.cluster_queues[case["targetClusterQueue"]]
    preemptor = Preemptor(row, queue, state, timestamps.micros(now))
    found = victims.search_of(state.policy).targets(preemptor, _assignment(case["assignment"], row))
    expected = [(t["workload"], t["reason"]) for t in case["expect"]["targets"] or ()]
    differences = comparison.multiset(expected, [(str(t.row.key), t.reason) for t in found], "target")
    if "workloads" in case["expect"]:
        differences += _written(case, found, list(issue.steps(row, queue, found, state)), now)
    return differences


def _assignment(document: Document, row: WorkloadRow) -> Assignment:
    """The recorded choice of flavors; amounts are the workload's own totals."""
    results: list[PodSetResult] = []
    usage: Amounts = {}
    for pod_set, recorded in zip(row.pod_sets, document["podSets"], strict=True):
        result = PodSetResult(pod_set.name, recorded["count"], dict(pod_set.requests))
        for name, choice in (recorded["flavors"] or {}).items():
            result.flavors[name] = FlavorChoice(choice["name"], _MODES[choice["mode"]], 0)
            fr = (choice["name"], name)
            usage[fr] = resources.plus(usage.get(fr, 0), pod_set.requests.get(name, 0))
        results.append(result)
    return Assignment(results, usage, document.get("borrowing", 0), ScanState([], 0, 0, ""))


def _written(case: Document, found: list[Target], steps: list[Preempt], now: datetime) -> Iterator[str]:
    world = {engine_objects.key_of(o): o for o in case["objects"] if o["kind"] == "Workload"}
    events: list[Document] = []
    for step in steps:
        intents = scheduling_writes.preempt(world[step.key], step, now)
        intents.append(scheduling_writes.preemptor_event(case["incoming"], step))
        for intent in intents:
            if isinstance(intent, RecordEvent):
                events.append(_event(intent))
            elif isinstance(intent, ApplyStatus):
                world[step.key] = intent_effects.status_after(world[step.key], intent, now)
    yield from comparison.multiset(case["expect"].get("events") or [], events, "event")
    yield from comparison.differences(
        comparison.by_key(case["expect"]["workloads"]), comparison.by_key(world.values()), zeros_absent=True
    )
    if case["expect"]["preempted"] != len(found):
        yield f"preempted: expected {case['expect']['preempted']}, got {len(found)}"


def _event(intent: RecordEvent) -> Document:
    return {"type": intent.type, "reason": intent.reason, "key": str(intent.key), "message": intent.message}


def candidates_ordering(case: Document) -> list[str]:
    resolved = policy.resolve(case["featureGates"])
    shapes = ClusterState(resolved).shapes
    rows: list[WorkloadRow] = []
    usage: dict[Key, float | None] = {}
    for candidate in case["candidates"]:
        row = workload_info.build(engine_objects.decode(candidate["workload"], Workload), shapes)
        rows.append(row)
        usage[row.queue] = candidate["localQueueFSUsage"]
    known: Callable[[Key], float | None] | None = usage.get if case["admissionFairSharingEnabled"] else None
    ordered = [row.key.name for row in ranking.in_order(rows, case["preemptorClusterQueue"], known)]
    return [] if ordered == case["expect"]["order"] else [f"order: expected {case['expect']['order']}, got {ordered}"]


RUNNERS = {
    "TestPreemption": search,
    "TestHierarchicalPreemptions": search,
    "TestFairPreemptions": search,
    "TestCandidatesOrdering": candidates_ordering,
}
