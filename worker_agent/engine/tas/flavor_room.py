"""FlavorRoom: the nodes of one flavor with a topology, what is free on them and what placed pods use (spec/tas 5).

``free`` is what allocatable leaves beside pods that no topology placed; ``left`` is that without the pods of admitted
workloads. Searches change ``left`` through the journal of the state, so a trial undoes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.api.pod import Toleration
from worker_agent.engine.resources import PODS, Requests
from worker_agent.engine.tas import feasibility
from worker_agent.engine.tas.ask import PodDemand
from worker_agent.engine.tas.feasibility import EVERYWHERE, HostKinds, Verdict
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.tree import Ints, Path, TopologyTree
from worker_agent.engine.trial import Journal


class NodeFacts(NamedTuple):
    """What placement needs to know of one schedulable node. ``free``: allocatable without pods of others."""

    name: str
    labels: Mapping[str, str]
    taints: feasibility.TaintSet
    free: Requests


class _Cells:
    """``left`` as a table of the journal: a key is a block of cells, its value what they hold."""

    __slots__ = ("matrix",)

    def __init__(self, matrix: Ints) -> None:
        self.matrix = matrix

    def __contains__(self, block: object) -> bool:
        return True

    def get(self, block: tuple[Ints, Ints], default: object = None) -> Ints:
        found: Ints = self.matrix[block]
        return found

    def __getitem__(self, block: tuple[Ints, Ints]) -> Ints:
        return self.get(block)

    def __delitem__(self, block: tuple[Ints, Ints]) -> None:
        """A cell always holds something."""

    def __setitem__(self, block: tuple[Ints, Ints], value: Ints) -> None:
        self.matrix[block] = value


class FlavorRoom:
    """One version of a flavor's node set; other nodes, labels or levels make a new one, other amounts do not."""

    def __init__(
        self,
        name: str,
        topology: str,
        tolerations: Sequence[Toleration],
        levels: Sequence[str],
        nodes: Iterable[NodeFacts],
    ) -> None:
        self.name = name
        self.topology = topology
        self._tolerations = tuple(tolerations)
        self._levels = tuple(levels)
        by_path = _leaves(self._levels, nodes)
        self.tree = TopologyTree(self._levels, [path for path, _ in by_path])
        self._hosts = [members for _, members in by_path]
        self._leaf_of_node = {node.name: leaf for leaf, members in enumerate(self._hosts) for node in members}
        self.resources: dict[str, int] = {}
        for members in self._hosts:
            for node in members:
                for resource in node.free:
                    self.resources.setdefault(resource, len(self.resources))
        self.free: Ints = np.zeros((len(self.resources), len(by_path)), dtype=np.int64)
        for leaf, members in enumerate(self._hosts):
            self._fill(leaf, members)
        self._cells = _Cells(self.free.copy())
        self._kinds: HostKinds | None = None
        self._verdicts: dict[Any, Verdict] = {}

    def _fill(self, leaf: int, members: Sequence[NodeFacts]) -> None:
        for node in members:
            for resource, amount in node.free.items():
                self.free[self.resources[resource], leaf] += amount

    @property
    def left(self) -> Ints:
        return self._cells.matrix

    # -- nodes -----------------------------------------------------------------------------------------------------

    def follow(self, name: str, node: NodeFacts | None) -> bool:
        """Take over what became of a node; None when it is not one of the flavor's now.

        False when the set of nodes, or what sets them apart, changed: then the room has to be built anew.
        """
        leaf = self._leaf_of_node.get(name)
        if leaf is None or node is None:
            return leaf is None and node is None
        members = self._hosts[leaf]
        place = next(i for i, member in enumerate(members) if member.name == name)
        old = members[place]
        if old.labels != node.labels or old.taints != node.taints or not node.free.keys() <= self.resources.keys():
            return False
        members[place] = node
        for resource in old.free.keys() | node.free.keys():
            grown = node.free.get(resource, 0) - old.free.get(resource, 0)
            self.free[self.resources[resource], leaf] += grown
            self.left[self.resources[resource], leaf] += grown
        return True

    # -- usage -----------------------------------------------------------------------------------------------------

    def count(self, pods: PlacedPods, sign: int) -> None:
        """Count placed pods for good (or with ``sign`` -1 no longer). Leaves that do not exist count for nothing."""
        block, taken = self._cells_of(pods)
        self.left[block] -= sign * taken

    def use(self, pods: PlacedPods, sign: int, journal: Journal) -> None:
        """The same inside a trial."""
        block, taken = self._cells_of(pods)
        journal.put(self._cells, block, self.left[block] - sign * taken)

    def _cells_of(self, pods: PlacedPods) -> tuple[tuple[Ints, Ints], Ints]:
        """(rows and columns of ``left``, amounts)."""
        places, leaves = self.tree.leaves_of(pods.leaves)
        asked = [(self.resources[r], amount) for r, amount in pods.requests.items() if amount and r in self.resources]
        rows = np.array([row for row, _ in asked], dtype=np.int64)[:, None]
        counts = np.array([pods.counts[place] for place in places], dtype=np.int64)
        return (rows, leaves), np.array([amount for _, amount in asked], dtype=np.int64)[:, None] * counts

    def holds(self, pods: PlacedPods) -> bool:
        """Whether each leaf exists and has room for its pods, by everything but the number of pods (spec/tas 13.3)."""
        places, leaves = self.tree.leaves_of(pods.leaves)
        if len(places) < len(pods.leaves):
            return False
        counts = np.array(pods.counts, dtype=np.int64)
        for resource, amount in pods.requests.items():
            if resource == PODS or amount <= 0:
                continue
            row = self.resources.get(resource)
            if row is None or bool((self.left[row, leaves] < counts * amount).any()):
                return False
        return True

    def remaining(self, resources: Iterable[str], assumed: Iterable[PlacedPods], empty: bool) -> dict[str, Ints]:
        """Per resource what is left on each leaf beside ``assumed``; ``empty``: as if no placed pod ran."""
        matrix = self.free if empty else self.left
        room: dict[str, Ints] = {r: matrix[self.resources[r]] for r in resources if r in self.resources}
        fresh: set[str] = set()
        for pods in assumed:
            places, leaves = self.tree.leaves_of(pods.leaves)
            counts = np.array([pods.counts[place] for place in places], dtype=np.int64)
            for resource, amount in pods.requests.items():
                if resource not in room or not amount:
                    continue
                if resource not in fresh:
                    room[resource] = room[resource].copy()
                    fresh.add(resource)
                room[resource][leaves] -= counts * amount
        return room

    # -- feasibility -----------------------------------------------------------------------------------------------

    def judge(self, demand: PodDemand, scored: bool) -> Verdict:
        """Where pods with this demand may run. Topologies without hosts do not ask. Raises selectors.SelectorError."""
        if not self.tree.hostname:
            return EVERYWHERE
        key = (_signature(demand), scored)
        found = self._verdicts.get(key)
        if found is None:
            if self._kinds is None:
                hosts = [members[0] for members in self._hosts]
                self._kinds = HostKinds([h.name for h in hosts], [h.labels for h in hosts], [h.taints for h in hosts])
            found = self._verdicts[key] = self._kinds.judge(demand, self._tolerations, scored)
        return found


def _signature(demand: PodDemand) -> Any:
    tolerations = tuple((t.key, t.operator, t.value, t.effect) for t in demand.tolerations)
    return tolerations, tuple(sorted(demand.node_selector.items())), _affinity_signature(demand)


def _affinity_signature(demand: PodDemand) -> bytes:
    return b"" if demand.affinity is None else feasibility.encoded(demand.affinity)


def _leaves(levels: Sequence[str], nodes: Iterable[NodeFacts]) -> list[tuple[Path, list[NodeFacts]]]:
    """Leaves in path order. Nodes with one hostname are one leaf, that of the first by name."""
    members: dict[Any, list[NodeFacts]] = {}
    paths: dict[Any, Path] = {}
    hostname = levels[-1] == HOSTNAME_LABEL
    for node in sorted(nodes, key=lambda node: node.name):
        path = tuple(node.labels[level] for level in levels)
        leaf = path[-1] if hostname else path
        paths.setdefault(leaf, path)
        members.setdefault(leaf, []).append(node)
    return sorted(((paths[leaf], found) for leaf, found in members.items()), key=lambda item: item[0])
