"""Recorded scheduling cycles: who holds quota afterwards, who waits where and why (conformance/README)."""

from typing import Any

from tests.conformance import comparison, engine_objects
from tests.conformance.case import Document
from tests.conformance.scheduler_world import SchedulerWorld, comparable
from worker_agent.api import quantity
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import ordering, policy, workload_info
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.nomination import Entry, Outcome, Search
from worker_agent.engine.pod_shape import ShapeSource
from worker_agent.engine.preemption.search import NO_PREEMPTION
from worker_agent.engine.processing import Processing
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.scan import ScanState
from worker_agent.engine.tas.placement import NO_PLACEMENT

UNCHECKED = ("lastTransitionTime", "unhealthyNodes")
"""Not compared where the real clock was used; failed nodes may be a merge leftover there."""


def run(case: Document) -> list[str]:
    """The given number of cycles, with status writes but without the controllers that would observe them."""
    world = SchedulerWorld(case, policy.resolve(case["featureGates"], _configuration(case)))
    _seed_usage(case, world)
    found: list[str] = []
    for number in range(1, case["cycles"] + 1):
        world.cycle()
        if number == 1 and "expectAfterCycle1" in case:
            found += [f"after cycle 1: {line}" for line in _differences(case["expectAfterCycle1"], world)]
            world.events.clear()
        for event in case.get("afterCycle") or ():
            if event["cycle"] == number:
                world.after_cycle(event)
    return found + _differences(case["expect"], world)


def _configuration(case: Document) -> Document:
    configuration: Document = {"fairSharing": {}} if case["fairSharing"] else {}
    if case.get("admissionFairSharing"):
        configuration["admissionFairSharing"] = case["admissionFairSharing"]
    if case.get("resourceTransformations"):
        configuration["resources"] = {"transformations": case["resourceTransformations"]}
    return configuration


def _seed_usage(case: Document, world: SchedulerWorld) -> None:
    """LocalQueues deleted from the API in the meantime are still known to the engine: nothing to do for them."""
    book = world.state.usage_book
    for name, resources in (case.get("initialLocalQueueUsage") or {}).items():
        if book is not None:
            consumed = {resource: quantity.nanos(amount) for resource, amount in resources.items()}
            book.history.seed(Key.parse(name), consumed, int(world.now.timestamp() * 1e6))


def _differences(expected: Document, world: SchedulerWorld) -> list[str]:
    active, parked = world.queues()
    found = _expect("queue", _sorted(expected["queue"]), active)
    found += _expect("inadmissible", _sorted(expected["inadmissible"]), parked)
    if "assignments" in expected:
        found += comparison.differences(expected["assignments"], world.holdings())
    wanted = {str(engine_objects.key_of(o)): _content(o) for o in expected["workloads"]}
    actual = {str(key): _content(o) for key, o in world.workloads.items()}
    ignored = () if expected.get("workloadsChecked", True) else UNCHECKED
    found += comparison.differences(wanted, actual, zeros_absent=True, ignore=ignored)
    if expected.get("eventsChecked", True):
        found += comparison.multiset(_events(expected["events"], expected), _events(world.events, expected), "event")
    if expected.get("skippedPreemptions") is not None:
        skips = {name: count for name, count in expected["skippedPreemptions"].items() if count}
        found += _expect("skippedPreemptions", skips, world.plan.preemption_skips)
    if expected.get("preemptionTargetRecomputations"):
        recorded = expected["preemptionTargetRecomputations"]
        found += _expect("preemptionTargetRecomputations", recorded, world.plan.recomputations)
    return found


def _content(document: Document) -> Document:
    """Spec and status. Not compared (README): ``resourceRequests`` left over beside an admission, times of checks."""
    status = dict(document.get("status") or {})
    if status.get("admission"):
        status.pop("resourceRequests", None)
    checks = status.get("admissionChecks") or ()
    status["admissionChecks"] = [{**check, "lastTransitionTime": None} for check in checks]
    return {"spec": document["spec"], "status": status}


def _events(events: list[Document] | None, expected: Document) -> list[Document]:
    told = [comparable(event) for event in events or ()]
    if expected.get("eventMessagesChecked", True):
        return told
    return [{name: value for name, value in event.items() if name != "message"} for event in told]


def _sorted(places: Document | None) -> Document:
    return {name: sorted(keys) for name, keys in (places or {}).items() if keys}


def _expect(what: str, expected: Any, actual: Any) -> list[str]:
    return [] if expected == actual else [f"{what}: expected {expected}, got {actual}"]


# -- what becomes of a head ----------------------------------------------------------------------------------------


def requeue_and_update(case: Document) -> list[str]:
    """One head with a verdict: where it goes, what is written, and that saying it again writes nothing."""
    world = SchedulerWorld({**case, "now": "2026-01-01T00:00:00Z"}, policy.resolve(case["featureGates"]))
    head, recorded, writes = world.state.heads(world.now)[0], case["entry"], 0
    entry = Entry(head.row, head.cluster_queue)
    entry.outcome = Outcome(recorded["status"])
    reason = RequeueReason.GENERIC if entry.outcome is Outcome.NOT_NOMINATED else RequeueReason.FAILED_AFTER_NOMINATION
    if entry.outcome in (Outcome.NOMINATED, Outcome.ASSUMED):
        world.state.requeue(head.row, reason)
    else:
        entry.refuse(recorded["inadmissibleMsg"], recorded["quotaReservedReason"], reason)
        plan = Processing(world.state, world.policy, Search(NO_PREEMPTION, NO_PLACEMENT), 0).finish([entry])
        writes = sum(world.requeue(step) for step in plan.requeues * 2)
    active, parked = world.queues()
    expected = case["expect"]
    status = world.workloads[entry.row.key].get("status")
    return [
        *_expect("queue", _sorted(expected["queue"]), active),
        *_expect("inadmissible", _sorted(expected["inadmissible"]), parked),
        *_expect("statusUpdates", expected["statusUpdates"], writes),
        *comparison.differences(expected["status"], status, ignore=("lastTransitionTime",), zeros_absent=True),
    ]


# -- order inside a cycle ------------------------------------------------------------------------------------------


def entry_ordering(case: Document) -> list[str]:
    timestamp = case.get("podsReadyRequeuingTimestamp") or "Eviction"
    resolved = policy.resolve(
        case["featureGates"], {"waitForPodsReady": {"requeuingStrategy": {"timestamp": timestamp}}}
    )
    entries = [_entry(recorded, resolved) for recorded in case["entries"]]
    order = [entry.row.key.name for entry in ordering.classical(entries, resolved)]
    return _expect("order", case["expect"]["order"], order)


def _entry(recorded: Document, resolved: policy.Policy) -> Entry:
    document = recorded["workload"]
    document["spec"]["podSets"] = document["spec"].get("podSets") or []
    entry = Entry(workload_info.build(engine_objects.decode(document, Workload), ShapeSource(resolved)), "")
    entry.assignment = Assignment([], {}, recorded["borrowing"], ScanState([], 0, 0, ""))
    entry.is_preemptor = recorded["isPreemptor"]
    return entry


RUNNERS = {
    "TestSchedule": run,
    "TestScheduleForFairSharing": run,
    "TestScheduleRecomputePreemptionTargets": run,
    "TestScheduleForPreserveFlavorScanProgress": run,
    "TestScheduleForAFS": run,
    "TestLastSchedulingContext": run,
    "TestScheduleConcurrentAdmission": run,
    "TestScheduleForTAS*": run,
    "TestEntryOrdering": entry_ordering,
    "TestRequeueAndUpdate": requeue_and_update,
}
