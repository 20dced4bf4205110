"""What happens in one history: jobs, wishes of their users, and faults, drawn from a seed: the same for equal seeds."""

import random
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

WORKERS = ("w1", "w2")
FAULTY_UNTIL = 30.0
"""Seconds in which things go wrong; afterwards everything works, and the federation must come to rest."""
LOST_AFTER = timedelta(seconds=20)
"""``workerLostTimeout``: leases and polls follow from it, so that outages within a history can be too long."""


class Act(StrEnum):
    """``subject`` is a job, a worker, a program or a line; the value says how."""

    SUBMIT = "submit"
    DELETE = "delete"
    DEACTIVATE = "deactivate"
    ACTIVATE = "activate"
    CUT = "cut"
    STALL = "stall"
    SLOW = "slow"
    """Requests and watches of a line take long until it heals; the value is what ``Line.slow`` takes."""
    HEAL = "heal"
    KILL = "kill"
    START = "start"
    SPOIL_COPY = "spoil-copy"
    SPOIL_JOB = "spoil-job"
    ABANDON = "abandon"
    """The job is deleted on the worker, and the copy that it owns stays behind."""
    LEAVE = "leave"
    """The cluster leaves the configuration."""
    RETURN = "return"
    STEAL = "steal"
    """Somebody else takes the hub's leadership and dies."""


FAULTS = frozenset(
    {Act.CUT, Act.STALL, Act.SLOW, Act.KILL, Act.SPOIL_COPY, Act.SPOIL_JOB, Act.ABANDON, Act.LEAVE, Act.STEAL}
)
RESTARTS = frozenset({Act.KILL, Act.STEAL})


@dataclass(frozen=True, slots=True, order=True)
class Step:
    at: float
    act: Act
    subject: str
    value: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.at:7.2f} {self.act} {self.subject} {'' if self.value is None else self.value}"


@dataclass(frozen=True, slots=True)
class Script:
    """``chances`` of faults per request while things go wrong; ``skews`` of wall clocks in seconds, by program.
    ``elect``: the hub leads by election."""

    seed: int
    steps: tuple[Step, ...]
    dispatcher: str
    keep: bool
    chances: dict[str, float]
    skews: dict[str, float]
    worker_lost_timeout: timedelta = LOST_AFTER
    elect: bool = False
    faulty_seconds: float = FAULTY_UNTIL
    poll_seconds: float = 2.0
    """How often somebody looks whether everything has come to rest."""

    def __str__(self) -> str:
        told = [str(step) for step in self.steps]
        kept = "Keep" if self.keep else "Stop"
        elected = ", by election" if self.elect else ""
        chances = " ".join(f"{kind} {chance:g}" for kind, chance in self.chances.items() if chance)
        told.insert(0, f"        per request: {chances or 'no faults'}; clocks: {self.skews}")
        lost = f"worker lost after {self.worker_lost_timeout.total_seconds():g} s"
        return "\n".join([f"seed {self.seed}: {self.dispatcher}, onContactLost {kept}, {lost}{elected}", *told])

    @property
    def calm(self) -> "Script":
        """The same federation before anything happens to it."""
        clocks = dict.fromkeys(PROGRAMS, 0.0)
        return Script(-1, (), self.dispatcher, self.keep, {}, clocks, self.worker_lost_timeout, self.elect)

    @property
    def acts(self) -> list[Act]:
        return [step.act for step in self.steps]


DISPATCHERS = (
    "fedhub.dev/capacity-aware",
    "fedhub.dev/capacity-aware",
    "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
    "kueue.x-k8s.io/multikueue-dispatcher-incremental",
)
LINES = ("hub>manager", "hub>w1", "hub>w2", "agent-w1>w1", "agent-w2>w2")
PROGRAMS = ("hub", "agent-w1", "agent-w2")


