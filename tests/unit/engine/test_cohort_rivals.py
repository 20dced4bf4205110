"""Verdicts where others of the cohort stand in every cycle, and where a scan of flavors goes on where it stopped."""

from tests.builders import cluster_queue, cohort, flavor, local_queue, namespace, quota, workload
from tests.engine_world import EngineWorld
from worker_agent.engine import simulate
from worker_agent.engine.plan import Admit
from worker_agent.engine.simulate import Outlook


def outlook(world, document):
    world.put(document)
    verdict = simulate.would_admit(
        world.state,
        next(row.workload for key, row in world.state.rows.items() if key.name == "new"),
        world.policy,
        world.now,
    )
    return verdict.kind


def shared(*, strict):
    """Two queues that borrow from each other; the head of the second asks for all that is left and more."""
    world = EngineWorld(
        [
            namespace(),
            flavor(),
            cohort("c"),
            cluster_queue("q", cohort="c", cpu=2),
            cluster_queue(
                "other", cohort="c", cpu=4, strict=strict, preemption={"reclaimWithinCohort": "LowerPriority"}
            ),
            local_queue(),
            local_queue("lo", "other"),
            workload("held", queue="lo", cpu=3),
        ]
    )
    world.settle()
    world.put(workload("head", queue="lo", cpu=4, priority=9))
    world.settle()
    return world


def test_the_head_of_a_strict_queue_keeps_the_room_that_is_its_own():
    world = shared(strict=True)
    assert outlook(world, workload("new", cpu=3)) is Outlook.WAITS
    assert not [step for step in world.cycle() if type(step).__name__ == "Admit"]


def test_a_workload_that_fits_beside_it_is_not_held_up():
    assert outlook(shared(strict=True), workload("new", cpu=2)) is Outlook.FITS


def test_a_flavor_that_comes_after_the_one_where_the_scan_stops_is_found():
    entry = {"cpu": quota(4)}
    fungibility = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}
    preemption = {"withinClusterQueue": "LowerPriority"}
    queue = cluster_queue("q", {"a": entry, "b": entry}, fungibility=fungibility, preemption=preemption)
    world = EngineWorld([namespace(), flavor("a"), flavor("b"), queue, local_queue(), workload("held", cpu=3)])
    world.settle()
    assert outlook(world, workload("new", cpu=3)) is Outlook.FITS
    world.settle()
    assert next(row for key, row in world.state.rows.items() if key.name == "new").reserved_in == "q"


def test_a_flavor_that_a_rival_holds_back_is_passed_over_in_the_next_turn():
    borrows = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
    preemption = {"reclaimWithinCohort": "LowerPriority"}
    world = EngineWorld(
        [
            namespace(),
            flavor("a"),
            flavor("b"),
            cohort("c"),
            cluster_queue("q", {"a": {"cpu": quota(2)}, "b": {"cpu": quota(4)}}, cohort="c", fungibility=borrows),
            cluster_queue("other", {"a": {"cpu": quota(4)}}, cohort="c", strict=True, preemption=preemption),
            local_queue(),
            local_queue("lo", "other"),
            workload("held", queue="lo", cpu=3),
        ]
    )
    world.settle()
    world.put(workload("head", queue="lo", cpu=4, priority=9))
    world.settle()
    assert outlook(world, workload("new", cpu=3)) is Outlook.FITS
    assert [step.key.name for _ in range(3) for step in world.cycle() if isinstance(step, Admit)] == ["new"]
