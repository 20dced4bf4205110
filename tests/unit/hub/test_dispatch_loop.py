"""How often the loop asks its evaluator."""

from types import SimpleNamespace

import pytest

from hub.controllers.dispatch_loop import SHORTEST_PACE, DispatchLoop, DispatchSettings
from worker_agent.api.meta import Key


class Evaluator:
    batch_size = 1

    def __init__(self):
        self.asked = 0

    async def evaluate(self, requests):
        self.asked += 1
        return []


@pytest.fixture
def evaluator():
    return Evaluator()


class Clock:
    seconds = 10.0

    def monotonic(self):
        return self.seconds

    def now(self):
        return None


@pytest.fixture
def clock():
    return Clock()


def loop(evaluator, clock):
    turns = SimpleNamespace(make=lambda key: None, undecided=list, cluster_of=lambda key: "")
    metrics = SimpleNamespace(evaluated=lambda who, seconds: None)
    return DispatchLoop(turns, evaluator, None, DispatchSettings(), metrics, clock)


async def passed(made, clock, seconds):
    clock.seconds += seconds
    made.look_at(Key("ns", "w"))
    await made._pass()


async def test_orders_of_many_events_are_carried_out_together(evaluator, clock):
    made = loop(evaluator, clock)
    for _ in range(5):
        await passed(made, clock, SHORTEST_PACE / 10)
    assert evaluator.asked == 1


async def test_orders_do_not_wait_longer_than_a_moment(evaluator, clock):
    made = loop(evaluator, clock)
    for _ in range(3):
        await passed(made, clock, SHORTEST_PACE * 1.01)
    assert evaluator.asked == 3


async def test_a_question_carries_them_out_too(evaluator, clock):
    made = loop(evaluator, clock)
    await made.judged([])
    await passed(made, clock, SHORTEST_PACE / 2)
    assert evaluator.asked == 1
