"""Small histories: one or few jobs, one or few troubles in the very seconds in which the jobs are on their way.

Nearly every fault needs few objects and few steps to show itself, if only the moments are right; so many small
histories find more in the same time than few large ones. They are played in chains: the next begins on the federation,
at rest, that the one before has left, and a seed is replayed together with those before it in its chain.

A history holds the real hub and the real agents of two workers, three API servers, one job (two in 10 %, three in 2 %)
and one trouble (two in 13 %, three in 2 %) out of TROUBLES; in 15 % single requests fail as well.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from tests.faults.players import START_SECONDS
from tests.faults.script import DISPATCHERS, LINES, PROGRAMS, WORKERS, Act, Script, Step, chances

CHAIN: Final = 25
"""Seeds from one multiple of this to the next share a federation."""
POLL_SECONDS: Final = 0.5
CALM_SECONDS: Final = 0.2
"""From the last step until nothing fails any more."""
FAULTY_SECONDS: Final = 4.0
"""How long at least, where single requests fail."""
OUTAGES: Final = (0.1, 0.5, 1.5, 1.5, 4.0, 4.0)
"""Seconds."""
LOST_AFTER: Final = (timedelta(seconds=20), timedelta(minutes=1), timedelta(minutes=1), timedelta(minutes=1))
"""``workerLostTimeout``: the shorter, the more often leases are renewed, and the more every history costs."""
LONGEST_OUTAGE: Final = 25.0
"""More than a worker may be out of contact where that is least; one in ten of the outages there."""

SENT_SECONDS: Final = 0.15
"""From a job's submission until it stands on a worker."""
UNTOLD_SECONDS: Final = START_SECONDS + 0.15
"""From a job's submission until the manager knows that its pods run: only the fence tells of them until then."""
OUTLIVING_SECONDS: Final = 4.0
"""The same for one that must have ended before its worker's agent stops it, which has lost contact."""
LASTING_SECONDS: Final = 8.0
"""How long a job works that must still do so when it might be started elsewhere."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When trouble comes to which job, and how long a worker may be out of contact then."""

    dice: random.Random
    submission: Step
    at: float
    lost_after: timedelta

    @property
    def job(self) -> str:
        return self.submission.subject

    def later(self, spans: Sequence[float]) -> float:
        return round(self.at + 0.01 + self.dice.choice(spans) * self.dice.uniform(0.5, 1.0), 3)

    def contact(self) -> float:
        """When contact that is lost now is there again."""
        if self.lost_after < timedelta(seconds=LONGEST_OUTAGE) and self.dice.random() < 0.1:
            return round(self.at + LONGEST_OUTAGE, 3)
        return self.later(OUTAGES)


Trouble = Callable[[Moment], list[Step]]
"""What it says of a job's submission comes in the place of what was said before."""


def write(seed: int) -> Script:
    """The script of ``seed``."""
    dice, shared = random.Random(f"small {seed}"), random.Random(f"chain {seed // CHAIN}")
    dispatcher, keep, elect = shared.choice(DISPATCHERS), shared.random() < 0.5, shared.random() < 0.15
    lost_after = shared.choice(LOST_AFTER)
    skews = {program: shared.choice((0.0, 0.0, -300.0, 90.0, 3600.0)) for program in PROGRAMS}
    jobs = [f"job-{seed}-{number}" for number in range(_few(dice, (88, 10, 2)))]
    submissions = {name: _submission(dice, name) for name in jobs}
    steps: list[Step] = []
    for _ in range(_few(dice, (85, 13, 2))):
        submitted = submissions[dice.choice(jobs)]
        at = round(submitted.at + dice.choice((0.1, 0.6, 1.5, 3.0)) * dice.random(), 3)
        for step in _trouble(Moment(dice, submitted, at, lost_after), elect=elect):
            if step.act is Act.SUBMIT:
                submissions[step.subject] = step
            else:
                steps.append(step)
    steps += submissions.values()
    failing = chances(dice) if dice.random() < 0.15 else {}
    end = max(max(step.at for step in steps) + CALM_SECONDS, FAULTY_SECONDS if failing else 0.0)
    return Script(seed, tuple(sorted(steps)), dispatcher, keep, failing, skews, lost_after, elect, end, POLL_SECONDS)


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
    at = 0.0 if name.endswith("-0") else round(dice.uniform(0, 1.5), 3)
    return Step(at, Act.SUBMIT, name, shape)


def _trouble(moment: Moment, *, elect: bool) -> list[Step]:
    if elect and moment.dice.random() < 0.3:
        return [Step(moment.at, Act.STEAL, "hub")]
    kinds = [kind for kind, _ in TROUBLES]
    return moment.dice.choices(kinds, [weight for _, weight in TROUBLES])[0](moment)


def _deleted(moment: Moment) -> list[Step]:
    return [Step(moment.at, Act.DELETE, moment.job)]


def _paused(moment: Moment) -> list[Step]:
    until = moment.later((0.05, 0.5, 2.0))
    return [Step(moment.at, Act.DEACTIVATE, moment.job), Step(until, Act.ACTIVATE, moment.job)]


def _spoiled(moment: Moment) -> list[Step]:
    what = moment.dice.choice((Act.SPOIL_COPY, Act.SPOIL_JOB))
    return [Step(moment.at, what, moment.job, moment.dice.choice(WORKERS))]


def _out_of_contact(moment: Moment) -> list[Step]:
    line, act = moment.dice.choice(LINES), moment.dice.choice((Act.CUT, Act.STALL))
    return [Step(moment.at, act, line), Step(moment.contact(), Act.HEAL, line)]


