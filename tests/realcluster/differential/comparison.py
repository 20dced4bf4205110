"""Finds where two answers differ, and which of these differences are known."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from tests.realcluster.differential.masking import Masks
from tests.realcluster.differential.player import Player
from tests.realcluster.differential.script import Script

KNOWN = Path(__file__).parent / "known.yaml"
ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """``at`` is ``<step>.body.spec.x``, steps counted from 1 among those that are compared."""

    script: str
    request: str
    at: str
    embedded: Any
    real: Any

    def __str__(self) -> str:
        return f"{self.request}\n  at {self.at}\n    embedded: {self.embedded!r}\n    real:     {self.real!r}"


@dataclass(frozen=True, slots=True)
class Known:
    """Patterns in the way of shells. ``why`` is what a reader needs to know; ``sometimes`` it does not show."""

    script: str
    at: str
    why: str
    sometimes: bool = False

    def covers(self, difference: Difference) -> bool:
        return fnmatchcase(difference.script, self.script) and fnmatchcase(difference.at, self.at)


def known() -> list[Known]:
    """The written list."""
    return [Known(**entry) for entry in yaml.safe_load(KNOWN.read_text()) or ()]


def unlisted(found: list[Difference], listed: list[Known]) -> list[Difference]:
    """What the list does not cover."""
    return [one for one in found if not any(entry.covers(one) for entry in listed)]


def differences(script: Script, embedded: Player, real: Player, namespace: str) -> list[Difference]:
    """Where the two servers differ, over the steps of a script that is played on both at the same time.

    After an answer of another status the servers hold different things, so what follows it is not compared.
    """
    with ThreadPoolExecutor(2) as both:
        played = both.map(lambda player: _played(script, player, namespace), (embedded, real))
    found: list[Difference] = []
    for number, (one, other) in enumerate(zip(*played, strict=True), 1):
        if one["status"] != other["status"]:
            return [*found, Difference(script.name, one["request"], f"{number}.status", summary(one), summary(other))]
        found += [
            Difference(script.name, one["request"], f"{number}.{path}", left, right)
            for part in ("headers", "body")
            for path, left, right in walk(one[part], other[part], part)
        ]
    return found


def _played(script: Script, player: Player, namespace: str) -> list[dict[str, Any]]:
    masks = Masks()
    return [masks.answer(answer) for answer in player.play(script, namespace)]


def summary(answer: dict[str, Any]) -> str:
    """An answer in a line: its status, and what it says or holds."""
    body = answer["body"]
    told = body.get("message", body.get("kind")) if isinstance(body, dict) else body
    return f"{answer['status']} {told}"


def walk(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Paths of the smallest parts that differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from walk(one.get(name, ABSENT), other.get(name, ABSENT), f"{path}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from walk(left, right, f"{path}.{number}")
    elif one != other or type(one) is not type(other):
        yield path, one, other
