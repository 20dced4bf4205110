"""Pending queues: order, parking, hashing, wake-ups (spec/engine 5)."""

import pytest

from tests.builders import admitted, cluster_queue, cohort, flavor, local_queue, namespace, single_queue, workload
from tests.engine_world import EngineWorld
from tests.unit.engine.tables import SearchTable
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.cycle import run_cycle
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.policy import Policy

EARLY, LATE = "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"
KEY = Key("ns", "w")


def full(strict: bool = False, policy: Policy | None = None) -> EngineWorld:
    """A queue of 4 cpu, all of them held by ``running``."""
    return EngineWorld([*single_queue(cpu=4, strict=strict), admitted("running", cpu=4)], policy or Policy())


def condition(type_: str, on: bool, reason: str, since: str = LATE) -> Document:
    return {"type": type_, "status": str(on), "reason": reason, "message": "", "lastTransitionTime": since}


def test_priority_then_age_then_uid_decide_the_order() -> None:
    world = EngineWorld(single_queue())
    world.put(
        workload("d", created=EARLY),
        workload("c", created=EARLY),
        workload("b", created=LATE, priority=1),
        workload("a", created=LATE),
    )
    assert world.active("q") == ["b", "c", "d", "a"]


def test_a_timed_out_workload_queues_behind_those_created_before_its_eviction() -> None:
    evicted = {"conditions": [condition("Evicted", True, "PodsReadyTimeout")]}
    world = EngineWorld(single_queue())
    world.put(workload("old", created=EARLY, status=evicted), workload("young", created="2026-01-01T08:30:00Z"))
    assert world.active("q") == ["young", "old"]


def test_the_creation_time_counts_when_configured() -> None:
    evicted = {"conditions": [condition("Evicted", True, "PodsReadyTimeout")]}
    world = EngineWorld(single_queue(), Policy(eviction_timestamp=False))
    world.put(workload("old", created=EARLY, status=evicted), workload("young", created="2026-01-01T08:30:00Z"))
    assert world.active("q") == ["old", "young"]


def test_a_best_effort_queue_parks_a_head_that_does_not_fit() -> None:
    world = full()
    world.put(workload("w", cpu=1))
    world.cycle()
    assert world.parked("q") == ["w"]


def test_a_strict_queue_keeps_it_on_top() -> None:
    world = full(strict=True)
    world.put(workload("w", cpu=1, created=EARLY), workload("small", cpu=1, created=LATE))
    world.cycle()
    assert world.active("q") == ["w", "small"]


def test_equal_workloads_are_parked_with_the_one_that_failed() -> None:
    world = full()
    world.put(*(workload(name, cpu=2) for name in "abc"), workload("other", cpu=3))
    world.cycle()
    assert world.parked("q") == ["a", "b", "c"]
    assert world.active("q") == ["other"]


def test_an_equal_newcomer_is_parked_unseen() -> None:
    world = full()
    world.put(workload("a", cpu=2))
    world.cycle()
    world.put(workload("b", cpu=2))
    assert world.parked("q") == ["a", "b"]


