"""What a cycle costs, counted in function calls: the same per head however many queues there are or have finished."""

import sys
from collections.abc import Callable
from types import FrameType

from tests.benchmarks.engine_growth import Growing


def calls_of(work: Callable[[], object]) -> int:
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def calls_of_cycles(queues: int, finished: int = 0) -> float:
    """Calls per ClusterQueue in three cycles of a cluster in which every ClusterQueue has a head."""
    cluster = Growing(queues)
    cluster.finish(finished)
    cluster.cycle()
    cluster.work_off()
    return calls_of(lambda: [(cluster.cycle(), cluster.work_off()) for _ in range(3)]) / queues


def test_a_cycle_grows_no_faster_than_the_queues_that_have_heads():
    assert calls_of_cycles(queues=80) < 1.15 * calls_of_cycles(queues=20)


def test_finished_workloads_cost_a_cycle_nothing():
    assert calls_of_cycles(queues=20, finished=400) < 1.15 * calls_of_cycles(queues=20, finished=40)


def test_finished_workloads_leave_nothing_behind():
    cluster = Growing(20)
    rows = len(cluster.state.rows)

    cluster.finish(200)

    assert len(cluster.state.rows) == rows
