"""Balanced placement: the pods of a preferred request spread evenly over as few domains as needed (spec/tas 9).

Works on copies of the counted domains, as small objects: candidate sets are small, and what is pruned here must not
reach the ordinary algorithm when this one gives up.
"""

from collections.abc import Callable, Iterable, Sequence
from math import log2
from typing import NamedTuple

import numpy as np

from worker_agent.engine.tas.ask import Placing
from worker_agent.engine.tas.counting import Counts
from worker_agent.engine.tas.handout import Share
from worker_agent.engine.tas.search import Found, Search
from worker_agent.engine.tas.tree import Path, TopologyTree


class Node:
    """A copy of a domain with its subtree."""

    __slots__ = (
        "children",
        "index",
        "leader",
        "level",
        "path",
        "pods",
        "pods_leader",
        "score",
        "slices",
        "slices_leader",
    )

    def __init__(self, level: int, index: int, path: Path, children: list["Node"]) -> None:
        self.level = level
        self.index = index
        self.path = path
        self.children = children
        self.pods = self.pods_leader = self.slices = self.slices_leader = self.leader = self.score = 0

    def clear(self) -> None:
        self.pods = self.slices = 0
        self.clear_leader()

    def clear_leader(self) -> None:
        self.pods_leader = self.slices_leader = self.leader = 0


class Fit(NamedTuple):
    """How a greedy choice went: whether all found room, in how many domains, and the last ones used."""

    fits: bool
    used: int
    last_led: Node | None
    last: Node | None


def place(tree: TopologyTree, counts: Counts, placing: Placing) -> Share | None:
    """None where the pods cannot be balanced."""
    work = _Balancing(tree, counts, placing)
    best = work.best_set()
    if best is None:
        return None
    nodes, threshold = best
    level = placing.level
    if level < placing.slice_level:
        chosen = optimal_set(nodes, placing.slices, placing.leaders, placing.slice_size, by_entropy=True)
        if chosen is None:
            return None
        nodes, level = [child for node in chosen for child in node.children], level + 1
    placed = hand_out(nodes, placing.slices, placing.leaders, placing.slice_size, threshold)
    if placed is None:
        return None
    search = Search(tree, work.counts_of(nodes, placed), placing)
    listed = np.array([node.index for node in placed], dtype=np.int64)
    return search.place(Found(level, listed), balanced=True)


class _Balancing:
    def __init__(self, tree: TopologyTree, counts: Counts, placing: Placing) -> None:
        self._tree = tree
        self._counts = counts
        self._p = placing

    # -- copies ----------------------------------------------------------------------------------------------------

    def _copy(self, level: int, index: int) -> Node:
        children = []
        if level < self._tree.lowest:
            below = range(int(self._tree.first_child[level][index]), int(self._tree.past_child[level][index]))
            children = [self._copy(level + 1, child) for child in below]
        node, counts = Node(level, index, self._tree.path(level, index), children), self._counts
        node.pods, node.pods_leader = int(counts.pods[level][index]), int(counts.pods_leader[level][index])
        node.slices, node.slices_leader = int(counts.slices[level][index]), int(counts.slices_leader[level][index])
        node.leader = int(counts.leader[level][index])
        node.score = 0 if counts.score is None else int(counts.score[level][index])
        return node

    def _sets(self) -> list[list[int]]:
        level = self._p.level
        if level == 0:
            return [list(range(self._tree.sizes[0]))]
        above = level - 1
        return [
            list(range(int(self._tree.first_child[above][i]), int(self._tree.past_child[above][i])))
            for i in range(self._tree.sizes[above])
        ]

    def counts_of(self, pool: Iterable[Node], placed: Iterable[Node]) -> Counts:
        """The counters with those of the copies in their place."""
        levels = len(self._tree.levels)
        counts = Counts(levels)
        for name in ("pods", "pods_leader", "slices", "slices_leader", "leader"):
            setattr(counts, name, [column.copy() for column in getattr(self._counts, name)])
        counts.score = self._counts.score
        stack = [*pool, *placed]
        while stack:
            node = stack.pop()
            stack += node.children
            counts.pods[node.level][node.index], counts.pods_leader[node.level][node.index] = (
                node.pods,
                node.pods_leader,
            )
            counts.slices[node.level][node.index] = node.slices
            counts.slices_leader[node.level][node.index] = node.slices_leader
            counts.leader[node.level][node.index] = node.leader
        return counts

    # -- the threshold ---------------------------------------------------------------------------------------------

    def best_set(self) -> tuple[list[Node], int] | None:
        """The candidate set, pruned, that guarantees most slices to each domain; with fewest domains among equals."""
        best: list[Node] | None = None
        threshold = used = 0
        for indices in self._sets():
            for nodes, value, count in self._candidates(indices, threshold):
                if value > threshold or (value == threshold and count < used):
                    best, threshold, used = nodes, value, count
        return None if best is None or threshold <= 0 else (best, threshold)

    def _candidates(self, indices: Sequence[int], least: int) -> Iterable[tuple[list[Node], int, int]]:
        """The set pruned by its threshold; where that does not fit, by the smaller one that minds the leader."""
        p = self._p
        nodes = [self._copy(p.level, index) for index in indices]
        lower = [child for node in nodes for child in node.children] if p.level < p.slice_level else nodes
        first = greedy(lower, p.slices, p.leaders)
        if not first.fits or not first.used:
            return
        value = p.slices // first.used
        if first.last_led is not None:
            value = min(value, first.last_led.slices_leader)
        if first.last is not None:
            value = min(value, first.last.slices)
        with_leader = value
        if p.leaders and first.last is not None:
            with_leader = min(value, first.last.slices_leader)
        if value < least:
            return
        self._prune(nodes, value)
        again = greedy(nodes, p.slices, p.leaders)
        if not again.fits and 0 < with_leader < value and with_leader >= least:
            nodes, value = [self._copy(p.level, index) for index in indices], with_leader
            self._prune(nodes, value)
            again = greedy(nodes, p.slices, p.leaders)
        if again.fits:
            yield nodes, value, again.used

    # -- pruning ---------------------------------------------------------------------------------------------------

    def _prune(self, nodes: Sequence[Node], threshold: int) -> None:
        for node in nodes:
            for child in node.children:
                self._prune_one(child, threshold)
            self._recount(node)
            self._prune_one(node, threshold)

    def _prune_one(self, node: Node, threshold: int) -> None:
        if node.slices < threshold:
            _each(node, Node.clear)
        elif self._p.leaders and node.leader > 0 and node.slices_leader < threshold:
            _each(node, Node.clear_leader)

    def _recount(self, node: Node) -> None:
        """The roll-up once more, smaller slices left out of account."""
        p = self._p
        for child in node.children:
            self._recount(child)
        children = node.children
        if children:
            hosts = [child for child in children if child.leader > 0 or not p.leaders]
            node.pods = sum(child.pods for child in children)
            node.slices = sum(child.slices for child in children)
            node.leader = max(child.leader for child in children)
            node.pods_leader = node.slices_leader = 0
            if hosts:
                node.pods_leader = node.pods - min(child.pods - child.pods_leader for child in hosts)
                node.slices_leader = node.slices - min(child.slices - child.slices_leader for child in hosts)
        if node.level == p.slice_level:
            node.slices, node.slices_leader = node.pods // p.slice_size, node.pods_leader // p.slice_size