def test_labels_and_images_do_not_make_workloads_differ() -> None:
    world = full()
    other = workload("b", cpu=2)
    other["spec"]["podSets"][0]["template"]["metadata"] = {"labels": {"app": "x"}}
    other["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["image"] = "other"
    world.put(workload("a", cpu=2), other)
    world.cycle()
    assert world.parked("q") == ["a", "b"]


@pytest.mark.parametrize("different", [{"cpu": 3}, {"count": 2}, {"priority": 1}])
def test_requests_counts_and_priority_make_workloads_differ(different: dict[str, int]) -> None:
    world = full()
    world.put(workload("a", cpu=2, created=EARLY), workload("b", **{"cpu": 2, **different}, created=LATE))  # type: ignore[arg-type]
    world.cycle()
    assert len(world.parked("q")) == 1


def test_without_the_gate_each_workload_is_tried() -> None:
    world = full(policy=Policy(equivalence_hashing=False))
    world.put(workload("a", cpu=2), workload("b", cpu=2))
    world.cycle()
    assert len(world.parked("q")) == 1


def test_a_finished_workload_wakes_the_parked_ones() -> None:
    world = full()
    world.put(workload("w", cpu=1))
    world.cycle()
    world.finish("ns/running")
    assert world.active("q") == ["w"]


def test_a_wake_up_concerns_the_whole_tree_of_cohorts() -> None:
    world = EngineWorld(
        [
            namespace(),
            flavor(),
            cohort("left", parent="root"),
            cohort("right", parent="root"),
            cluster_queue("q", cohort="left", cpu=0),
            local_queue(),
            cluster_queue("other", cohort="right", cpu=4),
            local_queue("lo", "other"),
            admitted("running", cluster_queue="other", queue="lo", cpu=4),
        ]
    )
    world.put(workload("w", cpu=1))
    world.cycle()
    assert world.parked("q") == ["w"]
    world.finish("ns/running")
    assert world.active("q") == ["w"]


def test_a_queue_outside_of_the_tree_is_left_alone() -> None:
    world = full()
    world.put(cluster_queue("lone"), local_queue("ll", "lone"), admitted("x", cluster_queue="lone", queue="ll", cpu=4))
    world.put(workload("w", cpu=1))
    world.cycle()
    world.finish("ns/x")
    assert world.parked("q") == ["w"]


def test_a_changed_queue_wakes_its_parked_workloads() -> None:
    world = full()
    world.put(workload("w", cpu=1))
    world.cycle()
    world.put(cluster_queue("q", cpu=5))
    assert world.active("q") == ["w"]


def test_a_status_update_of_a_queue_wakes_nobody() -> None:
    world = full()
    world.put(workload("w", cpu=1))
    world.cycle()
    world.put({**cluster_queue("q", cpu=4), "status": {"pendingWorkloads": 1}})
    assert world.parked("q") == ["w"]


def test_changed_labels_of_a_flavor_wake_its_users() -> None:
    world = full()
    world.put(workload("w", cpu=1))
    world.cycle()
    world.put(flavor(labels={"a": "b"}))
    assert world.active("q") == ["w"]


def test_a_namespace_that_begins_to_match_wakes_the_queue() -> None:
    world = EngineWorld(single_queue(namespaceSelector={"matchLabels": {"team": "a"}}))
    world.put(workload("w"))
    world.cycle()
    world.put(namespace(team="a"))
    assert world.active("q") == ["w"]


def test_a_bulk_requeue_in_flight_sends_the_head_back_to_the_active_queue() -> None:
    world = full()
    world.put(workload("w", cpu=1))
    heads = world.state.heads(world.now)
    world.state.wakeups.note("q")
    world.state.flush_requeues(world.now)
    run_cycle(world.state, heads, world.policy, world.now)
    assert world.active("q") == ["w"]


@pytest.mark.parametrize("parked_change", ["labels", "status"])
def test_changes_that_cannot_help_leave_a_workload_parked(parked_change: str) -> None:
    world = full()
    world.put(workload("w", cpu=1))
    world.cycle()
    document = world.workload(KEY)
    if parked_change == "labels":
        document["metadata"]["labels"] = {"a": "b"}
    else:
        document["status"]["resourceRequests"] = []
    world.put(document)
    assert world.parked("q") == ["w"]


def test_a_changed_spec_brings_a_workload_back() -> None:
    world = full()
    world.put(workload("w", cpu=1))
    world.cycle()
    world.put(workload("w", cpu=2))
    assert world.active("q") == ["w"]


def test_backoff_parks_until_requeueing_is_allowed() -> None:
    world = EngineWorld(single_queue())
    world.put(workload("w", status={"conditions": [condition("Requeued", False, "PodsReadyTimeout")]}))
    assert world.parked("q") == ["w"]
    world.set(KEY, "Requeued", True, "BackoffFinished", "")
    world.observe()
    assert world.active("q") == ["w"]


def test_a_requeue_time_in_the_future_parks() -> None:
    world = EngineWorld(single_queue())
    world.put(workload("w", status={"requeueState": {"count": 1, "requeueAt": "2026-01-01T12:01:00Z"}}))
    assert world.parked("q") == ["w"]
    world.advance(60)
    world.state.wakeups.note("q")
    world.observe()
    assert world.active("q") == ["w"]


def test_a_preemptor_that_waits_for_victims_outranks_higher_priorities() -> None:
    world = EngineWorld([*single_queue(preemption={"withinClusterQueue": "LowerPriority"}), admitted("v", cpu=4)])
    world.search = SearchTable({"default": PreemptionMode.PREEMPT}, victims=["v"])
    world.put(workload("w", cpu=2, priority=1))
    world.cycle()
    world.put(workload("urgent", cpu=2, priority=9))
    assert world.active("q") == ["w", "urgent"]


def test_a_strict_queue_pins_nobody() -> None:
    objects = single_queue(strict=True, preemption={"withinClusterQueue": "LowerPriority"})
    world = EngineWorld([*objects, admitted("v", cpu=4)])
    world.search = SearchTable({"default": PreemptionMode.PREEMPT}, victims=["v"])
    world.put(workload("w", cpu=2, priority=1))
    world.cycle()
    world.put(workload("urgent", cpu=2, priority=9))
    assert world.active("q") == ["urgent", "w"]


def test_a_priority_change_reorders_an_active_workload() -> None:
    world = EngineWorld(single_queue())
    world.put(workload("a", created=EARLY), workload("b", created=LATE))
    world.put(workload("b", created=LATE, priority=5))
    assert world.active("q") == ["b", "a"]
    assert [head.key.name for head in world.state.heads(world.now)] == ["b"]


def test_many_departures_do_not_pile_up_in_the_heap() -> None:
    world = EngineWorld(single_queue())
    names = [f"w{number}" for number in range(300)]
    world.put(*(workload(name) for name in names))
    for name in names[1:]:
        world.delete(f"ns/{name}")
    assert len(world.state.pending["q"]._heap) < 100
    assert [head.key.name for head in world.state.heads(world.now)] == ["w0"]
