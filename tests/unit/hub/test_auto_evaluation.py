"""When ``auto`` moves to Ray: by what inline rounds cost, however many questions a round is made of."""

from datetime import UTC, datetime

import pytest

from hub.evaluation.auto import AutoEvaluator, CostModel


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds


class Inline:
    """Answers in so many seconds each."""

    batch_size = 1

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.each = 0.0
        self.closed = False

    async def evaluate(self, requests):
        self.clock.seconds += self.each
        return [[] for _ in requests]

    async def close(self) -> None:
        self.closed = True


class Pool:
    started = False
    batch_size = 64

    async def start(self) -> None:
        self.started = True

    async def close(self) -> None:
        self.started = False


async def played(rounds: int, questions: int, each: float, **model: float) -> AutoEvaluator:
    """So many rounds a few seconds apart, of so many questions."""
    clock = Clock()
    inline = Inline(clock)
    inline.each = each
    auto = AutoEvaluator(inline, lambda assumed: Pool(), clock, CostModel(**model))
    for _ in range(rounds):
        for _ in range(questions):
            await auto.evaluate([None])
        clock.seconds += 3
    await auto.settled()
    return auto


@pytest.mark.parametrize(
    ("rounds", "questions", "each", "moves"),
    [
        (3, 1, 0.6, True),
        (3, 100, 0.007, True),  # a queue of short answers is as slow as one long answer
        (2, 100, 0.007, False),
        (30, 50, 0.007, False),
    ],
)
async def test_it_moves_after_three_rounds_over_budget(rounds, questions, each, moves):
    auto = await played(rounds, questions, each, budget=0.5)
    assert (auto.moving, auto.on_ray) == (moves, moves)
    await auto.close()


async def test_it_stays_where_a_trip_to_an_actor_costs_more_than_it_saves():
    auto = await played(10, 1, 0.6, budget=0.5, round_trip=0.4)
    assert not auto.moving
    await auto.close()
