"""The leaves of a flavor's topology as a report holds them: short, and exact enough to place pods by.

A hub that knows each leaf by name needs nothing else: what placed pods use it learns from their workloads. Leaves come
in path order, as runs of equal ones: ``b1/r1/host-07+15 0`` is the sixteen leaves ``host-07`` to ``host-22`` of rack
``r1`` in block ``b1``, all of kind 0; a value that is left out is that of the run before.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from worker_agent.api.cluster_capacity import LeafRoom
from worker_agent.api.document import Document
from worker_agent.engine import resources
from worker_agent.engine.resources import Requests
from worker_agent.engine.tas.feasibility import TaintSet
from worker_agent.engine.tas.flavor_room import FlavorRoom, NodeFacts

MOST_VALUES: Final = 8
"""Node labels with so many values at most are told: kinds of machines, not serial numbers."""

LONGEST: Final = 16_000
"""Characters of all runs together; what is longer is not reported."""

MOST_LEAVES: Final = 12_000
"""More are not looked at: they would hardly fit, and the engine waits meanwhile."""

_KIND_LENGTH: Final = 60
"""What a kind counts for."""

_NUMBERED: Final = re.compile(r"(.*?)(\d{1,15})\Z")


class Leaf(NamedTuple):
    """What is free beside pods that no topology placed, and which taints keep pods away."""

    path: tuple[str, ...]
    taints: TaintSet
    free: Requests
    labels: tuple[tuple[str, str], ...] = ()


class LeafReportError(ValueError):
    """A run cannot be read; the text quotes it."""


def leaves_of(room: FlavorRoom) -> Iterator[Leaf]:
    """In path order. Free room below zero counts as none."""
    columns = room.free.T.tolist()
    for path, members, free in zip(room.tree.paths, room.members(), columns, strict=True):
        yield Leaf(path, members[0].taints, {r: max(0, free[row]) for r, row in room.resources.items()})


_known: Final[WeakKeyDictionary[FlavorRoom, tuple[int, Document | None]]] = WeakKeyDictionary()


def current(room: FlavorRoom) -> Document | None:
    """As ``report``, worked out once per version of the room."""
    known = _known.get(room)
    if known is None or known[0] != room.version:
        known = _known[room] = (room.version, report(room))
    return known[1]


def report(room: FlavorRoom) -> Document | None:
    """The report's ``leaves``, with labels where those do not take too much space; None where even names do."""
    if len(room.tree.paths) > MOST_LEAVES:
        return None
    leaves = list(leaves_of(room))
    keys = label_keys(room)
    if keys:
        labels = [members[0].labels for members in room.members()]
        told = [
            leaf._replace(labels=tuple((key, node[key]) for key in keys if key in node))
            for leaf, node in zip(leaves, labels, strict=True)
        ]
        found = describe(told)
        if found is not None:
            return {**found, "labelKeys": keys}
    return describe(leaves)


def label_keys(room: FlavorRoom) -> list[str]:
    """Node labels beside the levels that have few values; only where pods are told apart by them."""
    if not room.tree.hostname:
        return []
    values: dict[str, set[str]] = {}
    for members in room.members():
        for key, value in members[0].labels.items():
            seen = values.setdefault(key, set())
            if len(seen) <= MOST_VALUES:
                seen.add(value)
    return sorted(key for key, seen in values.items() if key not in room.tree.levels and len(seen) <= MOST_VALUES)


def describe(leaves: Iterable[Leaf]) -> Document | None:
    """Kinds and runs; None where they would take more than LONGEST."""
    kinds: dict[_Kind, int] = {}
    runs: list[str] = []
    length = 0
    before: tuple[str, ...] = ()
    known = 0
    for path, more, kind in _runs((leaf, kinds.setdefault(_kind(leaf), len(kinds))) for leaf in leaves):
        shown = [value if value != old else "" for value, old in zip(path, before or [""] * len(path), strict=True)]
        text = "/".join([*shown[:-1], path[-1]])
        runs.append(f"{text}+{more} {kind}" if more else f"{text} {kind}")
        length += len(runs[-1]) + (_KIND_LENGTH if len(kinds) > known else 0)
        known = len(kinds)
        if length > LONGEST:
            return None
        before = path
    return {"kinds": [_kind_document(kind) for kind in kinds], "runs": runs}


class _Kind(NamedTuple):
    taints: TaintSet
    free: tuple[tuple[str, int], ...]
    labels: tuple[tuple[str, str], ...]


def _kind(leaf: Leaf) -> _Kind:
    return _Kind(leaf.taints, tuple(leaf.free.items()), leaf.labels)


def _kind_document(kind: _Kind) -> Document:
    document: Document = {"free": resources.documents(dict(kind.free))}
    if kind.labels:
        document["labels"] = dict(kind.labels)
    if kind.taints:
        document["taints"] = [
            {"key": key, "effect": effect, **({"value": value} if value else {})} for key, value, effect in kind.taints
        ]
    return document


def _runs(leaves: Iterable[tuple[Leaf, int]]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """(path of the first leaf, how many follow it, kind)."""
    start: tuple[str, ...] = ()
    more = kind = 0
    expected: tuple[str, ...] | None = None
    for leaf, this_kind in leaves:
        if leaf.path == expected and this_kind == kind:
            more += 1
        else:
            if start:
                yield start, more, kind
            start, more, kind = leaf.path, 0, this_kind
        expected = _next(leaf.path)
    if start:
        yield start, more, kind


def _next(path: tuple[str, ...]) -> tuple[str, ...] | None:
    """The path whose last value is counted one up, in as many digits; None where there is none such."""
    value = _counted_up(path[-1], 1)
    return None if value is None else (*path[:-1], value)


def _counted_up(value: str, by: int) -> str | None:
    found = _NUMBERED.match(value)
    if found is None:
        return None
    stem, digits = found.groups()
    number = str(int(digits) + by).zfill(len(digits))
    return stem + number if len(number) == len(digits) else None


def facts(levels: Sequence[str], labels: dict[str, str], report: LeafRoom) -> list[NodeFacts]:
    """The leaves as nodes of a flavor with these topology levels and node labels. Their names are not the nodes' own.

    Raises LeafReportError, quantity.QuantityError.
    """
    kinds = [
        (
            {**(kind.labels or {}), **labels},
            tuple((t.key, t.value, t.effect) for t in kind.taints or ()),
            resources.parse(kind.free),
        )
        for kind in report.kinds or ()
    ]
    found = []
    for path, number in _expanded(len(levels), len(kinds), report.runs or ()):
        common, taints, free = kinds[number]
        found.append(NodeFacts("/".join(path), {**common, **dict(zip(levels, path, strict=True))}, taints, free))
    return found


def _expanded(levels: int, kinds: int, runs: Iterable[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    before = [""] * levels
    for run in runs:
        text, _, kind = run.rpartition(" ")
        names, _, more = text.partition("+")
        path = [value or old for value, old in zip(names.split("/"), before, strict=False)]
        count = int(more) if more.isdigit() else 0
        last = _counted_up(path[-1], count) if path and count else ""
        if len(path) != levels or not all(path) or last is None or not kind.isdigit() or int(kind) >= kinds:
            raise LeafReportError(f"{run!r} is no run of leaves with {levels} levels and {kinds} kinds")
        for step in range(count + 1):
            yield (*path[:-1], _counted_up(path[-1], step) or path[-1]), int(kind)
        before = path
