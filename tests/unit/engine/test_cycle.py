"""One cycle: order, in-cycle re-check, reserved capacity, outcomes (spec/engine 7)."""

import pytest

from tests.builders import (
    admission_check,
    admitted,
    cluster_queue,
    flavor,
    local_queue,
    namespace,
    quota,
    single_queue,
    workload,
)
from tests.conformance import engine_objects
from tests.engine_world import EngineWorld
from tests.unit.engine.tables import SearchTable
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.nomination import Outcome
from worker_agent.engine.plan import Requeue
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption.search import NO_PREEMPTION
from worker_agent.engine.processing import NO_LONGER_FITS, capacity_to_reserve
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.scan import ScanState

EARLY, LATE = "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"


def queues(policy: Policy | None = None, **nominal: object) -> EngineWorld:
    """One cohort of ClusterQueues x, y, z ... with LocalQueues of the same names."""
    objects: list[Document] = [namespace(), flavor()]
    for name, cpu in nominal.items():
        fields = cpu if isinstance(cpu, dict) else {"cpu": cpu}
        objects += [cluster_queue(name, cohort="c", **fields), local_queue(name, name)]
    return EngineWorld(objects, policy or Policy())


def requeued(world: EngineWorld, name: str) -> Requeue:
    assert world.plan is not None
    return next(step for step in world.plan.requeues if step.key.name == name)


def attempts(world: EngineWorld) -> list[str]:
    return [key.name for key in world.cycle().attempts]


@pytest.mark.parametrize(
    ("by_priority", "expected"),
    [(True, ["c", "b", "a"]), (False, ["b", "c", "a"])],
    ids=["priority counts", "priority does not count"],
)
def test_entries_are_ordered_by_level_priority_and_age(by_priority: bool, expected: list[str]) -> None:
    world = queues(Policy(sort_priority_within_cohort=by_priority), x=1, y=9, z=9)
    world.put(
        workload("a", queue="x", cpu=2, priority=100, created=EARLY),
        workload("b", queue="y", cpu=1, priority=0, created=EARLY),
        workload("c", queue="z", cpu=1, priority=5, created=LATE),
    )
    assert attempts(world) == expected


@pytest.mark.parametrize(("cpu", "admissions"), [(3, ["x"]), (2, ["x", "y"])])
def test_two_heads_never_share_the_same_borrowed_quota(cpu: int, admissions: list[str]) -> None:
    """Example 32."""
    world = queues(x=4, y=4, z=4)
    world.put(
        admitted("in-x", cluster_queue="x", queue="x", cpu=4), admitted("in-y", cluster_queue="y", queue="y", cpu=4)
    )
    world.put(workload("x", queue="x", cpu=cpu, created=EARLY), workload("y", queue="y", cpu=cpu, created=LATE))
    assert [step.key.name for step in world.cycle().admissions] == admissions


def test_a_skipped_head_goes_back_to_its_active_queue() -> None:
    world = queues(x=4, y=4, z=4)
    world.put(
        admitted("in-x", cluster_queue="x", queue="x", cpu=4), admitted("in-y", cluster_queue="y", queue="y", cpu=4)
    )
    world.put(workload("a", queue="x", cpu=3, created=EARLY), workload("b", queue="y", cpu=3, created=LATE))
    world.cycle()
    skipped = requeued(world, "b")
    assert (skipped.outcome, skipped.message, skipped.reason) == (Outcome.SKIPPED, NO_LONGER_FITS, "WaitingForQuota")
    assert world.active("y") == ["b"]