def _ambushed(moment: Moment) -> list[Step]:
    """Contact with a worker is lost and the job evicted in the same moment."""
    line, act = moment.dice.choice(("hub>w1", "hub>w2")), moment.dice.choice((Act.CUT, Act.STALL))
    evicted = round(max(0.0, moment.at + moment.dice.uniform(-0.5, 0.8)), 3)
    return [
        Step(moment.at, act, line),
        Step(moment.contact(), Act.HEAL, line),
        Step(evicted, Act.DEACTIVATE, moment.job),
        Step(round(evicted + 0.3, 3), Act.ACTIVATE, moment.job),
    ]


def _ambushed_start(moment: Moment) -> list[Step]:
    """The same before the manager has heard of the job's pods, and the job outlasts the time in which it is evicted."""
    line, act = moment.dice.choice(("hub>w1", "hub>w2")), moment.dice.choice((Act.CUT, Act.STALL))
    at = moment.submission.at + moment.dice.uniform(0.02, UNTOLD_SECONDS)
    evicted = at + moment.dice.uniform(0.02, 0.3)
    return [
        replace(moment.submission, value={**moment.submission.value, "seconds": LASTING_SECONDS}),
        Step(round(at, 3), act, line),
        Step(round(at + moment.dice.choice((4.0, 6.0)), 3), Act.HEAL, line),
        Step(round(evicted, 3), Act.DEACTIVATE, moment.job),
        Step(round(evicted + 0.3, 3), Act.ACTIVATE, moment.job),
    ]


def _ended_unseen(moment: Moment) -> list[Step]:
    """A job ends out of contact and is deleted on its worker, so that only its copy there tells of the end.

    Mostly on whichever it runs: both are out of contact, and who has no such job loses none.
    """
    workers = moment.dice.choice((WORKERS, WORKERS, WORKERS[:1], WORKERS[1:]))
    act = moment.dice.choice((Act.CUT, Act.STALL))
    works = START_SECONDS + moment.submission.value["seconds"]
    at = moment.submission.at + max(SENT_SECONDS, works * moment.dice.uniform(0.1, 0.95))
    abandoned = moment.submission.at + works + moment.dice.uniform(0.1, 0.5)
    back = abandoned + moment.dice.uniform(0.05, 0.5)
    return [
        step
        for worker in workers
        for step in (
            Step(round(at, 3), act, f"hub>{worker}"),
            Step(round(abandoned, 3), Act.ABANDON, moment.job, worker),
            Step(round(back, 3), Act.HEAL, f"hub>{worker}"),
        )
    ]


def _slowed(moment: Moment) -> list[Step]:
    """Much happens while requests are under way."""
    line, seconds = moment.dice.choice(LINES), moment.dice.choice((0.03, 0.3, 1.0))
    return [Step(moment.at, Act.SLOW, line, (seconds,)), Step(moment.later((1.5, 4.0)), Act.HEAL, line)]


def _told_late(moment: Moment) -> list[Step]:
    """A worker's copy tells of the job's end, or of its start, before the job itself does: they come by two streams."""
    worker, seconds = moment.dice.choice(WORKERS), moment.dice.choice((0.3, 1.5))
    works = moment.submission.value["seconds"]
    at = moment.submission.at + moment.dice.choice((0.0, START_SECONDS + works * moment.dice.random()))
    until = at + works + moment.dice.uniform(1.0, 3.0)
    line = f"hub>{worker}"
    return [Step(round(at, 3), Act.SLOW, line, (seconds, "/jobs")), Step(round(until, 3), Act.HEAL, line)]


def _outlived(moment: Moment) -> list[Step]:
    """A job ends on a worker that is lost already, is run once more on another, and the first comes back meanwhile."""
    if moment.lost_after > timedelta(seconds=LONGEST_OUTAGE):
        return _out_of_contact(moment)
    # Where both have room it goes to the first.
    worker, lost_after = moment.dice.choice((WORKERS[0], *WORKERS)), moment.lost_after.total_seconds()
    at = moment.submission.at + START_SECONDS + moment.dice.uniform(0.6, 2.0)
    back = at + lost_after + moment.dice.uniform(1.2, 2.8)
    return [
        replace(moment.submission, value={**moment.submission.value, "seconds": OUTLIVING_SECONDS}),
        Step(round(at, 3), Act.CUT, f"hub>{worker}"),
        Step(round(back, 3), Act.HEAL, f"hub>{worker}"),
        # What was lost for so long is tried again only after a while; a hub that starts tries at once.
        Step(round(back + 0.01, 3), Act.KILL, "hub"),
        Step(round(back + 0.02, 3), Act.START, "hub"),
    ]


def _restarted(moment: Moment) -> list[Step]:
    program = moment.dice.choice(PROGRAMS)
    return [Step(moment.at, Act.KILL, program), Step(moment.later((0.01, 0.2, 1.5, 4.0)), Act.START, program)]


def _left_out(moment: Moment) -> list[Step]:
    worker = moment.dice.choice(WORKERS)
    return [Step(moment.at, Act.LEAVE, worker), Step(moment.later((0.1, 1.5, 4.0)), Act.RETURN, worker)]


TROUBLES: Final[tuple[tuple[Trouble, int], ...]] = (
    (_deleted, 12),
    (_paused, 18),
    (_spoiled, 20),
    (_out_of_contact, 12),
    (_ambushed, 7),
    (_ambushed_start, 5),
    (_ended_unseen, 12),
    (_slowed, 5),
    (_told_late, 3),
    (_outlived, 10),
    (_restarted, 16),
    (_left_out, 7),
)
