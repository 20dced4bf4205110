"""Recorded scheduling cycles: who holds quota afterwards, who waits where and why (conformance/README)."""

from typing import Any

from tests.conformance import comparison, engine_objects
from tests.conformance.case import Document, Skip
from tests.engine_world import EngineWorld
from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.engine import policy, resources
from worker_agent.engine.conditions import Phase
from worker_agent.engine.plan import Admit
from worker_agent.engine.workload_info import WorkloadRow

IGNORED = ("creationTimestamp", "schedulingStats", "lastTransitionTime")


def run(case: Document) -> list[str]:
    """The given number of cycles, with status writes but without the controllers that would observe them."""
    _refuse_what_is_missing(case)
    configuration: Document = {"fairSharing": {}} if case["fairSharing"] else {}
    resolved = policy.resolve(case["featureGates"], configuration)
    world = EngineWorld(case["objects"], resolved, timestamps.parse(case["now"]))
    for number in range(1, case["cycles"] + 1):
        world.decide()
        if case["admissionError"]:
            _fail_admissions(world)
        for event in case.get("afterCycle") or ():
            if event["cycle"] == number:
                _after_cycle(world, event)
    return _differences(case["expect"], world)


def _refuse_what_is_missing(case: Document) -> None:
    if case.get("admissionFairSharing"):
        raise Skip("admission fair sharing is not part of the engine yet")
    if any(document["kind"] == "Topology" for document in case["objects"]):
        raise Skip("the case carries a Topology")


def _fail_admissions(world: EngineWorld) -> None:
    for step in world.plan or ():
        if isinstance(step, Admit):
            world.state.forget(step.key, world.now)
            status = world.workload(step.key)["status"]
            for written in ("admission", "conditions"):
                status.pop(written, None)


def _after_cycle(world: EngineWorld, event: Document) -> None:
    for key in event.get("deleteWorkloads") or ():
        world.state.delete_workload(Key.parse(key), world.now)
    for document in event.get("updateClusterQueuesInCache") or ():
        engine_objects.put(world.state, document, world.now)
    if event.get("requeueInadmissible"):
        for name in world.state.pending:
            world.state.wakeups.note(name)
        world.state.flush_requeues(world.now)


def _differences(expected: Document, world: EngineWorld) -> list[str]:
    found = comparison.differences(expected["assignments"], _assignments(world))
    queue = {n: sorted(map(str, p.active())) for n, p in world.state.pending.items() if p.has_active}
    parked = {n: sorted(map(str, p.parked)) for n, p in world.state.pending.items() if p.parked}
    found += _expect("queue", _sorted(expected["queue"]), queue)
    found += _expect("inadmissible", _sorted(expected["inadmissible"]), parked)
    for workload in expected["workloads"]:
        found += _workload(workload, world)
    return list(found)


def _workload(expected: Document, world: EngineWorld) -> list[str]:
    key = engine_objects.key_of(expected)
    mine = world.objects.get(("Workload", key))
    if mine is None:
        return [f"{key}: missing"]
    differences = comparison.differences(expected.get("status"), mine.get("status"), ignore=IGNORED)
    return [f"{key}: {difference}" for difference in differences]


def _assignments(world: EngineWorld) -> Document:
    rows = world.state.rows.values()
    return {str(row.key): _admission(row) for row in rows if row.phase in (Phase.RESERVED, Phase.ADMITTED)}


def _admission(row: WorkloadRow) -> Document:
    if row.workload.status.admission is not None:
        sets: list[Any] = [
            {"name": a.name, "flavors": a.flavors, "resourceUsage": a.resource_usage, "count": a.count}
            for a in row.workload.status.admission.pod_set_assignments
        ]
    else:
        sets = [
            {
                "name": pod_set.name,
                "flavors": pod_set.flavors,
                "resourceUsage": resources.documents(pod_set.requests),
                "count": pod_set.count,
            }
            for pod_set in row.pod_sets
        ]
    return {"clusterQueue": row.reserved_in, "podSetAssignments": sets}


def _sorted(places: Document | None) -> Document:
    return {name: sorted(keys) for name, keys in (places or {}).items() if keys}


def _expect(what: str, expected: Any, actual: Any) -> list[str]:
    return [] if expected == actual else [f"{what}: expected {expected}, got {actual}"]


RUNNERS = {
    "TestSchedule": run,
    "TestScheduleForFairSharing": run,
    "TestScheduleRecomputePreemptionTargets": run,
    "TestScheduleForPreserveFlavorScanProgress": run,
    "TestScheduleForAFS": run,
}
