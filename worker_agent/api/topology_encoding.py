"""The compact form of a topology assignment in the API, and back (spec/tas 11.3 and 11.4).

Domains keep their order; decoding what was encoded gives the same list. Lengths and common parts are those of bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.names import HOSTNAME_LABEL

MAX_SLICES: Final = 1000
MAX_DOMAINS: Final = 100_000
"""Domains of one slice."""


class Domain(NamedTuple):
    """``pods`` pods in the domain with these values, one per level."""

    values: tuple[str, ...]
    pods: int


_MADE: Final = partial(tuple.__new__, Domain)


def made(values: Iterable[tuple[str, ...]], pods: Iterable[int]) -> tuple[Domain, ...]:
    """A domain of each pair; hundreds are quicker this way."""
    return tuple(map(_MADE, zip(values, pods, strict=True)))


def decode(slices: Iterable[Document]) -> Iterator[Domain]:
    for part in slices:
        columns = [_values(column, part["domainCount"]) for column in part["valuesPerLevel"]]
        counts = part["podCounts"]
        each = counts.get("individual") or [counts.get("universal", 0)] * part["domainCount"]
        yield from map(Domain, zip(*columns, strict=True), each)


def _values(column: Document, count: int) -> list[str]:
    if column.get("universal") is not None:
        return [column["universal"]] * count
    individual = column["individual"]
    prefix, suffix = individual.get("prefix") or "", individual.get("suffix") or ""
    return [f"{prefix}{root}{suffix}" for root in individual["roots"]]


class Columns(NamedTuple):
    """Domains side by side: their values level by level, and the pods of each."""

    values: Sequence[Sequence[str]]
    pods: Sequence[int]

    def part(self, start: int, end: int) -> "Columns":
        if start == 0 and end >= len(self.pods):
            return self
        return Columns([column[start:end] for column in self.values], self.pods[start:end])


Run = tuple[int, int]
"""Neighbouring domains: the first, and the one behind the last."""


def encode(levels: Sequence[str], domains: Columns, by_prefix: bool = True) -> list[Document]:
    """The slices; several only for hostnames with common prefixes, and only where one would not be shorter."""
    count = len(domains.pods)
    if not count:
        return []
    if not by_prefix:
        return [_slice(domains)]
    runs = _runs(domains.values[-1]) if levels[-1] == HOSTNAME_LABEL and count > 1 else [(0, count)]
    slices = [_slice(domains.part(start, end)) for run in runs for start, end in _chunks(run)]
    if len(slices) > 1 and count <= MAX_DOMAINS:
        single = [_slice(domains)]
        if len(msgspec.json.encode(single)) < len(msgspec.json.encode(slices)):
            return single
    return slices


def _chunks(run: Run) -> Iterator[Run]:
    first, end = run
    for start in range(first, end, MAX_DOMAINS):
        yield start, min(end, start + MAX_DOMAINS)


def _runs(hosts: Sequence[str]) -> list[Run]:
    """Neighbours that share the longest prefix that some other host has too; fewer candidates where runs are many."""
    if _alike(hosts):
        return [(0, len(hosts))]
    candidates = [_prefixes(host) for host in hosts]
    seen: dict[str, int] = {}
    for prefixes in candidates:
        for prefix in prefixes:
            seen[prefix] = seen.get(prefix, 0) + 1
    deepest = max(map(len, candidates))
    for depth in range(deepest, 0, -1):
        keys = [next((p for p in reversed(prefixes[:depth]) if seen[p] > 1), "") for prefixes in candidates]
        runs = _split(keys)
        if sum(-(-(end - start) // MAX_DOMAINS) for start, end in runs) <= MAX_SLICES:
            return runs
    return [(0, len(hosts))]


def _alike(names: Sequence[str]) -> bool:
    """Whether it is plain that all have the same prefixes: no hyphen but those of the one that the first ends in."""
    low, high = min(names), max(names)
    prefix = low[: low.rfind("-", 0, len(low) - 1) + 1]
    return high.startswith(prefix) and "".join(names).count("-") == len(names) * prefix.count("-")


def _prefixes(name: str) -> list[str]:
    """Every prefix that ends in a hyphen, shortest first; the whole name is none."""
    return [name[: index + 1] for index, letter in enumerate(name[:-1]) if letter == "-"]


def _split(keys: Sequence[str]) -> list[Run]:
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    return list(zip(starts, [*starts[1:], len(keys)], strict=True))


def _slice(domains: Columns) -> Document:
    counts = domains.pods
    alike = counts.count(counts[0]) == len(counts)
    return {
        "domainCount": len(counts),
        "podCounts": {"universal": counts[0]} if alike else {"individual": list(counts)},
        "valuesPerLevel": [_column(column) for column in domains.values],
    }


def _column(values: Sequence[str]) -> Document:
    low, high = min(values), max(values)
    if low == high:
        return {"universal": low}
    prefix = _common(low, high)
    suffix = _common_end(values)
    shortest = min(map(len, values))
    prefix = min(prefix, shortest - suffix)
    individual: Document = {}
    if prefix:
        individual["prefix"] = low[:prefix]
    if suffix:
        individual["suffix"] = low[-suffix:]
    if suffix:
        individual["roots"] = [value[prefix : len(value) - suffix] for value in values]
    else:
        individual["roots"] = [value[prefix:] for value in values]
    return {"individual": individual}


def _common_end(values: Sequence[str]) -> int:
    """Length of the common suffix of all strings."""
    if values[0][-1:] != values[-1][-1:]:
        return 0
    mirrored = [value[::-1] for value in values]
    return _common(min(mirrored), max(mirrored))


def _common(low: str, high: str) -> int:
    """Length of the common prefix of all strings between the least and the greatest."""
    length = min(len(low), len(high))
    return next((i for i in range(length) if low[i] != high[i]), length)
