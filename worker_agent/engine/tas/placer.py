"""From an ask to an assignment: count, search, descend; or the message that says what is in the way (spec/tas 6 to 12).

``Placer`` serves one workload on one flavor's nodes, for one attempt.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from worker_agent.api import selectors
from worker_agent.engine.tas import balanced, counting, messages, topology_assignment
from worker_agent.engine.tas.ask import AskError, Placing, PodSetAsk, resolve
from worker_agent.engine.tas.counting import Counts
from worker_agent.engine.tas.feasibility import Verdict
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.handout import Share
from worker_agent.engine.tas.known_counts import KnownCounts
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.rules import TopologyRules
from worker_agent.engine.tas.search import Found, NoDomains, Search
from worker_agent.engine.tas.topology_assignment import TopologyAssignment
from worker_agent.engine.tas.tree import Ints, Mask


@dataclass(slots=True)
class Attempt:
    """What one attempt for a workload shares: ``assumed`` grows with every pod set placed."""

    rules: TopologyRules
    empty: bool = False
    scored: bool = False
    assumed: list[PlacedPods] = field(default_factory=list)
    known: KnownCounts | None = None
    """Counts of earlier attempts of the same cycle."""


class Refused(Exception):
    """No place; the message is the reason."""


def place(
    room: FlavorRoom, workers: PodSetAsk, leader: PodSetAsk | None, attempt: Attempt, within: str = ""
) -> tuple[TopologyAssignment, TopologyAssignment | None]:
    """Places for workers and leader. ``within``: ID of the domain that a replacement is bound to. Raises Refused."""
    try:
        placing = _resolved(room, workers, leader, attempt)
        verdict = room.judge(workers.demand, attempt.scored)
    except AskError as error:
        raise Refused(str(error)) from error
    except selectors.SelectorError as error:
        told = f"unable to calculate domain capacities for PodSet {workers.name}, error: {error}"
        raise Refused(told) from error
    counted = _Counted(room, workers, leader, attempt, verdict, within)
    counts = counted.counts(placing)
    share = _search(room, counts, placing, attempt.rules)
    if not isinstance(share, Share):
        told = messages.refusal(room, counts, placing, share)
        if isinstance(share, NoDomains):
            raise Refused(told)
        raise Refused(told + messages.exclusions(len(room.tree.paths), counted.excluded()))
    leaders = None if leader is None else _assignment(room, share.domains, share.leaders)
    return _assignment(room, share.domains, share.pods), leaders


def _resolved(room: FlavorRoom, workers: PodSetAsk, leader: PodSetAsk | None, attempt: Attempt) -> Placing:
    leaders, mixed = 0 if leader is None else 1, attempt.rules.mixed_profile
    if attempt.known is None:
        return resolve(workers, workers.count, leaders, room.tree, mixed)
    return attempt.known.placing(
        workers, leaders, room.name, lambda: resolve(workers, workers.count, leaders, room.tree, mixed)
    )


def _search(room: FlavorRoom, counts: Counts, placing: Placing, rules: TopologyRules) -> Share | messages.Failure:
    if rules.balanced and not placing.required and not placing.unconstrained and placing.slices > 0:
        spread = balanced.place(room.tree, counts, placing)
        if spread is not None:
            return spread
    search = Search(room.tree, counts, placing)
    found = search.find()
    return search.place(found) if isinstance(found, Found) else found


def _assignment(room: FlavorRoom, leaves: Ints, pods: Ints) -> TopologyAssignment:
    """In path order, which is the order of the leaves' indices."""
    used = pods.nonzero()[0]
    used = used[leaves[used].argsort(kind="stable")]
    tree = room.tree
    taken = leaves[used]
    places = taken.tolist()
    names = tree.names_of(places)
    values = zip(names) if tree.hostname else tree.paths_of(places)
    found = topology_assignment.of_leaves(tree.assigned_levels(), values, names, tuple(pods[used].tolist()))
    tree.remember(names, taken)
    return found