def _each(node: Node, change: Callable[[Node], None]) -> None:
    change(node)
    for child in node.children:
        _each(child, change)


def _in_order(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda n: (-n.score, -n.slices, n.pods, n.path))


def _in_order_led(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda n: (-n.leader, -n.score, -n.slices_leader, n.pods_leader, n.path))


def greedy(nodes: Sequence[Node], slices: int, leaders: int) -> Fit:
    """Leaders first, then the biggest domains."""
    used = 0
    last_led = last = None
    rest = _in_order_led(nodes)
    while leaders > 0 and rest and rest[0].leader > 0:
        last_led = rest.pop(0)
        leaders -= last_led.leader
        slices -= last_led.slices_leader
        used += 1
    for node in _in_order(rest):
        if slices <= 0 or node.slices <= 0:
            break
        last = node
        slices -= node.slices
        used += 1
    return Fit(leaders <= 0 and slices <= 0, used, last_led, last)


def _entropy(node: Node) -> float:
    total = sum(child.pods for child in node.children)
    parts = [child.pods / total for child in node.children if child.pods > 0] if total else []
    return -sum(part * log2(part) for part in parts)


def optimal_set(
    nodes: Sequence[Node], slices: int, leaders: int, slice_size: int, by_entropy: bool
) -> list[Node] | None:
    """As few domains as the greedy choice needs, with the least room left over; None where they do not suffice.

    A dynamic programme over (domains used, leaders left, pods left), which keeps the first way to reach a state.
    """
    fit = greedy(nodes, slices, leaders)
    if not fit.fits:
        return None
    if by_entropy:
        order = sorted(nodes, key=lambda n: (-n.leader, -n.slices_leader, -_entropy(n), n.path))
    else:
        order = sorted(nodes, key=lambda n: n.path)
    states: list[dict[tuple[int, int], tuple[Node, ...]]] = [{} for _ in range(fit.used + 1)]
    states[0][leaders, slices * slice_size] = ()
    for node in order:
        for used in range(fit.used, 0, -1):
            for leaders_left, pods_left in sorted(states[used - 1]):
                if leaders_left <= 0 and pods_left <= 0:
                    continue
                so_far = states[used - 1][leaders_left, pods_left]
                if leaders_left > 0 and node.leader > 0:
                    reached = (leaders_left - node.leader, pods_left - node.pods_leader)
                    states[used].setdefault(reached, (*so_far, node))
                if node.slices > 0:
                    states[used].setdefault((leaders_left, pods_left - node.pods), (*so_far, node))
    complete = [pods for left, pods in states[fit.used] if left == 0 and pods <= 0]
    return list(states[fit.used][0, max(complete)]) if complete else None


def hand_out(nodes: Sequence[Node], slices: int, leaders: int, slice_size: int, threshold: int) -> list[Node] | None:
    """``threshold`` slices to each domain of the best set, the rest from the front.

    The counters of the domains become what is handed out; None where it does not work out.
    """
    chosen = optimal_set(nodes, slices, leaders, slice_size, by_entropy=False)
    if chosen is None or slices < len(chosen) * threshold:
        return None
    extra = slices - len(chosen) * threshold
    chosen = _in_order_led(chosen)
    for node in chosen:
        leads = leaders > 0 and node.leader > 0
        more = min((node.slices_leader if leads else node.slices) - threshold, extra)
        if leads:
            leaders -= 1
        extra -= more
        node.leader = int(leads)
        node.slices = node.slices_leader = threshold + more
        node.pods = node.slices * slice_size
        node.pods_leader = node.pods - node.leader
    return None if extra > 0 or leaders > 0 else chosen
