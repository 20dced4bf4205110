"""What must hold after every step of every history."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine_world import EngineWorld
from tests.property.engine.scenarios import histories, play
from worker_agent.api.document import Document
from worker_agent.engine import quota
from worker_agent.engine.conditions import Phase
from worker_agent.engine.quota import NO_QUOTA, CohortNode, QuotaNode
from worker_agent.engine.resources import Amounts
from worker_agent.engine.state import ClusterState

History = tuple[list[Document], list[tuple[str, Any]]]
EXAMPLES = settings(max_examples=60, deadline=None)


def nodes(state: ClusterState) -> Iterator[QuotaNode]:
    yield from state.hierarchy.queues.values()
    yield from state.hierarchy.cohorts.values()


def usages(state: ClusterState) -> dict[str, Amounts]:
    return {node.name: dict(node.usage) for node in nodes(state)}


def summed(amounts: list[Amounts]) -> Amounts:
    total: Amounts = {}
    for of_one in amounts:
        for fr, amount in of_one.items():
            total[fr] = total.get(fr, 0) + amount
    return {fr: amount for fr, amount in total.items() if amount}


@EXAMPLES
@given(histories())
def test_usage_is_the_sum_of_reservations_and_never_negative(history: History) -> None:
    objects, script = history
    world = EngineWorld(deepcopy(objects))
    for step in script:
        play(world, deepcopy(step))
        for node in nodes(world.state):
            assert all(amount > 0 for amount in node.usage.values())
            assert node.usage == summed(parts(world.state, node))
        for queue in world.state.cluster_queues.values():
            assert queue.tally.usage == queue.node.usage
            assert queue.tally.reserving == len(queue.reservations)


def parts(state: ClusterState, node: QuotaNode) -> list[Amounts]:
    """What a node's usage must add up to: reservations of a queue, what children take beyond what they keep."""
    if isinstance(node, CohortNode):
        children = [*node.child_cohorts.values(), *node.child_queues.values()]
        return [{fr: max(0, n - child.kept.get(fr, 0)) for fr, n in child.usage.items()} for child in children]
    return [row.usage for row in state.cluster_queues[node.name].reservations.values()]


@EXAMPLES
@given(histories())
def test_an_admission_respects_the_limits_at_every_level(history: History) -> None:
    objects, script = history
    world = EngineWorld(deepcopy(objects))
    for step in script:
        before = usages(world.state)
        play(world, deepcopy(step))
        if step[0] != "cycle":
            continue
        for node in nodes(world.state):
            for fr, used in node.usage.items():
                if used > before[node.name].get(fr, 0):
                    assert used <= most(node, fr)


def most(node: QuotaNode, fr: tuple[str, str]) -> int:
    """The highest usage that an admission may bring a node to."""
    subtree = node.subtree.get(fr, 0)
    if node.parent is None:
        return subtree
    limit = node.quotas.get(fr, NO_QUOTA).borrowing_limit
    return 2**63 if limit is None else subtree + limit


@EXAMPLES
@given(histories())
def test_what_a_queue_does_not_lend_is_always_there_for_it(history: History) -> None:
    objects, script = history
    world = EngineWorld(deepcopy(objects))
    for step in script:
        if step[0] in ("queue", "cohort"):
            continue  # taking quota away may leave a tree over-admitted
        play(world, deepcopy(step))
        for node in world.state.hierarchy.queues.values():
            for fr, kept in node.kept.items():
                assert quota.exposed(node, fr) >= kept - node.usage.get(fr, 0)


@EXAMPLES
@given(histories())
def test_the_same_history_gives_the_same_plans(history: History) -> None:
    objects, script = history
    first, second = EngineWorld(deepcopy(objects)), EngineWorld(deepcopy(objects))
    for step in script:
        play(first, deepcopy(step))
        play(second, deepcopy(step))
        assert first.plan == second.plan
    assert usages(first.state) == usages(second.state)


@EXAMPLES
@given(histories())
def test_a_workload_is_in_exactly_one_place(history: History) -> None:
    objects, script = history
    world = EngineWorld(deepcopy(objects))
    for step in script:
        play(world, deepcopy(step))
        places: list[object] = []
        for pending in world.state.pending.values():
            places += [*pending.active(), *pending.parked]
        for queue in world.state.cluster_queues.values():
            places += queue.reservations
        assert len(places) == len(set(places))
        queueable = {key for key, row in world.state.rows.items() if row.phase != Phase.GONE}
        assert set(places) == queueable


def picture(state: ClusterState) -> object:
    reservations = {name: dict(queue.reservations) for name, queue in state.cluster_queues.items()}
    return usages(state), reservations


@EXAMPLES
@given(histories(), st.randoms(use_true_random=False))
def test_a_rolled_back_trial_leaves_an_equal_state(history: History, random: Any) -> None:
    objects, script = history
    world = EngineWorld(deepcopy(objects))
    for step in script:
        play(world, deepcopy(step))
    before = picture(world.state)
    with world.state.trial():
        shuffle(world.state, random)
        inside = picture(world.state)
        with pytest.raises(ZeroDivisionError):
            shuffle_and_fail(world.state, random)
        assert picture(world.state) == inside
    assert picture(world.state) == before


def shuffle(state: ClusterState, random: Any) -> None:
    """Take reservations out, put some back, and add usage of no one."""
    held = [row for queue in state.cluster_queues.values() for row in queue.reservations.values()]
    taken = random.sample(held, len(held) // 2)
    for row in taken:
        state.remove_reservation(row)
    for row in taken[::2]:
        state.restore_reservation(row)
    for queue in state.cluster_queues.values():
        state.add_usage(queue, {fr: random.randint(0, 5) for fr in queue.node.quotas})


def shuffle_and_fail(state: ClusterState, random: Any) -> None:
    with state.trial():
        shuffle(state, random)
        raise ZeroDivisionError
