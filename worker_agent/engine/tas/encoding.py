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


def made(pairs: Iterable[tuple[tuple[str, ...], int]]) -> tuple[Domain, ...]:
    """A domain of each (values, pods); hundreds are quicker this way."""
    return tuple(map(_MADE, pairs))


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


def encode(levels: Sequence[str], domains: Sequence[Domain], by_prefix: bool = True) -> list[Document]:
    """The slices; several only for hostnames with common prefixes, and only where one would not be shorter."""
    if not domains:
        return []
    if not by_prefix:
        return [_slice(domains)]
    runs = _runs(domains) if levels[-1] == HOSTNAME_LABEL and len(domains) > 1 else [domains]
    slices = [_slice(chunk) for run in runs for chunk in _chunks(run)]
    if len(slices) > 1 and len(domains) <= MAX_DOMAINS:
        single = [_slice(domains)]
        if len(msgspec.json.encode(single)) < len(msgspec.json.encode(slices)):
            return single
    return slices


def _chunks(run: Sequence[Domain]) -> Iterator[Sequence[Domain]]:
    for start in range(0, len(run), MAX_DOMAINS):
        yield run[start : start + MAX_DOMAINS]


def _runs(domains: Sequence[Domain]) -> list[Sequence[Domain]]:
    """Neighbours that share the longest prefix that some other host has too; fewer candidates where runs are many."""
    if _alike([domain.values[-1] for domain in domains]):
        return [domains]
    candidates = [_prefixes(domain.values[-1]) for domain in domains]
    seen: dict[str, int] = {}
    for prefixes in candidates:
        for prefix in prefixes:
            seen[prefix] = seen.get(prefix, 0) + 1
    deepest = max(map(len, candidates))
    for depth in range(deepest, 0, -1):
        keys = [next((p for p in reversed(prefixes[:depth]) if seen[p] > 1), "") for prefixes in candidates]
        runs = _split(domains, keys)
        if sum(-(-len(run) // MAX_DOMAINS) for run in runs) <= MAX_SLICES:
            return runs
    return [domains]


def _alike(names: Sequence[str]) -> bool:
    """Whether it is plain that all have the same prefixes: no hyphen but those of the one that the first ends in."""
    low, high = min(names), max(names)
    prefix = low[: low.rfind("-", 0, len(low) - 1) + 1]
    return high.startswith(prefix) and "".join(names).count("-") == len(names) * prefix.count("-")


def _prefixes(name: str) -> list[str]:
    """Every prefix that ends in a hyphen, shortest first; the whole name is none."""
    return [name[: index + 1] for index, letter in enumerate(name[:-1]) if letter == "-"]


def _split(domains: Sequence[Domain], keys: Sequence[str]) -> list[Sequence[Domain]]:
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    return [domains[start:end] for start, end in zip(starts, [*starts[1:], len(keys)], strict=True)]


def _slice(domains: Sequence[Domain]) -> Document:
    counts = [domain.pods for domain in domains]
    alike = counts.count(counts[0]) == len(counts)
    columns = zip(*(domain.values for domain in domains), strict=True)
    return {
        "domainCount": len(domains),
        "podCounts": {"universal": counts[0]} if alike else {"individual": counts},
        "valuesPerLevel": [_column(column) for column in columns],
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
    individual["roots"] = [value[prefix : len(value) - suffix] for value in values]
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
