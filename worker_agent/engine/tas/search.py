"""Phase 2: which level, which domains, how many pods in each leaf (spec/tas 8).

Lists of domains are index arrays in the order in which they are tried. The descent applies ``Handout.take_minimum``
level by level.
"""

from typing import NamedTuple

import numpy as np

from worker_agent.engine.tas.ask import Placing
from worker_agent.engine.tas.counting import Counts
from worker_agent.engine.tas.handout import FEW, NOTHING, Handout, Need, Share
from worker_agent.engine.tas.tree import Ints, TopologyTree


class TooFew(NamedTuple):
    """Nothing found: at most ``fit`` of ``wanted`` slices (or leaders), looked for at ``level``."""

    fit: int
    wanted: int
    level: int


class Found(NamedTuple):
    level: int
    domains: Ints


class NoDomains(NamedTuple):
    level: int


class Search:
    """One placement on counted domains."""

    def __init__(self, tree: TopologyTree, counts: Counts, placing: Placing) -> None:
        self._tree = tree
        self._counts = counts
        self._p = placing
        self._best = not placing.least_free
        self._by_pod = self._best and counts.slices is counts.pods and counts.score is None
        """Slices are pods, so nothing else is to be compared."""
        self._hand = Handout(counts, self._best)

    # -- orders ----------------------------------------------------------------------------------------------------

    def ordered(self, level: int, domains: Ints, leading: bool) -> Ints:
        """``domains`` (ascending) in the order in which they are tried; ``leading``: with the leader in mind."""
        counts = self._counts
        slices = (counts.slices_leader if leading else counts.slices)[level][domains]
        if self._by_pod and not (leading and self._p.leaders):
            return domains[np.argsort(-slices, kind="stable")]
        keys = [(counts.pods_leader if leading else counts.pods)[level][domains], -slices if self._best else slices]
        if counts.score is not None:
            keys.append(-counts.score[level][domains])
        if leading and self._p.leaders:
            keys.append(-counts.leader[level][domains])
        return domains[np.lexsort(keys)]

    def _first(self, level: int) -> int:
        """The first of all domains of the level in the order with the leader in mind, without sorting them."""
        counts = self._counts
        slices = counts.slices_leader[level]
        keys = [-slices if self._best else slices, counts.pods_leader[level]]
        if counts.score is not None:
            keys.insert(0, -counts.score[level])
        if self._p.leaders:
            keys.insert(0, -counts.leader[level])
        if len(slices) <= FEW:
            return int(np.lexsort(keys[::-1])[0])
        kept = None
        for key in keys:
            values = key if kept is None else key[kept]
            least = np.flatnonzero(values == values.min())
            kept = least if kept is None else kept[least]
        return int(kept[0]) if kept is not None else 0

    def _tightest_of_level(self, level: int, first: int) -> int:
        """``bestFit`` over a whole level in the order with the leader in mind."""
        counts, wanted, leaders = self._counts, self._p.slices, self._p.leaders
        measure = (counts.slices_leader if leaders else counts.slices)[level]
        if len(measure) <= FEW and counts.score is None:
            hosts = counts.leader[level].tolist() if leaders else [0] * len(measure)
            figures = enumerate(zip(measure.tolist(), counts.pods_leader[level].tolist(), hosts, strict=True))
            held = [(amount, pods, d) for d, (amount, pods, led) in figures if amount >= wanted and led >= leaders]
            return min(held)[2] if held else first
        enough = measure >= wanted
        if self._p.leaders:
            enough &= counts.leader[level] >= self._p.leaders
        if counts.score is not None:
            enough &= counts.score[level] == counts.score[level][first]
        places = np.flatnonzero(enough)
        if not len(places):
            return first
        places = places[measure[places] == measure[places].min()]
        pods = counts.pods_leader[level][places]
        return int(places[np.argmin(pods)])

    # -- the level -------------------------------------------------------------------------------------------------

    def find(self) -> Found | TooFew | NoDomains:
        """The domains that together take everything, at the asked level or as high up as allowed."""
        level = self._p.level
        while True:
            if not self._tree.sizes[level]:
                return NoDomains(level)
            single = self._single(level)
            if single is not None:
                return single
            if level == 0 or self._p.unconstrained:
                return self._several(level)
            level -= 1

    def _single(self, level: int) -> Found | TooFew | None:
        counts, wanted, leaders = self._counts, self._p.slices, self._p.leaders
        if self._best and counts.score is None and not leaders:
            return self._tightest_single(level)
        first = self._first(level)
        top = first
        enough = (counts.slices_leader[level] >= wanted) & (counts.leader[level] >= leaders)
        if self._best and enough[top]:
            top = self._tightest_of_level(level, top)
        if not self._best:
            least = self._least_free(level)
            if least is not None:
                return Found(level, np.array([least]))
        if enough[top]:
            return Found(level, np.array([top]))
        if not self._p.required:
            return None
        if counts.score is not None and enough.any():
            listed = self.ordered(level, np.arange(self._tree.sizes[level]), True)
            rest = listed[int(np.flatnonzero(enough[listed])[0]) :]
            measure = (counts.slices_leader if leaders else counts.slices)[level][rest]
            return Found(level, rest[[self._hand.tightest(level, rest, measure, wanted, leaders)]])
        return TooFew(int(counts.slices[level][top]), wanted, level)

    def _tightest_single(self, level: int) -> Found | TooFew | None:
        """``_single`` for the most frequent case: best fit, no leader, no preferences."""
        slices, wanted = self._counts.slices[level], self._p.slices
        places = (slices >= wanted).nonzero()[0]
        if not len(places):
            return TooFew(int(slices.max()), wanted, level) if self._p.required else None
        held = slices[places]
        if self._by_pod:
            return Found(level, places[[int(held.argmin())]])
        places = places[held == held.min()]
        if len(places) > 1:
            places = places[[int(self._counts.pods[level][places].argmin())]]
        return Found(level, places)

    def _least_free(self, level: int) -> int | None:
        """The first domain that takes everything, in ascending order of what it can take."""
        counts, wanted = self._counts, self._p.slices
        if self._p.leaders:
            enough = (counts.leader[level] >= self._p.leaders) & (counts.slices_leader[level] >= wanted)
        else:
            enough = counts.slices[level] >= wanted
        places = np.flatnonzero(enough)
        if not len(places):
            return None
        return int(self.ordered(level, places, True)[0])

    def _several(self, level: int) -> Found | TooFew:
        counts, wanted, leaders = self._counts, self._p.slices, self._p.leaders
        listed = self.ordered(level, np.arange(self._tree.sizes[level]), True)
        listed = self._hand.leader_first(
            level, listed, counts.slices[level], counts.slices_leader[level], wanted, leaders
        )
        with_leader, plain = counts.slices_leader[level], counts.slices[level]
        rest, chosen, left, place = wanted, [], leaders, 0
        while left > 0 and place < len(listed) and counts.leader[level][listed[place]] > 0:
            domain = int(listed[place])
            if self._best and with_leader[domain] >= rest:
                tail = listed[place:]
                domain = int(tail[self._hand.tightest(level, tail, with_leader[tail], rest, left)])
            chosen.append(domain)
            left -= int(counts.leader[level][domain])
            rest -= int(with_leader[domain])
            place += 1
        if left > 0:
            return TooFew(leaders - left, wanted, level)
        if rest <= 0:
            return Found(level, np.array(chosen, dtype=np.int64))
        others = listed if place == 0 else self.ordered(level, np.sort(listed[place:]), False)
        taken, lacking = self._prefix(level, others, plain[others], rest)
        if lacking > 0:
            return TooFew(wanted - lacking, wanted, level)
        return Found(level, np.append(np.array(chosen, dtype=np.int64), taken))

    def _prefix(self, level: int, listed: Ints, measure: Ints, needed: int) -> tuple[Ints, int]:
        """Domains from the front until ``needed`` is covered, the last one the tightest; and what is still lacking."""
        before = np.cumsum(measure) - measure
        covering = np.flatnonzero(measure >= needed - before)
        if not len(covering):
            return listed, needed - int(measure.sum())
        last = int(covering[0])
        domain = last
        if self._best:
            domain += self._hand.tightest(level, listed[last:], measure[last:], needed - int(before[last]), 0)
        return np.append(listed[:last], listed[domain]), 0

    # -- the descent -----------------------------------------------------------------------------------------------

    def place(self, found: Found, balanced: bool = False) -> Share:
        """Leaves with their pods and leaders, in no order; from the chosen domains down."""
        p, level = self._p, found.level
        share = self._hand.take_minimum(level, found.domains, self._slices_needed(level))
        while level < min(self._tree.lowest, p.slice_level) and not balanced:
            pool = self._tree.children(level, share.domains)
            level += 1
            share = self._hand.take_minimum(level, self.ordered(level, pool, False), self._slices_needed(level))
        while level < self._tree.lowest:
            unit = p.slice_size if level < p.slice_level else p.inner.get(level + 1, 1)
            share = self._spread(level, share, unit)
            level += 1
        return share

    def _slices_needed(self, level: int) -> "Need":
        p, counts = self._p, self._counts
        return Need(p.count, p.leaders, p.slice_size, counts.slices[level], counts.slices_leader[level])

    def _spread(self, level: int, share: Share, unit: int) -> Share:
        """Each domain's pods over its own children."""
        below, counts = level + 1, self._counts
        plain, led = counts.pods[below], counts.pods_leader[below]
        if unit > 1:
            plain, led = plain // unit, led // unit
        parts: list[Share] = []
        for domain, pods, leaders in zip(
            share.domains.tolist(), share.pods.tolist(), share.leaders.tolist(), strict=True
        ):
            if not pods and not leaders:
                continue
            first, past = int(self._tree.first_child[level][domain]), int(self._tree.past_child[level][domain])
            children = self.ordered(below, np.arange(first, past), False)
            parts.append(self._hand.take_minimum(below, children, Need(pods, leaders, unit, plain, led)))
        if not parts:
            return NOTHING
        return Share(*(np.concatenate(column) for column in zip(*parts, strict=True)))