def write(seed: int) -> Script:
    """The script of ``seed``."""
    dice = random.Random(seed)
    steps: list[Step] = []
    jobs = [f"job-{number}" for number in range(dice.randint(2, 4))]
    for name in jobs:
        shape = {
            "cpu": dice.randint(1, 4),
            "seconds": dice.choice((0.5, 3, 8, 15)),
            "priority": dice.choice((0, 0, 100)),
        }
        steps.append(Step(round(dice.uniform(0, 10), 3), Act.SUBMIT, name, shape))
        steps += _ambush(dice, name, steps[-1].at) if dice.random() < 0.25 else _wishes(dice, name, steps[-1].at)
    elect = dice.random() < 0.15
    if elect:
        steps.append(Step(round(dice.uniform(0, 15), 3), Act.STEAL, "hub"))
    elif dice.random() < 0.85:
        steps += _restart(dice)
    for _ in range(dice.randint(1, 3)):
        steps += _trouble(dice, jobs)
    failing = {} if dice.random() < 0.5 else chances(dice)
    skews = {program: dice.choice((0.0, 0.0, -300.0, 90.0, 3600.0)) for program in PROGRAMS}
    dispatcher, keep = dice.choice(DISPATCHERS), dice.random() < 0.5
    return Script(seed, tuple(sorted(steps)), dispatcher, keep, failing, skews, elect=elect)


def _wishes(dice: random.Random, job: str, since: float) -> list[Step]:
    at = round(since + dice.choice((0.05, 0.3, 1, 4, 10)) * dice.random(), 3)
    draw = dice.random()
    if draw < 0.15:
        return [Step(at, Act.DELETE, job)]
    if draw < 0.4:
        return [Step(at, Act.DEACTIVATE, job), Step(round(at + dice.uniform(0.1, 10), 3), Act.ACTIVATE, job)]
    return []


def _ambush(dice: random.Random, job: str, since: float) -> list[Step]:
    """Contact is lost and the job evicted just when it is being started on a worker, for longer than it may be."""
    at = since + dice.uniform(0.2, 2.5)
    until = min(FAULTY_UNTIL, at + dice.choice((2, 8, 25)))
    lines = dice.choice((("hub>w1",), ("hub>w2",), ("hub>w1", "hub>w2")))
    act = dice.choice((Act.CUT, Act.STALL))
    evicted = at + dice.uniform(-0.5, 0.8)
    broken = [Step(round(at, 3), act, line) for line in lines]
    mended = [Step(round(until - dice.uniform(0, 1.5), 3), Act.HEAL, line) for line in lines]
    wishes = [Step(round(evicted, 3), Act.DEACTIVATE, job), Step(round(evicted + 0.3, 3), Act.ACTIVATE, job)]
    return [*broken, *mended, *wishes]


def _span(dice: random.Random) -> tuple[float, float]:
    at = round(dice.uniform(0, 15), 3)
    return at, round(min(FAULTY_UNTIL, at + dice.choice((0.2, 1.5, 5, 15))), 3)


def _restart(dice: random.Random) -> list[Step]:
    (at, until), program = _span(dice), dice.choice(PROGRAMS)
    return [Step(at, Act.KILL, program), Step(until, Act.START, program)]


def _trouble(dice: random.Random, jobs: list[str]) -> list[Step]:
    at, until = _span(dice)
    draw = dice.random()
    if draw < 0.5:
        act = dice.choice((Act.CUT, Act.STALL))
        line = dice.choice(LINES)
        return [Step(at, act, line), Step(until, Act.HEAL, line)]
    if draw < 0.65:
        return _restart(dice)
    if draw < 0.9:
        act = dice.choice((Act.SPOIL_COPY, Act.SPOIL_JOB))
        return [Step(at, act, dice.choice(jobs), dice.choice(WORKERS))]
    worker = dice.choice(WORKERS)
    return [Step(at, Act.LEAVE, worker), Step(until, Act.RETURN, worker)]


def chances(dice: random.Random) -> dict[str, float]:
    """How often single requests fail, by the kind of fault."""
    kinds = ("delay", "refused", "lost-answer", "cut", "conflict", "gone", "too-many", "server-error", "duplicate")
    return {kind: dice.choice((0.0, 0.01, 0.05)) for kind in kinds}
