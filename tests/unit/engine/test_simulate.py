"""Verdicts for the hub: the cycle's own functions, nothing changed."""

from typing import Any

import pytest

from tests.builders import admitted, cluster_queue, local_queue, namespace, single_queue, workload
from tests.conformance.engine_objects import decode
from tests.engine_world import EngineWorld
from tests.unit.engine.tables import SearchTable
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine.modes import PreemptionMode
from worker_agent.engine.simulate import Outlook, Verdict, would_admit

EARLY = "2026-01-01T08:00:00Z"


def verdict(world: EngineWorld, **fields: Any) -> Verdict:
    wanted = decode(workload("new", **fields), Workload)
    return would_admit(world.state, wanted, world.policy, world.now, world.search)


def test_what_fits_comes_with_its_admission() -> None:
    found = verdict(EngineWorld(single_queue(cpu=4)), cpu=4)
    assert found.kind is Outlook.FITS
    assert found.assignment is not None
    assert found.assignment["clusterQueue"] == "q"


def test_the_verdict_is_what_the_cycle_then_does() -> None:
    world = EngineWorld(single_queue(cpu=4))
    found = verdict(world, cpu=2, count=2)
    world.put(workload("new", cpu=2, count=2))
    assert world.cycle().admissions[0].admission == found.assignment


def test_what_can_never_fit_is_impossible() -> None:
    found = verdict(EngineWorld(single_queue(cpu=4)), cpu=5)
    assert (found.kind, found.reason) == (Outlook.IMPOSSIBLE, "ExceedsMaxQuota")


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], "LocalQueue lq doesn't exist"),
        ([local_queue()], "ClusterQueue q doesn't exist"),
        ([*single_queue(), local_queue(stopPolicy="Hold")], "LocalQueue lq is inactive"),
        (single_queue(stopPolicy="Hold"), "ClusterQueue q is inactive"),
        ([*single_queue(namespaceSelector=None)], "workload namespace doesn't match ClusterQueue selector"),
    ],
)
def test_what_stands_in_the_way_for_good_is_named(objects: list[Document], message: str) -> None:
    found = verdict(EngineWorld([namespace(), *objects]))
    assert (found.kind, found.message) == (Outlook.IMPOSSIBLE, message)


def test_a_full_queue_means_waiting_behind_those_that_rank_before() -> None:
    world = EngineWorld([*single_queue(cpu=4), admitted("running", cpu=4)])
    world.put(workload("first", cpu=3, created=EARLY), workload("low", cpu=1, priority=-1))
    world.cycle()
    found = verdict(world, cpu=1)
    assert (found.kind, found.position, found.demand_ahead) == (Outlook.WAITS, 1, {"cpu": 3000})
    assert found.message.endswith("1 more needed")


def test_those_ahead_in_the_active_queue_take_their_room_first() -> None:
    world = EngineWorld(single_queue(cpu=4))
    world.put(workload("first", cpu=3, created=EARLY))
    assert verdict(world, cpu=1).kind is Outlook.FITS
    assert verdict(world, cpu=2).kind is Outlook.WAITS


def test_nothing_passes_a_blocked_head_of_a_strict_queue() -> None:
    world = EngineWorld([*single_queue(cpu=4, strict=True), admitted("running", cpu=2)])
    world.put(workload("first", cpu=3, created=EARLY))
    found = verdict(world, cpu=1)
    assert (found.kind, found.position) == (Outlook.WAITS, 1)


def test_many_equal_workloads_that_do_not_fit_are_passed_in_one_go() -> None:
    world = EngineWorld([*single_queue(cpu=4), admitted("running", cpu=2)])
    world.put(*(workload(f"big-{number}", cpu=3, created=EARLY) for number in range(100)))
    assert verdict(world, cpu=1).kind is Outlook.FITS


def test_behind_very_many_that_fit_one_after_the_other_a_workload_waits() -> None:
    world = EngineWorld(single_queue(cpu=1000))
    world.put(*(workload(f"w-{number}", cpu=1, created=EARLY) for number in range(100)))
    assert verdict(world, cpu=1).kind is Outlook.WAITS


def test_a_parked_workload_holds_nobody_up() -> None:
    world = EngineWorld([*single_queue(cpu=4), admitted("running", cpu=2)])
    world.put(workload("first", cpu=3, created=EARLY))
    world.cycle()
    assert verdict(world, cpu=1).kind is Outlook.FITS


def test_victims_and_the_work_they_lose_are_counted() -> None:
    world = EngineWorld([*single_queue(cpu=4), admitted("victim", cpu=2, count=2)])
    world.state.cluster_queues["q"].within_cluster_queue = "LowerPriority"
    world.search = SearchTable({"default": PreemptionMode.PREEMPT}, victims=["victim"])
    found = verdict(world, cpu=4)
    assert found.kind is Outlook.FITS_AFTER_PREEMPTION
    assert found.victims == (Key("ns", "victim"),)
    assert found.lost_pod_seconds == 2 * 2 * 3600


def test_a_workload_with_quota_fits_where_it_is() -> None:
    world = EngineWorld([*single_queue(), admitted("new", cpu=1)])
    assert verdict(world).kind is Outlook.FITS


def test_asking_changes_nothing() -> None:
    world = EngineWorld([*single_queue(cohort="c"), cluster_queue("lender", cohort="c"), admitted("running", cpu=3)])
    world.put(workload("first", cpu=2))
    before = (dict(world.state.hierarchy.cohorts["c"].usage), world.active("q"), world.state.cycle)
    verdict(world, cpu=6)
    assert (dict(world.state.hierarchy.cohorts["c"].usage), world.active("q"), world.state.cycle) == before
