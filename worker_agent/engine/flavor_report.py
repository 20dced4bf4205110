"""FlavorReport: what a cluster tells of one flavor's nodes, gathered once and written as finely as space allows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from worker_agent.api.document import Document
from worker_agent.engine import flavor_nodes, node_sizes, resources
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.node_room import NodeRow
from worker_agent.engine.physical_room import FreeNodes, PhysicalRoom
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.resources import Requests
from worker_agent.engine.tas import leaf_report

Path = tuple[str, ...]
"""Values of the topology's labels, from the top."""


class FlavorReport:
    """``leaves``: the topology leaf by leaf; None without one, or where it would take too much space."""

    def __init__(self, state: QueueState, flavor: FlavorRow, room: PhysicalRoom, shapes: Iterable[Requests]) -> None:
        every = state.catalog.nodes.nodes.values()
        nodes = flavor_nodes.nodes_of(flavor, every)
        self._name = flavor.name
        self._nodes = len(nodes)
        self._vectors = room.vectors(flavor.name)
        self._sizes = node_sizes.largest(flavor, every)
        self._gangs = [
            {"requests": resources.documents(shape), "count": room.largest_gang(shape, flavor.name)} for shape in shapes
        ]
        labels = state.topology.levels(flavor.name)
        self._levels = dict(zip(labels, _domains(nodes, labels), strict=True))
        placed = state.topology.room(flavor.name)
        self.leaves = None if placed is None else leaf_report.current(placed)

    def document(self, most: int) -> Document:
        """Without leaves; histograms of at most so many vectors."""
        document: Document = {
            "flavor": self._name,
            "nodes": self._nodes,
            "freeNodes": [_vector(vector) for vector in coarsened(self._vectors, most)],
        }
        if self._sizes:
            document["largestNodes"] = [_vector(size) for size in node_sizes.merged(self._sizes, most)]
        if self._gangs:
            document["largestGangs"] = self._gangs
        if self._levels:
            document["levels"] = [
                {"nodeLabel": label, "domains": [_vector(v) for v in coarsened(domains, most)]}
                for label, domains in self._levels.items()
            ]
        return document


def _vector(vector: FreeNodes) -> Document:
    return {"free": resources.documents(vector.free), "count": vector.count}


def _domains(nodes: Iterable[NodeRow], labels: Sequence[str]) -> list[list[FreeNodes]]:
    """What is free in the domains of each level, equal ones together; a node is in none below a label it lacks."""
    levels: list[dict[Path, Requests]] = [{} for _ in labels]
    for node in nodes:
        own = node.labels
        path = tuple(takewhile(bool, (own.get(label, "") for label in labels)))
        if path:
            _add(levels[len(path) - 1], path, {name: max(0, amount) for name, amount in node.free.items()})
    for depth in range(len(labels) - 1, 0, -1):
        for path, free in levels[depth].items():
            _add(levels[depth - 1], path[:-1], free)
    return [_alike(level.values()) for level in levels]


def _add(domains: dict[Path, Requests], path: Path, free: Mapping[str, int]) -> None:
    known = domains.get(path)
    if known is None:
        domains[path] = dict(free)
        return
    for name, amount in free.items():
        known[name] = resources.plus(known.get(name, 0), amount)


def _alike(domains: Iterable[Requests]) -> list[FreeNodes]:
    """Largest first."""
    counts = Counter(tuple(sorted(free.items())) for free in domains)
    return [FreeNodes(dict(vector), count) for vector, count in sorted(counts.items(), reverse=True)]


def coarsened(vectors: Sequence[FreeNodes], most: int) -> list[FreeNodes]:
    """At most ``most`` vectors; neighbours are merged to what both have."""
    if len(vectors) <= most:
        return list(vectors)
    size = -(-len(vectors) // most)
    return [_merged(vectors[start : start + size]) for start in range(0, len(vectors), size)]


def _merged(vectors: Sequence[FreeNodes]) -> FreeNodes:
    shared: Mapping[str, int] = vectors[0].free
    for vector in vectors[1:]:
        shared = {name: min(amount, vector.free.get(name, 0)) for name, amount in shared.items()}
    return FreeNodes(shared, sum(vector.count for vector in vectors))