@pytest.mark.parametrize(("reclaim", "admissions"), [("LowerPriority", []), ("Any", ["y"])])
def test_a_preemptor_without_victims_keeps_its_quota_from_later_entries(reclaim: str, admissions: list[str]) -> None:
    """Example 33, and its counterpart: a queue that can always reclaim keeps nothing."""
    preemption = {"reclaimWithinCohort": reclaim}
    world = queues(x={"cpu": 4, "preemption": preemption}, y=4, z=0)
    world.search = NO_PREEMPTION
    world.put(
        admitted("in-y", cluster_queue="y", queue="y", cpu=2), admitted("in-z", cluster_queue="z", queue="z", cpu=4)
    )
    world.put(workload("x", queue="x", cpu=4, created=EARLY), workload("y", queue="y", cpu=2, created=LATE))
    assert [step.key.name for step in world.cycle().admissions] == admissions
    assert requeued(world, "x").requeue_reason is RequeueReason.PREEMPTION_NO_CANDIDATES


@pytest.mark.parametrize(
    ("limit", "borrows", "expected"), [(None, False, 40), (5, True, 7), (None, True, 10)], ids=["own", "limit", "free"]
)
def test_how_much_capacity_a_blocked_preemptor_reserves(limit: int | None, borrows: bool, expected: int) -> None:
    """Example 11."""

    nominal, used, asked = (10, 8, 10) if borrows else (100, 60, 50)
    of_queue = cluster_queue("q", {"f": {"units": quota(nominal, borrowing=limit)}}, cohort="c")
    queue = EngineWorld([of_queue]).state.cluster_queues["q"]
    queue.node.usage = {("f", "units"): used}
    assignment = Assignment([], {("f", "units"): asked}, int(borrows), ScanState([], 0, 0, ""))
    assert capacity_to_reserve(queue, assignment) == {("f", "units"): expected}


def test_an_admission_says_where_quota_was_reserved() -> None:
    world = EngineWorld(single_queue())
    world.put(workload("w", cpu=2, count=2))
    step = world.cycle().admissions[0]
    assert step.message == "Quota reserved in ClusterQueue q"
    assert step.admission == {
        "clusterQueue": "q",
        "podSetAssignments": [
            {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "4"}, "count": 2}
        ],
    }


def test_flavors_that_were_no_plain_fit_are_told() -> None:
    world = queues(x=1, y=9)
    world.put(workload("w", queue="x", cpu=2))
    assert world.cycle().admissions[0].flavors_considered == "main: default(Fit;borrow=1)"


@pytest.mark.parametrize(("state", "expected"), [("Ready", True), ("Pending", False), (None, False)])
def test_admitted_at_once_only_when_all_required_checks_are_ready(state: str | None, expected: bool) -> None:
    strategy = {"admissionChecks": [{"name": "check"}]}
    world = EngineWorld([admission_check("check"), *single_queue(admissionChecksStrategy=strategy)])
    status = {"admissionChecks": [{"name": "check", "state": state}]} if state else {}
    world.put(workload("w", status=status))
    assert world.cycle().admissions[0].admitted is expected


def test_a_workload_refused_by_a_check_is_not_nominated() -> None:
    world = EngineWorld(single_queue())
    world.put(workload("w", status={"admissionChecks": [{"name": "check", "state": "Retry"}]}))
    assert world.cycle().attempts == ()
    assert world.message("ns/w") == "The workload has failed admission checks"
    assert world.reason("ns/w") == "PendingEvaluation"


def test_a_namespace_that_does_not_match_parks_even_in_a_strict_queue() -> None:
    selector = {"matchLabels": {"team": "a"}}
    world = EngineWorld(single_queue(strict=True, namespaceSelector=selector))
    world.put(workload("w"))
    world.cycle()
    assert world.message("ns/w") == "workload namespace doesn't match ClusterQueue selector"
    assert world.parked("q") == ["w"]


def test_a_missing_namespace_is_told() -> None:
    world = EngineWorld(single_queue())
    world.state.delete_namespace("ns")
    world.put(workload("w"))
    world.cycle()
    assert world.message("ns/w").startswith('workload namespace "ns" does not exist: ')
    assert world.reason("ns/w") == "Misconfigured"