class _Counted:
    """Counting of the leaves, and afterwards the reasons against those that have no room."""

    def __init__(
        self,
        room: FlavorRoom,
        workers: PodSetAsk,
        leader: PodSetAsk | None,
        attempt: Attempt,
        verdict: Verdict,
        within: str,
    ) -> None:
        self._room = room
        self._verdict = verdict
        self._attempt = attempt
        self._known = attempt.known
        self._demand = workers.demand.signature
        self._asked = workers.with_pod
        self._leader = None if leader is None else leader.with_pod
        resources = self._asked.keys() | (self._leader or {}).keys()
        self._left = room.remaining(resources, attempt.assumed, attempt.empty)
        self._inside = _below(room, within) if within else None
        self._pods: Ints = np.empty(0, dtype=np.int64)

    def counts(self, placing: Placing) -> Counts:
        if self._known is None or self._leader is not None or self._attempt.assumed or self._inside is not None:
            return self._afresh(placing)
        if self._verdict.score is not None or not len(self._room.tree.paths):
            return self._afresh(placing)
        asked = tuple(self._asked.items())
        layers = (placing.slice_level, placing.slice_size, tuple(placing.inner.items()))
        key = (self._room.name, self._attempt.empty, asked, self._demand, layers)
        place = (self._room.tree, self._room.cells)
        counts = self._known.current(key, place, placing, self._pods_on, lambda: self._afresh(placing))
        self._pods = counts.pods[self._room.tree.lowest]
        return counts

    def _pods_on(self, leaves: Ints) -> Ints:
        left = {resource: free[leaves] for resource, free in self._left.items()}
        pods = counting.pods_that_fit(left, self._asked, len(leaves))
        fit = self._verdict.fit
        if fit is not None:
            pods[~fit[leaves]] = 0
        return pods

    def _afresh(self, placing: Placing) -> Counts:
        tree = self._room.tree
        size, lowest = len(tree.paths), tree.lowest
        counts = Counts(len(tree.levels))
        usable = self._usable()
        pods = counting.pods_that_fit(self._left, self._asked, size)
        if usable is not None:
            pods[~usable] = 0
        self._pods = counts.pods[lowest] = counts.pods_leader[lowest] = pods
        if self._leader is None:
            counts.leader[lowest] = np.zeros(size, dtype=np.int64)
        else:
            self._count_leader(counts, self._leader, usable)
        if self._verdict.score is not None and self._verdict.score.any():
            counts.score = [self._verdict.score] * len(tree.levels)
        counting.roll_up(tree, counts, placing)
        return counts

    def _count_leader(self, counts: Counts, leader: dict[str, int], usable: Mask | None) -> None:
        size, lowest = len(self._room.tree.paths), self._room.tree.lowest
        hosts = counting.holds_one(self._left, leader, size)
        if usable is not None:
            hosts &= usable
        beside = {
            resource: free - leader[resource] if resource in leader else free for resource, free in self._left.items()
        }
        led = counting.pods_that_fit(beside, self._asked, size)
        counts.pods_leader[lowest] = led if hosts.all() else np.where(hosts, led, counts.pods[lowest])
        counts.leader[lowest] = hosts.astype(np.int64)

    def _usable(self) -> Mask | None:
        fit = self._verdict.fit
        if self._inside is None:
            return fit
        return self._inside if fit is None else fit & self._inside

    def excluded(self) -> dict[str, int]:
        """Reason -> number of leaves."""
        found = dict(self._verdict.excluded)
        fit, usable = self._verdict.fit, self._usable()
        if self._inside is not None:
            outside = int((~self._inside if fit is None else fit & ~self._inside).sum())
            if outside:
                found["topologyDomain"] = outside
        full = self._pods == 0 if usable is None else (self._pods == 0) & usable
        for resource, count in counting.limiting_resources(self._left, self._asked, np.flatnonzero(full)).items():
            found[f'resource "{resource}"'] = count
        return found


def _below(room: FlavorRoom, domain: str) -> Mask:
    """Leaves whose joined path is the domain's ID or goes on below it (spec/tas 15.4)."""
    below = f"{domain},"
    joined = [",".join(path) for path in room.tree.paths]
    return np.array([path == domain or path.startswith(below) for path in joined], dtype=np.bool_)


def leaders_and_workers(group: Sequence[PodSetAsk]) -> tuple[PodSetAsk, PodSetAsk | None]:
    """(workers, leader) of one group: the second leads, unless it is the bigger one."""
    if len(group) < 2:
        return group[0], None
    first, second = group[0], group[1]
    return (second, first) if second.count > first.count else (first, second)
