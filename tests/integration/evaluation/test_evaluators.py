"""One contract for every evaluator: the same events and questions get the same answers, to the last number.

Ray starts once for this file; it takes seconds and most of a gigabyte.
"""

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from hub.engine.knowledge_event import KnowledgeEvent, forgotten
from hub.engine.work_order import Assume, Desk, Observe, Release
from hub.evaluation.auto import AutoEvaluator, CostModel
from hub.evaluation.inline import InlineEvaluator
from hub.evaluation.ray_pool import RayOptions, RayPool, shard_of, stop_ray
from tests.unit.hub import knowledge
from worker_agent.api.meta import Key
from worker_agent.engine.policy import Policy
from worker_agent.kube.clock import SystemClock

pytestmark = pytest.mark.timeout(600)  # Ray starts in ten seconds; on a machine that is busy otherwise in minutes

CLUSTERS = [f"worker-{number}" for number in range(5)]


class StoppedClock(SystemClock):
    """Answers depend on how long work has run; what is compared is asked at one instant."""

    def now(self) -> datetime:
        return datetime(2026, 1, 31, 12, tzinfo=UTC)


CLOCK = StoppedClock()


class Known:
    """The objects that the workers would show again: what a hub replays."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, str, str, str], KnowledgeEvent] = {}

    def note(self, event: KnowledgeEvent) -> None:
        self.events.pop((event.cluster, event.plural, event.namespace, event.name), None)
        if not event.plural:
            self.events = {place: kept for place, kept in self.events.items() if place[0] != event.cluster}
        elif event.raw:
            self.events[event.cluster, event.plural, event.namespace, event.name] = event

    def replay(self, observe) -> None:
        for event in self.events.values():
            observe(event)


@pytest.fixture(scope="module", autouse=True)
def _ray_ends():
    yield
    stop_ray()


@pytest.fixture(params=["inline", "thread", "ray"])
async def evaluator(request, known) -> AsyncIterator:
    made = {
        "inline": lambda: InlineEvaluator(Policy(), CLOCK, threaded=False),
        "thread": lambda: InlineEvaluator(Policy(), CLOCK),
        "ray": lambda: RayPool(Policy(), CLOCK, known.replay, RayOptions(actors=2)),
    }[request.param]()
    yield made
    if request.param != "ray":
        await made.close()


@pytest.fixture
def known() -> Known:
    return Known()


def world(seed: int) -> list[KnowledgeEvent]:
    """Five unequal workers with running and waiting workloads."""
    chance = random.Random(seed)
    events = []
    for name in CLUSTERS:
        cpu = chance.choice([4, 8, 16, 64])
        events += knowledge.worker(name, cpu=cpu, price=str(chance.randint(1, 9)))
        events.append(knowledge.report(name, *[chance.randint(1, 8) for _ in range(chance.randint(1, 6))]))
        for number in range(chance.randint(0, 8)):
            kind = chance.choice([knowledge.running, knowledge.pending])
            events.append(kind(name, f"{kind.__name__}-{number}", cpu=chance.randint(1, 4)))
    return events


def questions(seed: int):
    chance = random.Random(seed)
    for number in range(12):
        clusters = chance.sample(CLUSTERS, chance.randint(1, 5))
        yield knowledge.request(*clusters, name=f"new-{number}", cpu=chance.randint(1, 6), pods=chance.randint(1, 4))


def expected(desk: Desk, requests):
    return [[figures(found) for found in answer] for answer in desk.answer(requests, CLOCK.now())]


def figures(found):
    """Everything an evaluation says."""
    return (found.cluster, *(getattr(found, name) for name in found.__struct_fields__[1:]))


async def answered(evaluator, requests):
    return [[figures(found) for found in answer] for answer in await evaluator.evaluate(requests)]


@pytest.mark.parametrize("seed", range(3))
async def test_answers_are_those_of_one_desk(evaluator, known, seed):
    desk = Desk(Policy())
    for event in world(seed):
        known.note(event)
        evaluator.observe(event)
        desk.carry_out([Observe(event)], CLOCK.now())
    requests = list(questions(seed))
    assert await answered(evaluator, requests) == expected(desk, requests)


async def test_assumed_and_released_room_counts_from_the_next_question_on(evaluator, known):
    desk = Desk(Policy())
    for event in knowledge.worker("a", cpu=4):
        known.note(event)
        evaluator.observe(event)
        desk.carry_out([Observe(event)], CLOCK.now())
    sent = knowledge.request("a", name="sent", cpu=3)
    ((found,),) = await evaluator.evaluate([sent])
    later = [knowledge.request("a", cpu=2)]
    evaluator.assume("a", sent, found.admission)
    desk.carry_out([Assume("a", "ns", "sent", sent.workload, found.admission)], CLOCK.now())
    assert await answered(evaluator, later) == expected(desk, later)
    evaluator.release("a", Key("ns", "sent"))
    desk.carry_out([Release("a", "ns", "sent")], CLOCK.now())
    assert await answered(evaluator, later) == expected(desk, later)


async def test_a_forgotten_cluster_is_unknown(evaluator, known):
    for event in knowledge.worker("a", cpu=4):
        known.note(event)
        evaluator.observe(event)
    known.note(forgotten("a"))
    evaluator.observe(forgotten("a"))
    ((found,),) = await evaluator.evaluate([knowledge.request("a")])
    assert found.reason == "NotKnownYet"


async def test_a_lost_actor_loses_nothing(known):
    pool = RayPool(Policy(), CLOCK, known.replay, RayOptions(actors=2))
    for event in world(1):
        known.note(event)
        pool.observe(event)
    requests = list(questions(1))
    before = await answered(pool, requests)
    sent = knowledge.request(CLUSTERS[0], name="sent", cpu=1)
    ((found,),) = await pool.evaluate([sent])
    if found.admission:
        pool.assume(CLUSTERS[0], sent, found.admission)
    assumed = await answered(pool, requests)
    pool.kill(shard_of(CLUSTERS[0], 2))
    assert await answered(pool, requests) == assumed
    pool.release(CLUSTERS[0], Key("ns", "sent"))
    assert await answered(pool, requests) == before


async def test_auto_moves_to_ray_after_slow_rounds_and_answers_alike(known):
    inline = InlineEvaluator(Policy(), CLOCK, threaded=False)
    auto = AutoEvaluator(
        inline,
        lambda assumed: RayPool(Policy(), CLOCK, known.replay, RayOptions(actors=2), assumed),
        CLOCK,
        CostModel(budget=0.0, round_trip=-1.0),
    )
    for event in world(2):
        known.note(event)
        auto.observe(event)
    requests = list(questions(2))
    before = await answered(auto, requests)
    while not auto.moving:
        await auto.evaluate(requests)
    await auto.settled()
    assert auto.on_ray
    assert await answered(auto, requests) == before