def test_requests_above_limits_are_refused() -> None:
    world = EngineWorld(single_queue())
    document = workload("w")
    container = document["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    world.put(document)
    world.cycle()
    assert world.message("ns/w") == (
        "resources validation failed: spec.podSets[0].template.spec.containers[0]: "
        'Invalid value: ["cpu"]: requests must not exceed its limits'
    )


def test_limit_ranges_are_enforced() -> None:
    limits = [{"type": "Container", "max": {"cpu": "1"}}]
    world = EngineWorld(single_queue())
    world.put({"kind": "LimitRange", "metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}})
    world.put(workload("w", cpu=2))
    world.cycle()
    assert world.message("ns/w") == (
        "resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec.containers[0]: "
        'Invalid value: ["cpu"]: requests must not be above the limitRange max'
    )


def test_a_parked_workload_is_told_what_it_asks_for() -> None:
    world = EngineWorld(single_queue(cpu=1))
    world.put(workload("w", cpu="1500m", count=3))
    assert world.cycle().requeues[0].resource_requests == ({"name": "main", "resources": {"cpu": "4500m"}},)


def test_preemption_names_victims_and_keeps_the_preemptor_waiting() -> None:
    world = EngineWorld(single_queue(preemption={"withinClusterQueue": "LowerPriority"}))
    world.put(admitted("victim", cpu=4))
    world.search = SearchTable({"default": PreemptionMode.PREEMPT}, victims=["victim"])
    world.put(workload("w", cpu=2, priority=9))
    step = world.cycle().preemptions[0]
    assert (step.key, step.preemptor) == (Key("ns", "victim"), Key("ns", "w"))
    assert step.message == (
        "Preempted to accommodate a workload (UID: uid-w, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; "
        "preemptor path: /q; preemptee path: /q"
    )
    assert world.active("q") == ["w"]
    assert world.cycle().preemptions == ()


def test_a_closed_preemption_gate_holds_the_preemption_back() -> None:
    world = EngineWorld(
        single_queue(preemption={"withinClusterQueue": "LowerPriority"}), Policy(orchestrated_preemption=True)
    )
    world.put(admitted("victim", cpu=4))
    world.search = SearchTable({"default": PreemptionMode.PREEMPT}, victims=["victim"])
    world.put(workload("w", cpu=2, preemptionGates=[{"name": "g"}]))
    plan = world.cycle()
    assert plan.preemptions == ()
    assert (plan.requeues[0].outcome, plan.requeues[0].reason) == (Outcome.GATED, "AdmissionGated")


def test_admission_waits_for_pods_ready_of_others_when_configured() -> None:
    world = EngineWorld([*single_queue(), admitted("running", cpu=1)], Policy(block_admission=True))
    world.put(workload("w"))
    plan = world.cycle()
    assert plan.blocked
    assert world.reason("ns/w") == "WaitingForPodsReady"
    world.set(Key("ns", "running"), "PodsReady", True, "Started", "")
    world.observe()
    assert len(world.cycle().admissions) == 1


def test_without_observability_the_old_reasons_are_written() -> None:
    world = EngineWorld(single_queue(cpu=1), Policy(observability=False))
    world.put(workload("w", cpu=2))
    assert world.cycle().requeues[0].reason == "Pending"


def test_a_head_that_was_deleted_in_flight_is_not_requeued() -> None:
    world = EngineWorld(single_queue(cpu=1))
    world.put(workload("w", cpu=2))
    heads = world.state.heads(world.now)
    world.state.delete_workload(Key("ns", "w"), world.now)
    run_cycle(world.state, heads, world.policy, world.now)
    assert len(world.state.pending["q"]) == 0


def test_objects_load_in_any_order() -> None:
    forward = EngineWorld([*single_queue(), workload("w")])
    state = EngineWorld([]).state
    for document in reversed([*single_queue(), workload("w")]):
        engine_objects.put(state, document, forward.now)
    assert [head.key for head in state.heads(forward.now)] == [head.key for head in forward.state.heads(forward.now)]
