"""Handing pods out to domains that are listed in the order in which they are tried (spec/tas 8).

``take_minimum`` is the one primitive; the search for a level asks for its parts.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from worker_agent.engine.tas.counting import Counts
from worker_agent.engine.tas.tree import Ints

FEW: Final = 64
"""Domains that are handed out to one by one."""

_NONE: Final = np.empty(0, dtype=np.int64)
_NO_LEADER: Final = np.zeros(1, dtype=np.int64)


class Share(NamedTuple):
    """Domains of one level with the pods and leaders they get, in parallel."""

    domains: Ints
    pods: Ints
    leaders: Ints


NOTHING: Final = Share(_NONE, _NONE, _NONE)


class Need(NamedTuple):
    """What ``take_minimum`` hands out: ``pods`` in units.

    ``plain`` and ``led`` say how many units a domain takes, without and with the leader; they are indexed by domain.
    """

    pods: int
    leaders: int
    unit: int
    plain: Ints
    led: Ints


class Handout:
    """``best``: the last domain is the tightest that is enough; otherwise simply the next."""

    __slots__ = ("_best", "_counts")

    def __init__(self, counts: Counts, best: bool) -> None:
        self._counts = counts
        self._best = best

    def _tier(self, level: int, domains: Ints) -> Ints:
        """The leading run of equal affinity."""
        score = self._counts.score
        if score is None:
            return domains
        values = score[level][domains]
        differs = np.flatnonzero(values != values[0])
        return domains[: differs[0]] if len(differs) else domains

    def tightest(self, level: int, domains: Ints, measure: Ints, needed: int, leaders: int) -> int:
        """``bestFit``: position in ``domains`` of the least measure that is enough; the first without any.

        ``measure`` is parallel to ``domains``.
        """
        run = len(self._tier(level, domains))
        enough = measure[:run] >= needed
        if leaders:
            enough &= self._counts.leader[level][domains[:run]] >= leaders
        places = np.flatnonzero(enough)
        return int(places[np.argmin(measure[places])]) if len(places) else 0

    def leader_first(self, level: int, listed: Ints, plain: Ints, led: Ints, needed: int, leaders: int) -> Ints:
        """``prioritizeLeader``: a domain that can host the leader at no harm to the whole goes to the front.

        ``plain`` and ``led`` are indexed by domain.
        """
        if not leaders or len(listed) < 2:
            return listed
        harmless = int(plain[listed].sum()) - (plain[listed] - led[listed]) >= needed
        places = np.flatnonzero(harmless & (self._counts.leader[level][listed] >= leaders))
        if not len(places) or places[0] == 0:
            return listed
        place = int(places[0])
        return np.concatenate((listed[place : place + 1], listed[:place], listed[place + 1 :]))

    def take_minimum(self, level: int, listed: Ints, need: "Need") -> Share:
        """Hand out pods and leader to the listed domains, in order; nothing at all where they do not suffice."""
        rest = need.pods // need.unit
        if len(listed) == 1 and not need.leaders:
            return Share(listed, np.array([rest * need.unit]), _NO_LEADER) if need.plain[listed[0]] >= rest else NOTHING
        if need.leaders and len(listed) <= FEW and self._counts.score is None:
            return self._take_few_led(level, listed, need, rest)
        leader = self._counts.leader[level]
        left = need.leaders
        domains: list[int] = []
        given: list[int] = []
        led: list[int] = []
        listed = self.leader_first(level, listed, need.plain, need.led, rest, left)
        place = 0
        while left > 0 and place < len(listed):
            domain = int(listed[place])
            if need.led[domain] >= rest and leader[domain] >= left:
                if self._best:
                    tail = listed[place:]
                    domain = int(tail[self.tightest(level, tail, need.led[tail], rest, left)])
                return _share((*domains, domain), (*given, rest), (*led, left), need.unit)
            part, hosts = min(int(need.led[domain]), rest), min(int(leader[domain]), left)
            domains.append(domain)
            given.append(part)
            led.append(hosts)
            left -= hosts
            rest -= part
            place += 1
        if left > 0:
            return NOTHING
        return self._take_rest(level, listed[place:], need, rest, (domains, given, led))

    def _take_few_led(self, level: int, listed: Ints, need: "Need", rest: int) -> Share:
        """The same with a leader, one by one: for a rack's worth of domains quicker than arrays."""
        names, plain, led = listed.tolist(), need.plain[listed].tolist(), need.led[listed].tolist()
        hosts, left = self._counts.leader[level][listed].tolist(), need.leaders
        total, places = sum(plain), range(len(names))
        first = next((i for i in places if hosts[i] >= left and total - (plain[i] - led[i]) >= rest), 0)
        if first:
            for column in (names, plain, led, hosts):
                column.insert(0, column.pop(first))
        domains: list[int] = []
        given: list[int] = []
        leaders: list[int] = []
        for place in places:
            if led[place] >= rest and hosts[place] >= left:
                last = place
                if self._best:
                    last = min((led[i], i) for i in places[place:] if led[i] >= rest and hosts[i] >= left)[1]
                return _share((*domains, names[last]), (*given, rest), (*leaders, left), need.unit)
            domains.append(names[place])
            given.append(min(led[place], rest))
            leaders.append(min(hosts[place], left))
            rest -= given[-1]
            left -= leaders[-1]
            if not left:
                past = place + 1
                return self._take_few(names[past:], plain[past:], need.unit, rest, (domains, given, leaders))
        return NOTHING

    def _take_rest(
        self, level: int, listed: Ints, need: "Need", rest: int, so_far: tuple[list[int], list[int], list[int]]
    ) -> Share:
        """Without a leader: whole prefixes at once."""
        if len(listed) <= FEW and self._counts.score is None:
            return self._take_few(listed.tolist(), need.plain[listed].tolist(), need.unit, rest, so_far)
        measure = need.plain[listed]
        before = np.cumsum(measure) - measure
        covering = np.flatnonzero(measure >= rest - before)
        if not len(covering):
            return NOTHING
        last = int(covering[0])
        lacking = rest - int(before[last])
        domain = last
        if self._best:
            domain += self.tightest(level, listed[last:], measure[last:], lacking, 0)
        domains, given, led = so_far
        if not domains:
            found, pods = listed[: last + 1].copy(), measure[: last + 1] * need.unit
            found[last], pods[last] = listed[domain], lacking * need.unit
            return Share(found, pods, np.zeros(last + 1, dtype=np.int64))
        return Share(
            np.concatenate((np.array(domains, dtype=np.int64), listed[:last], listed[[domain]])),
            np.concatenate((np.array(given, dtype=np.int64), measure[:last], np.array([lacking]))) * need.unit,
            np.concatenate((np.array(led, dtype=np.int64), np.zeros(last + 1, dtype=np.int64))),
        )

    def _take_few(
        self,
        listed: list[int],
        measure: list[int],
        unit: int,
        rest: int,
        so_far: tuple[list[int], list[int], list[int]],
    ) -> Share:
        """The same one by one: for a rack's worth of domains quicker than arrays."""
        domains, given, led = so_far
        for place, amount in enumerate(measure):
            if amount < rest:
                rest -= amount
                continue
            last = place
            if self._best:
                least = min(held for held in measure[place:] if held >= rest)
                last = measure.index(least, place)
            taken = [*domains, *listed[:place], listed[last]]
            return _share(taken, [*given, *measure[:place], rest], [*led, *[0] * (place + 1)], unit)
        return NOTHING


def _share(domains: Sequence[int], given: Sequence[int], led: Sequence[int], unit: int) -> Share:
    return Share(
        np.array(domains, dtype=np.int64), np.array(given, dtype=np.int64) * unit, np.array(led, dtype=np.int64)
    )
