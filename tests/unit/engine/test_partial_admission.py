"""Fewer pods where not all fit (spec/engine 9)."""

from tests.builders import admitted, pod_set, single_queue, workload
from tests.conformance.engine_objects import decode
from tests.engine_world import EngineWorld
from worker_agent.api.workload import Workload
from worker_agent.engine import workload_info
from worker_agent.engine.partial_admission import Reduction
from worker_agent.engine.pod_shape import ShapeSource
from worker_agent.engine.policy import DEFAULT, Policy


def probed(counts: list[int], least: list[int], room: int) -> tuple[list[int] | None, list[int]]:
    """The counts found with room for so many pods, and the totals that were probed."""
    sets = [pod_set(f"p{i}", count=c, min_count=m) for i, (c, m) in enumerate(zip(counts, least, strict=True))]
    row = workload_info.build(decode(workload("w", *sets), Workload), ShapeSource(DEFAULT))
    totals = []

    def probe(reduced: list[int]) -> list[int] | None:
        totals.append(sum(reduced))
        return reduced if sum(reduced) <= room else None

    return Reduction(row.pod_sets, probe).search(), totals


def test_pods_are_taken_from_all_pod_sets_in_proportion() -> None:
    assert probed([5, 5, 5, 5], [3, 4, 1, 2], room=15) == ([4, 5, 3, 3], [16, 14, 15, 16])


def test_the_search_finds_the_largest_number_of_pods_that_fits() -> None:
    assert probed([10], [4], room=7) == ([7], [7, 9, 8])


def test_nothing_is_found_below_the_minimum() -> None:
    assert probed([10], [4], room=3)[0] is None


def test_an_admission_records_the_reduced_count_and_usage() -> None:
    world = EngineWorld([*single_queue(cpu=10), admitted("a", cpu=3)])
    world.put(workload("w", pod_set(count=5, min_count=2, requests={"cpu": 2})))
    assignment = world.cycle().admissions[0].admission["podSetAssignments"][0]
    assert (assignment["count"], assignment["resourceUsage"]) == (3, {"cpu": "6"})


def test_the_gate_switches_it_off() -> None:
    world = EngineWorld(single_queue(cpu=4), Policy(partial_admission=False))
    world.put(workload("w", pod_set(count=5, min_count=2, requests={"cpu": 1})))
    assert not world.cycle().admissions
