"""TopologyAssignment: how many pods of a pod set run in which domain, in the order of their ranks (spec/tas 11.1)."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from worker_agent.api import topology_encoding
from worker_agent.api.document import Document
from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.api.topology_assignment import TopologyAssignment as View
from worker_agent.api.topology_encoding import Columns, Domain


class _Fields(NamedTuple):
    levels: tuple[str, ...]
    domains: tuple[Domain, ...]


class TopologyAssignment(_Fields):
    """``levels`` are node label keys; each domain has one value per level. Immutable."""

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """What each domain's leaf is called: by its host, or by all its values."""
        if self.levels[-1] == HOSTNAME_LABEL:
            return tuple([domain.values[-1] for domain in self.domains])
        return tuple([",".join(domain.values) for domain in self.domains])

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Pods per domain."""
        return tuple([domain.pods for domain in self.domains])

    @property
    def pods(self) -> int:
        return sum(domain.pods for domain in self.domains)

    def document(self, by_prefix: bool = True) -> Document:
        """As the API holds it; ``by_prefix`` allows several slices where that is shorter."""
        if len(self.levels) == 1:
            columns: Sequence[Sequence[str]] = (self.leaves,)
        else:
            columns = list(zip(*(domain.values for domain in self.domains), strict=True))
        slices = topology_encoding.encode(self.levels, Columns(columns, self.counts), by_prefix)
        return {"levels": list(self.levels), "slices": slices}

    def touches(self, node: str) -> bool:
        return any(domain.values[-1] == node for domain in self.domains)

    def without(self, node: str) -> "TopologyAssignment":
        """What is left when the node is gone."""
        return TopologyAssignment(self.levels, tuple(d for d in self.domains if d.values[-1] != node))

    def first(self, pods: int) -> "TopologyAssignment":
        """Cut off from the end, so that ``pods`` are left."""
        kept: list[Domain] = []
        for domain in self.domains:
            taken = min(domain.pods, pods)
            if taken > 0:
                kept.append(Domain(domain.values, taken))
            pods -= taken
        return TopologyAssignment(self.levels, tuple(kept))

    def merged(self, other: "TopologyAssignment", full_path: Callable[[tuple[str, ...]], str]) -> "TopologyAssignment":
        """Both together, in the order of the joined values over all levels (spec/tas 11.2)."""
        return TopologyAssignment(self.levels, tuple(_joined((*self.domains, *other.domains), full_path)))


def of_leaves(
    levels: tuple[str, ...], values: Iterable[tuple[str, ...]], leaves: tuple[str, ...], pods: tuple[int, ...]
) -> TopologyAssignment:
    """Leaf by leaf: its assigned values, what it is called and how many pods it gets."""
    found = TopologyAssignment(levels, topology_encoding.made(values, pods))
    # What the properties of these names would find.
    found.__dict__.update(leaves=leaves, counts=pods)
    return found


def _joined(domains: Iterable[Domain], full_path: Callable[[tuple[str, ...]], str]) -> Iterable[Domain]:
    counts: dict[tuple[str, ...], int] = {}
    for domain in sorted(domains, key=lambda domain: full_path(domain.values)):
        counts[domain.values] = counts.get(domain.values, 0) + domain.pods
    return (Domain(values, count) for values, count in counts.items())


def decode(document: Document | None) -> TopologyAssignment | None:
    """From the API's form; None for None."""
    if not document:
        return None
    return TopologyAssignment(tuple(document["levels"]), tuple(topology_encoding.decode(document.get("slices") or ())))


def written(view: View | None) -> Document | None:
    """The form in which it was written, to be written again where nothing changed."""
    if view is None:
        return None
    return {"levels": list(view.levels), "slices": [msgspec.json.decode(part) for part in view.slices]}


def of_view(view: View | None) -> TopologyAssignment | None:
    """From a Workload's status; None for None."""
    if view is None:
        return None
    slices = [msgspec.json.decode(part) for part in view.slices]
    return TopologyAssignment(tuple(view.levels), tuple(topology_encoding.decode(slices)))
