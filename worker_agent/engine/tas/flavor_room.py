"""FlavorRoom: the nodes of one flavor with a topology, what is free on them and what placed pods use (spec/tas 5).

``free`` is what allocatable leaves beside pods that no topology placed; ``left`` is that without the pods of admitted
workloads. Searches change ``left`` through the journal of the state, so a trial undoes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.api.pod import Toleration
from worker_agent.engine.resources import PODS, Requests
from worker_agent.engine.tas import feasibility
from worker_agent.engine.tas.ask import PodDemand
from worker_agent.engine.tas.cells import Block, Cells
from worker_agent.engine.tas.feasibility import EVERYWHERE, HostKinds, Verdict
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.tree import Ints, Path, TopologyTree
from worker_agent.engine.trial import Journal

MOST_BLOCKS: Final = 256
"""Places of pods that are remembered by what they take of ``left``."""


class NodeFacts(NamedTuple):
    """What placement needs to know of one schedulable node. ``free``: allocatable without pods of others."""

    name: str
    labels: Mapping[str, str]
    taints: feasibility.TaintSet
    free: Requests


Located = tuple[Block, Ints]
"""Cells, and what pods take of them."""


class Shortage(NamedTuple):
    """A leaf with less than ``wanted`` of a resource."""

    room: "FlavorRoom | None"
    cells: Cells | None
    row: int
    leaf: int
    wanted: int

    def persists(self) -> bool:
        """Whether it is certain that it does."""
        room = self.room
        return room is not None and room.cells is self.cells and int(room.left[self.row, self.leaf]) < self.wanted


ABSENT: Final = Shortage(None, None, 0, 0, 0)
"""A leaf or a resource that is not there."""


class FlavorRoom:
    """The nodes of one version of a flavor, which come, go and change in place."""

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
        self._leaf_of_node = {node.name: self.tree.leaf_id(path) for path, members in by_path for node in members}
        self.resources: dict[str, int] = {}
        for members in self._hosts:
            for node in members:
                for resource in node.free:
                    self.resources.setdefault(resource, len(self.resources))
        self.free: Ints = np.array([self._sum(members) for members in self._hosts], dtype=np.int64)
        self.free = np.ascontiguousarray(self.free.reshape(len(by_path), len(self.resources)).T)
        self.cells = Cells(self.free.copy())
        self._orphans: dict[str, dict[str, int]] = {}
        """What pods use on leaves that are not there (now)."""
        self._blocks: dict[int, tuple[PlacedPods, Located]] = {}
        """By identity of the pods."""
        self._kinds: HostKinds | None = None
        self._verdicts: dict[Any, Verdict] = {}
        self.version = 0
        """Grows with every change of the nodes and of what pods of others use there."""

    def _sum(self, members: Sequence[NodeFacts]) -> list[int]:
        """What is free on a leaf, by resource."""
        if len(members) == 1:
            free = members[0].free
            return [free.get(resource, 0) for resource in self.resources]
        return [sum(node.free.get(resource, 0) for node in members) for resource in self.resources]

    def members(self) -> Sequence[Sequence[NodeFacts]]:
        """The nodes of each leaf, in path order."""
        return self._hosts

    @property
    def left(self) -> Ints:
        return self.cells.matrix

    # -- nodes -----------------------------------------------------------------------------------------------------

    def follow(self, name: str, node: NodeFacts | None) -> bool:
        """Take over what became of a node; None when it is not one of the flavor's now.

        False for what does not go in place (a new resource, a host with several nodes): then build anew.
        """
        leaf_id = self._leaf_of_node.get(name)
        if leaf_id is None:
            return node is None or self._add(node)
        leaf = self.tree.leaf_named(leaf_id)
        if leaf is None:
            return False
        members = self._hosts[leaf]
        old = next(member for member in members if member.name == name)
        if node is not None and (old.labels, old.taints) == (node.labels, node.taints):
            return self._change(leaf, old, node)
        if len(members) > 1:
            return False
        self._drop(leaf, leaf_id, name)
        return node is None or self._add(node)

    def _change(self, leaf: int, old: NodeFacts, node: NodeFacts) -> bool:
        if not node.free.keys() <= self.resources.keys():
            return False
        self.version += 1
        members = self._hosts[leaf]
        members[members.index(old)] = node
        for resource in old.free.keys() | node.free.keys():
            grown = node.free.get(resource, 0) - old.free.get(resource, 0)
            self.free[self.resources[resource], leaf] += grown
            block = self.cells.block(np.array([self.resources[resource]]), np.array([leaf]))
            self.cells[block] = self.cells[block] + grown
        return True

    def _add(self, node: NodeFacts) -> bool:
        path = tuple(node.labels[level] for level in self._levels)
        leaf_id = self.tree.leaf_id(path)
        if not node.free.keys() <= self.resources.keys() or self.tree.leaf_named(leaf_id) is not None:
            return False
        self.version += 1
        leaf = self.tree.insert(path)
        self._hosts.insert(leaf, [node])
        self._leaf_of_node[node.name] = leaf_id
        free = np.array(self._sum([node]), dtype=np.int64)
        used = self._orphans.pop(leaf_id, {})
        self.free = np.insert(self.free, leaf, free, axis=1)
        taken = np.array([used.get(resource, 0) for resource in self.resources], dtype=np.int64)
        self.cells = Cells(np.insert(self.left, leaf, free - taken, axis=1))
        self._verdicts.clear()
        self._blocks.clear()
        if self._kinds is not None:
            self._kinds.insert(leaf, node.name, node.labels, node.taints)
        return True

    def _drop(self, leaf: int, leaf_id: str, name: str) -> None:
        taken = self.free[:, leaf] - self.left[:, leaf]
        self._orphans[leaf_id] = {resource: int(taken[row]) for resource, row in self.resources.items()}
        self.version += 1
        self.tree.remove(leaf)
        del self._hosts[leaf], self._leaf_of_node[name]
        self.free = np.delete(self.free, leaf, axis=1)
        self.cells = Cells(np.delete(self.left, leaf, axis=1))
        self._verdicts.clear()
        self._blocks.clear()
        if self._kinds is not None:
            self._kinds.remove(leaf)

    # -- usage -----------------------------------------------------------------------------------------------------

    def count(self, pods: PlacedPods, sign: int) -> None:
        """Count placed pods for good (or with ``sign`` -1 no longer)."""
        block, taken = self._cells_of(pods)
        self.cells[block] = self.cells[block] - sign * taken
        if len(block.columns) < len(pods.leaves):
            self._count_orphans(pods, sign)

    def count_all(self, placed: Iterable[PlacedPods]) -> None:
        """Count many for good at once."""
        rows: list[int] = []
        leaves: list[int] = []
        amounts: list[int] = []
        for pods in placed:
            asked = [(self.resources[r], amount) for r, amount in pods.requests.items() if r in self.resources]
            found = [self.tree.leaf_named(leaf_id) for leaf_id in pods.leaves]
            for leaf, count in zip(found, pods.counts, strict=True):
                if leaf is not None:
                    for row, amount in asked:
                        rows.append(row)
                        leaves.append(leaf)
                        amounts.append(amount * count)
            if None in found:
                self._count_orphans(pods, 1)
        left = self.left.copy()
        cells = (np.array(rows, dtype=np.int64), np.array(leaves, dtype=np.int64))
        np.subtract.at(left, cells, np.array(amounts, dtype=np.int64))
        self.cells = Cells(left)
        self._blocks.clear()

    def _count_orphans(self, pods: PlacedPods, sign: int) -> None:
        """They count should their leaf come (back)."""
        for leaf_id, count in zip(pods.leaves, pods.counts, strict=True):
            if self.tree.leaf_named(leaf_id) is None:
                used = self._orphans.setdefault(leaf_id, {})
                for resource, amount in pods.requests.items():
                    used[resource] = used.get(resource, 0) + sign * amount * count
                if not any(used.values()):
                    del self._orphans[leaf_id]

    def use(self, pods: PlacedPods, sign: int, journal: Journal) -> None:
        """The same inside a trial."""
        block, taken = self._cells_of(pods)
        journal.put(self.cells, block, self.cells[block] - sign * taken)

    def _cells_of(self, pods: PlacedPods) -> Located:
        """What a cycle tries it often enters for good."""
        known = self._blocks.get(id(pods))
        if known is not None:
            return known[1]
        if len(self._blocks) >= MOST_BLOCKS:
            self._blocks.clear()
        found = self._located(pods)
        self._blocks[id(pods)] = (pods, found)
        return found

    def _located(self, pods: PlacedPods) -> Located:
        places, leaves = self.tree.leaves_of(pods.leaves)
        asked = [(self.resources[r], amount) for r, amount in pods.requests.items() if amount and r in self.resources]
        rows = np.array([row for row, _ in asked], dtype=np.int64)
        found = pods.counts if len(places) == len(pods.counts) else [pods.counts[place] for place in places]
        counts = np.array(found, dtype=np.int64)
        amounts = np.array([amount for _, amount in asked], dtype=np.int64)
        return self.cells.block(rows, leaves), (amounts[:, None] * counts).reshape(-1)

    def shortage(self, pods: PlacedPods) -> Shortage | None:
        """A leaf that is gone or lacks room for its pods, by everything but their number (spec/tas 13.3); or None."""
        places, leaves = self.tree.leaves_of(pods.leaves)
        if len(places) < len(pods.leaves):
            return ABSENT
        counts = np.array(pods.counts, dtype=np.int64)
        for resource, amount in pods.requests.items():
            if resource == PODS or amount <= 0:
                continue
            row = self.resources.get(resource)
            if row is None:
                return ABSENT
            wanted = counts * amount
            short = (self.left[row, leaves] < wanted).nonzero()[0]
            if len(short):
                first = short[0]
                return Shortage(self, self.cells, row, int(leaves[first]), int(wanted[first]))
        return None

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
        key = (demand.signature, scored)
        found = self._verdicts.get(key)
        if found is None:
            if self._kinds is None:
                hosts = [members[0] for members in self._hosts]
                self._kinds = HostKinds([h.name for h in hosts], [h.labels for h in hosts], [h.taints for h in hosts])
            found = self._verdicts[key] = self._kinds.judge(demand, self._tolerations, scored)
        return found


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
