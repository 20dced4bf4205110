"""Phase 1: how many pods and slices each domain can take (spec/tas 7).

``Counts`` holds one array per level and figure. Everything is whole-array arithmetic: a rack of ten thousand nodes
costs what a hundred numbers cost.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from worker_agent.engine.tas.ask import Placing
from worker_agent.engine.tas.tree import Ints, Mask, TopologyTree

MOST: Final = 2**31 - 1
"""Pods that a leaf counts at most."""
_NO_PENALTY: Final = np.int64(2**62)


class Counts:
    """Figures of all domains, by level. ``*_leader``: what is left when the leader is there too; ``leader``: 0 or 1."""

    __slots__ = ("leader", "pods", "pods_leader", "score", "slices", "slices_leader")

    def __init__(self, levels: int) -> None:
        blank = np.empty(0, dtype=np.int64)
        self.pods: list[Ints] = [blank] * levels
        self.pods_leader: list[Ints] = [blank] * levels
        self.slices: list[Ints] = [blank] * levels
        self.slices_leader: list[Ints] = [blank] * levels
        self.leader: list[Ints] = [blank] * levels
        self.score: list[Ints] | None = None


def pods_that_fit(room: Mapping[str, Ints], requests: Mapping[str, int], size: int) -> Ints:
    """Per leaf, limited by the scarcest resource; a resource that is nowhere leaves no room."""
    fit: Ints | None = None
    for resource, amount in requests.items():
        if amount <= 0:
            continue
        free = room.get(resource)
        if free is None:
            return np.zeros(size, dtype=np.int64)
        share = free // amount if amount > 1 else free
        fit = share if fit is None else np.minimum(fit, share)
    if fit is None:
        return np.full(size, MOST, dtype=np.int64)
    # Looking for what is out of bounds costs half of cutting it off; what is free is the caller's own.
    if any(fit is free for free in room.values()) or not size or fit.min() < 0:
        fit = np.maximum(fit, 0)
    return np.minimum(fit, MOST) if size and fit.max() > MOST else fit


def holds_one(room: Mapping[str, Ints], requests: Mapping[str, int], size: int) -> Mask:
    """Where one pod fits. A request of 0 fits even where nothing is left."""
    fit: Mask | None = None
    for resource, amount in requests.items():
        if amount <= 0:
            continue
        free = room.get(resource)
        if free is None:
            return np.zeros(size, dtype=np.bool_)
        enough = free >= amount
        fit = enough if fit is None else np.logical_and(fit, enough, out=fit)
    return np.ones(size, dtype=np.bool_) if fit is None else fit


def limiting_resources(room: Mapping[str, Ints], requests: Mapping[str, int], leaves: Ints) -> dict[str, int]:
    """Of leaves without room: how often each resource is what they lack (the first by name among equals)."""
    asked = sorted(resource for resource, amount in requests.items() if amount > 0)
    if not asked or not len(leaves):
        return {}
    nothing = np.zeros(len(leaves), dtype=np.int64)
    fits = [np.maximum(room[r][leaves] // requests[r], 0) if r in room else nothing for r in asked]
    first = np.argmin(np.stack(fits), axis=0)
    tally = np.bincount(first, minlength=len(asked))
    return {resource: int(n) for resource, n in zip(asked, tally, strict=True) if n}


def roll_up(tree: TopologyTree, counts: Counts, placing: Placing) -> None:
    """From the leaves, whose pods are known, to the top."""
    lowest = tree.lowest
    if by_pod(tree, placing):
        counts.slices, counts.slices_leader = counts.pods, counts.pods_leader
    elif placing.slice_level == lowest:
        _count_slices(counts, lowest, placing)
    else:
        counts.slices[lowest] = counts.slices_leader[lowest] = np.zeros(tree.sizes[lowest], dtype=np.int64)
    if not tree.sizes[lowest]:
        return
    for level in range(lowest - 1, -1, -1):
        _roll_up_level(tree, counts, level, placing)
        if level == placing.slice_level:
            _count_slices(counts, level, placing)


def by_pod(tree: TopologyTree, placing: Placing) -> bool:
    """Whether slices are pods, all the way up: then both are counted in the same arrays."""
    return placing.slice_size == 1 and placing.slice_level == tree.lowest and not placing.inner


def _count_slices(counts: Counts, level: int, placing: Placing) -> None:
    counts.slices[level] = counts.pods[level] // placing.slice_size
    counts.slices_leader[level] = counts.slices[level]
    if placing.leaders:
        counts.slices_leader[level] = counts.pods_leader[level] // placing.slice_size


def recount(tree: TopologyTree, counts: Counts, placing: Placing, leaves: Ints, pods: Ints) -> None:
    """Other ``pods`` on some ``leaves`` (ascending): ``counts``, without leader and score, change in place."""
    level, domains = tree.lowest, leaves
    before, after = counts.pods[level][domains], pods
    counts.pods[level][domains] = after
    sliced = counts.slices is not counts.pods
    slices = _reslice(counts, level, domains, placing, np.zeros(len(domains), dtype=np.int64)) if sliced else pods
    while level > 0:
        unit = placing.inner.get(level, 1)
        grown = after // unit * unit - before // unit * unit if unit > 1 else after - before
        level -= 1
        parents = tree.first_child[level].searchsorted(domains, "right") - 1
        if parents[0] == parents[-1]:
            _recount_above(tree, counts, placing, (level, int(parents[0])), (int(grown.sum()), int(slices.sum())))
            return
        starts = np.empty(len(parents), dtype=np.bool_)
        starts[0] = True
        np.not_equal(parents[1:], parents[:-1], out=starts[1:])
        first = starts.nonzero()[0]
        domains = parents[first]
        before = counts.pods[level][domains]
        after = before + np.add.reduceat(grown, first)
        counts.pods[level][domains] = after
        if sliced:
            slices = _reslice(counts, level, domains, placing, np.add.reduceat(slices, first))


def _recount_above(
    tree: TopologyTree, counts: Counts, placing: Placing, domain: tuple[int, int], grown: tuple[int, int]
) -> None:
    """All that changed lies below one domain (level, index), whose children's pods and slices grew by ``grown``."""
    level, index = domain
    more, slices = grown
    while True:
        before = int(counts.pods[level][index])
        counts.pods[level][index] = after = before + more
        if counts.slices is not counts.pods:
            if level == placing.slice_level:
                slices = after // placing.slice_size - int(counts.slices[level][index])
            counts.slices[level][index] += slices
        if level == 0:
            return
        unit = placing.inner.get(level, 1)
        more = after // unit * unit - before // unit * unit
        level -= 1
        index = int(tree.first_child[level].searchsorted(index, "right")) - 1


