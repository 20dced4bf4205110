"""Small histories: one or few jobs, one or few troubles in the very seconds in which the jobs are on their way.

Nearly every fault needs few objects and few steps to show itself, if only the moments are right; so many small
histories find more in the same time than few large ones. They are played in chains: the next begins on the federation,
at rest, that the one before has left, and a seed is replayed together with those before it in its chain.
"""

import random
from collections.abc import Callable, Sequence
from typing import Final

from tests.faults.script import DISPATCHERS, LINES, PROGRAMS, WORKERS, Act, Script, Step, chances

CHAIN: Final = 25
"""Seeds from one multiple of this to the next share a federation."""
POLL_SECONDS: Final = 0.5
CALM_SECONDS: Final = 0.2
"""From the last step until nothing fails any more."""
FAULTY_SECONDS: Final = 4.0
"""How long at least, where single requests fail."""
OUTAGES: Final = (0.1, 0.5, 1.5, 1.5, 4.0, 4.0, 25.0)
"""Seconds; the last is more than a worker may be out of contact."""

Trouble = Callable[[random.Random, str, float], list[Step]]


def write(seed: int) -> Script:
    """The script of ``seed``."""
    dice, shared = random.Random(f"small {seed}"), random.Random(f"chain {seed // CHAIN}")
    dispatcher, keep, elect = shared.choice(DISPATCHERS), shared.random() < 0.5, shared.random() < 0.15
    skews = {program: shared.choice((0.0, 0.0, -300.0, 90.0, 3600.0)) for program in PROGRAMS}
    steps = [_submission(dice, f"job-{seed}-{number}") for number in range(_few(dice, (75, 20, 5)))]
    first = min(steps)
    troubles: list[Step] = []
    for _ in range(_few(dice, (65, 28, 7))):
        submitted = dice.choice(steps)
        at = round(submitted.at + dice.choice((0.1, 0.6, 1.5, 3.0)) * dice.random(), 3)
        troubles += _trouble(dice, submitted.subject, at, elect=elect)
    every = tuple(
        sorted(Step(round(step.at - first.at, 3), step.act, step.subject, step.value) for step in (*steps, *troubles))
    )
    failing = chances(dice) if dice.random() < 0.2 else {}
    end = max(every[-1].at + CALM_SECONDS, FAULTY_SECONDS if failing else 0.0)
    return Script(
        seed, every, dispatcher, keep, failing, skews, elect=elect, faulty_seconds=end, poll_seconds=POLL_SECONDS
    )


def chain_of(seed: int) -> range:
    """The seeds that are played before ``seed`` on its federation, and itself."""
    return range(seed - seed % CHAIN, seed + 1)


def _few(dice: random.Random, weights: Sequence[int]) -> int:
    """1 with the first weight, 2 with the second ..."""
    return dice.choices(range(1, len(weights) + 1), weights)[0]


def _submission(dice: random.Random, name: str) -> Step:
    shape = {
        "cpu": dice.randint(1, 4),
        "seconds": dice.choice((0.5, 0.5, 2.0)),
        "priority": dice.choice((0, 0, 100)),
    }
    return Step(round(dice.uniform(0, 1.5), 3), Act.SUBMIT, name, shape)


def _trouble(dice: random.Random, job: str, at: float, *, elect: bool) -> list[Step]:
    if elect and dice.random() < 0.3:
        return [Step(at, Act.STEAL, "hub")]
    kinds = [kind for kind, _ in TROUBLES]
    return dice.choices(kinds, [weight for _, weight in TROUBLES])[0](dice, job, at)


def _deleted(dice: random.Random, job: str, at: float) -> list[Step]:
    return [Step(at, Act.DELETE, job)]


def _paused(dice: random.Random, job: str, at: float) -> list[Step]:
    return [Step(at, Act.DEACTIVATE, job), Step(_later(dice, at, (0.05, 0.5, 2.0)), Act.ACTIVATE, job)]


def _spoiled(dice: random.Random, job: str, at: float) -> list[Step]:
    return [Step(at, dice.choice((Act.SPOIL_COPY, Act.SPOIL_JOB)), job, dice.choice(WORKERS))]


def _out_of_contact(dice: random.Random, job: str, at: float) -> list[Step]:
    line = dice.choice(LINES)
    return [Step(at, dice.choice((Act.CUT, Act.STALL)), line), Step(_later(dice, at, OUTAGES), Act.HEAL, line)]


def _ambushed(dice: random.Random, job: str, at: float) -> list[Step]:
    """Contact with a worker is lost and the job evicted in the same moment."""
    line = dice.choice(("hub>w1", "hub>w2"))
    evicted = round(max(0.0, at + dice.uniform(-0.5, 0.8)), 3)
    until = _later(dice, at, OUTAGES)
    return [
        Step(at, dice.choice((Act.CUT, Act.STALL)), line),
        Step(until, Act.HEAL, line),
        Step(evicted, Act.DEACTIVATE, job),
        Step(round(evicted + 0.3, 3), Act.ACTIVATE, job),
    ]


def _restarted(dice: random.Random, job: str, at: float) -> list[Step]:
    program = dice.choice(PROGRAMS)
    return [Step(at, Act.KILL, program), Step(_later(dice, at, (0.01, 0.2, 1.5, 4.0)), Act.START, program)]


def _left_out(dice: random.Random, job: str, at: float) -> list[Step]:
    worker = dice.choice(WORKERS)
    return [Step(at, Act.LEAVE, worker), Step(_later(dice, at, (0.1, 1.5, 4.0)), Act.RETURN, worker)]


def _later(dice: random.Random, at: float, spans: Sequence[float]) -> float:
    return round(at + 0.01 + dice.choice(spans) * dice.uniform(0.5, 1.0), 3)


TROUBLES: Final[tuple[tuple[Trouble, int], ...]] = (
    (_deleted, 12),
    (_paused, 18),
    (_spoiled, 20),
    (_out_of_contact, 20),
    (_ambushed, 7),
    (_restarted, 16),
    (_left_out, 7),
)
