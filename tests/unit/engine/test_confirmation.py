"""An object that shows the reservation which was assumed moves no sums; one that shows another is entered anew."""

from tests.builders import admitted, single_queue, workload
from tests.engine_world import EngineWorld
from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.conditions import Phase

KEY = Key("ns", "w")


def assumed() -> EngineWorld:
    world = EngineWorld(single_queue())
    world.put(workload("w", cpu=3))
    world.decide()
    return world


def shown(world: EngineWorld, cpu: int) -> Document:
    document = admitted("w", cpu=cpu)
    for condition in document["status"]["conditions"]:
        condition["lastTransitionTime"] = timestamps.rfc3339(world.now)
    return document


def test_the_same_reservation_changes_no_sum() -> None:
    world = assumed()
    before = world.state.journal.changes
    world.put(shown(world, 3))
    assert world.state.journal.changes == before


def test_the_same_reservation_counts_as_observed() -> None:
    world = assumed()
    world.put(shown(world, 3))
    row = world.state.rows[KEY]
    assert (row.assumed, row.phase) == (False, Phase.ADMITTED)
    assert world.state.cluster_queues["q"].reservations == {KEY: row}


def test_another_reservation_is_counted_anew() -> None:
    world = assumed()
    world.put(shown(world, 2))
    assert world.state.hierarchy.queues["q"].usage == {("default", "cpu"): 2000}


def test_a_confirmed_workload_that_finishes_leaves_nothing_behind() -> None:
    world = assumed()
    world.put(shown(world, 3))
    world.finish("ns/w")
    queue = world.state.cluster_queues["q"]
    assert (queue.reservations, queue.tally.usage, queue.node.usage) == ({}, {}, {})