def _reslice(counts: Counts, level: int, domains: Ints, placing: Placing, grown: Ints) -> Ints:
    """Slices of changed domains; ``grown``: by how much those of their children grew. Returns by how much these did."""
    if level == placing.slice_level:
        after = counts.pods[level][domains] // placing.slice_size
        grown = after - counts.slices[level][domains]
    counts.slices[level][domains] += grown
    return grown


def _roll_up_level(tree: TopologyTree, counts: Counts, level: int, placing: Placing) -> None:
    below, at = level + 1, tree.first_child[level]
    unit = placing.inner.get(below, 1)
    given = counts.pods[below] // unit * unit if unit > 1 else counts.pods[below]
    counts.pods[level] = np.add.reduceat(given, at)
    sliced = counts.slices is not counts.pods
    if sliced:
        counts.slices[level] = np.add.reduceat(counts.slices[below], at)
    if counts.score is not None:
        counts.score[level] = np.add.reduceat(counts.score[below], at)
    if not placing.leaders:
        counts.leader[level] = np.zeros(tree.sizes[level], dtype=np.int64)
        counts.pods_leader[level] = counts.pods[level]
        if sliced:
            counts.slices_leader[level] = counts.slices[level]
        return
    leader = counts.leader[level] = np.maximum.reduceat(counts.leader[below], at)
    led = counts.pods_leader[below]
    hosts = counts.leader[below] > 0
    lost = given - (led // unit * unit if unit > 1 else led)
    counts.pods_leader[level] = _led(counts.pods[level], leader, hosts, lost, at)
    if sliced:
        lost = counts.slices[below] - counts.slices_leader[below]
        counts.slices_leader[level] = _led(counts.slices[level], leader, hosts, lost, at)


def _led(total: Ints, leader: Ints, hosts: Mask, lost: Ints, at: Ints) -> Ints:
    """What is left of the total where the leader costs least of the children that can host it."""
    costs = lost if hosts.all() else np.where(hosts, lost, _NO_PENALTY)
    least = np.minimum.reduceat(costs, at)
    return np.where(leader > 0, total - least, 0)
