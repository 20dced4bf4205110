"""What users of each subject do, and when, drawn from a seed: the same for equal seeds."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.races.subjects import SUBJECTS, Subject

BUSY_UNTIL = 40.0
"""Seconds in which users act; afterwards everything must come to what they last asked for."""
SUBJECTS_AT_A_TIME = 6


class Act(StrEnum):
    CREATE = "create"
    EDIT = "edit"
    SCALE = "scale"
    DELETE = "delete"
    RECREATE = "recreate"
    """Deleted, and made again under the same name as soon as that is free."""
    DELETE_WORKLOAD = "delete-workload"
    DELETE_PODS = "delete-pods"
    DELETE_POD = "delete-one-pod"
    MOVE = "move"
    """To another queue of the same quota."""
    DRAIN = "drain"
    """The administrator stops the queue and evicts all, and opens it again after so many seconds."""


@dataclass(frozen=True, slots=True, order=True)
class Step:
    at: float
    subject: str
    act: Act
    value: Any = None

    def __str__(self) -> str:
        return f"{self.at:7.3f} {self.subject:16} {self.act} {'' if self.value is None else self.value}"


@dataclass(frozen=True, slots=True)
class Script:
    seed: int
    subjects: tuple[str, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n".join([f"seed {self.seed}: {', '.join(self.subjects)}", *map(str, self.steps)])


def write(seed: int, labels: Sequence[str] = ()) -> Script:
    """The script of ``seed``; without ``labels`` it draws its subjects, each kind equally often over many seeds."""
    dice = random.Random(seed)
    drawn = tuple(labels) or _drawn(seed)
    steps: list[Step] = []
    for label in drawn:
        steps += _life(random.Random(f"{seed} {label}"), SUBJECTS[label])
    if dice.random() < 0.4:
        steps.append(Step(round(dice.uniform(1, 25), 3), "queue", Act.DRAIN, round(dice.uniform(0.5, 10), 3)))
    return Script(seed, drawn, tuple(sorted(steps, key=lambda step: (step.at, step.subject))))


def _drawn(seed: int) -> tuple[str, ...]:
    """Kinds come round in an order that is shuffled anew after each round."""
    labels: list[str] = []
    first = seed * SUBJECTS_AT_A_TIME
    for number in range(first, first + SUBJECTS_AT_A_TIME):
        turn, place = divmod(number, len(SUBJECTS))
        order = sorted(SUBJECTS)
        random.Random(turn).shuffle(order)
        labels.append(order[place])
    return tuple(dict.fromkeys(labels))


def _life(dice: random.Random, subject: Subject) -> list[Step]:
    at = dice.uniform(0, 5)
    run_seconds = dice.choice((2, 6, 15))
    steps = [Step(round(at, 3), subject.label, Act.CREATE, run_seconds)]
    for _ in range(dice.randint(1, 4)):
        at += dice.choice((0.02, 0.1, 0.5, 2, 8)) * dice.uniform(0.2, 1.5)
        steps.append(_wish(dice, subject, round(min(at, BUSY_UNTIL), 3)))
    return steps


def _wish(dice: random.Random, subject: Subject, at: float) -> Step:
    acts = [Act.DELETE, Act.RECREATE, Act.RECREATE, Act.DELETE_WORKLOAD, Act.DELETE_PODS, Act.DELETE_POD, Act.MOVE]
    acts += [Act.SCALE, Act.SCALE] if subject.scale else []
    # A pod whose containers are edited is another pod to its Workload, which stops it: then it is gone, as in Kueue.
    acts += [] if subject.of_pods else [Act.EDIT]
    act = dice.choice(acts)
    value: Any = None
    if act is Act.SCALE:
        value = dice.choice(subject.sizes)
    elif act is Act.EDIT:
        value = f"registry.example/other:{dice.randint(1, 9)}"
    elif act is Act.RECREATE:
        value = dice.choice((2, 6, 15))
    elif act is Act.DELETE:
        value = dice.choice(("Background", "Background", "Foreground"))
    elif act is Act.MOVE:
        value = dice.choice(("research", "second"))
    return Step(at, subject.label, act, value)
