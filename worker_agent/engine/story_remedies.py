"""What change would let a waiting workload in. Every remedy named here was tried: the engine's own answer was yes.

The state is the asker's own: quotas are changed and put back, reservations are taken out inside a trial.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from worker_agent.api import timestamps
from worker_agent.api.cluster_queue import ClusterQueue, ResourceQuota
from worker_agent.api.workload import Workload
from worker_agent.engine import quota, resources, simulate
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.quota import NO_QUOTA
from worker_agent.engine.resources import Amounts, FlavorResource
from worker_agent.engine.simulate import PLAYED_OUT, Outlook
from worker_agent.engine.state import ClusterState
from worker_agent.engine.story_shortage import Tale, holders
from worker_agent.engine.workload_info import WorkloadRow

ALONE_SHOWN: Final = 5
TRIES: Final = 24
"""Questions to the engine for one kind of remedy: an answer takes milliseconds, more with many ahead."""

NOMINAL: Final = "nominalQuota"
BORROWING: Final = "borrowingLimit"


class Remedy(Tale, frozen=True):
    """One change that would do. ``kind``: nominalQuota, borrowingLimit, finish, leave."""

    kind: str
    text: str
    workloads: tuple[str, ...] = ()
    amounts: dict[str, dict[str, str]] = {}
    """How much more by flavor and resource."""


Wish = Amounts
"""What the workload would need in one flavor, or in one of each resource group that it uses."""


class Remedies:
    """The search, for one workload in one ClusterQueue of a state that nobody else uses meanwhile."""

    def __init__(self, state: ClusterState, queue: ClusterQueueRow, workload: Workload, now: datetime) -> None:
        self._state = state
        self._queue = queue
        self._workload = workload
        self._now = now

    def find(self, wishes: Sequence[Wish], ahead: Sequence[WorkloadRow]) -> list[Remedy]:
        """Remedies, the ones that ask least of others first. ``ahead`` are those that rank before it.

        None behind a crowd: what so many others would take of any room is more than the engine plays out.
        """
        if len({row.hash for row in ahead}) >= PLAYED_OUT:
            return []
        found = list(self._finishing(wishes))
        found += self._leaving(ahead)
        for wish in wishes:
            for what in (BORROWING, NOMINAL):
                more = self._more(wish, what, ahead)
                if more is not None:
                    found.append(more)
        return found

    def _fits(self) -> bool:
        verdict = simulate.would_admit(self._state, self._workload, self._state.policy, self._now)
        return verdict.kind is Outlook.FITS

    # -- others finish ---------------------------------------------------------------------------------------------

    def _finishing(self, wishes: Sequence[Wish]) -> Iterator[Remedy]:
        candidates = self._candidates(wishes)
        alone = [row for row in candidates[:TRIES] if self._fits_without([row])]
        if alone:
            yield from (_finish([row]) for row in alone[:ALONE_SHOWN])
            return
        together = [self._fewest(rows) for wish in wishes if (rows := self._candidates([wish]))]
        best = min((rows for rows in together if rows), key=len, default=None)
        if best:
            yield _finish(best)

    def _candidates(self, wishes: Sequence[Wish]) -> list[WorkloadRow]:
        found: dict[str, WorkloadRow] = {}
        for wish in wishes:
            for fr, amount in wish.items():
                if amount > quota.exposed(self._queue.node, fr):
                    found.update((str(row.key), row) for row in holders(self._state, self._queue, fr))
        return list(found.values())

    def _fewest(self, rows: list[WorkloadRow]) -> list[WorkloadRow]:
        """The biggest together, until it fits; then those spared without which it fits as well."""
        taken: list[WorkloadRow] = []
        for row in sorted(rows, key=lambda row: -sum(row.usage.values()))[:TRIES]:
            taken.append(row)
            if self._fits_without(taken):
                break
        else:
            return []
        for row in taken[:-1]:
            fewer = [other for other in taken if other is not row]
            if self._fits_without(fewer):
                taken = fewer
        return taken

    def _fits_without(self, rows: Sequence[WorkloadRow]) -> bool:
        with self._state.trial():
            for row in rows:
                self._state.remove_reservation(row)
            return self._fits()

    # -- those ahead leave -----------------------------------------------------------------------------------------

    def _leaving(self, ahead: Sequence[WorkloadRow]) -> Iterator[Remedy]:
        """The queue itself may be all that is in the way."""
        pending = self._state.pending[self._queue.name]
        rows = [row for row in ahead if row.key not in pending.parked]
        if not rows:
            return
        for row in rows:
            pending.delete(row.key)
        try:
            fits = self._fits()
        finally:
            for row in rows:
                pending.push(row, timestamps.micros(self._now))
        if fits:
            names = tuple(str(row.key) for row in rows)
            yield Remedy(
                kind="leave",
                text=f"the {len(names)} workload(s) ahead of it getting their room elsewhere or leaving the queue",
                workloads=names,
            )

    # -- more quota ------------------------------------------------------------------------------------------------

    def _more(self, wish: Wish, what: str, ahead: Sequence[WorkloadRow]) -> Remedy | None:
        """The least raise of one limit in one flavor: what is short now, then what those ahead would take as well."""
        node = self._queue.node
        lacking = {
            fr: short
            for fr, amount in wish.items()
            if (short := resources.minus(amount, quota.exposed(node, fr))) > 0 and _limited(self._queue, fr, what)
        }
        if not lacking:
            return None
        for more in _raises(lacking, ahead):
            if self._fits_with(more, what):
                return self._raise(more, what)
        return None

    def _fits_with(self, more: Amounts, what: str) -> bool:
        view = self._queue.view
        self._state.put_cluster_queue(_raised(view, more, what))
        try:
            return self._fits()
        finally:
            self._state.put_cluster_queue(view)

    def _raise(self, more: Amounts, what: str) -> Remedy:
        amounts: dict[str, dict[str, str]] = {}
        parts = []
        for (flavor, resource), amount in more.items():
            entry = self._queue.node.quotas.get((flavor, resource), NO_QUOTA)
            before = entry.nominal if what == NOMINAL else entry.borrowing_limit or 0
            added, now, then = (resources.text(resource, n) for n in (amount, before, resources.plus(before, amount)))
            amounts.setdefault(flavor, {})[resource] = added
            parts.append(f"{added} more {resource} in flavor {flavor} ({what} {then} instead of {now})")
        return Remedy(kind=what, text=f"{' and '.join(parts)} of ClusterQueue {self._queue.name}", amounts=amounts)


def _finish(rows: Sequence[WorkloadRow]) -> Remedy:
    names = tuple(str(row.key) for row in rows)
    told = " and ".join(f"{row.key} in {row.reserved_in}" for row in rows)
    return Remedy(kind="finish", text=f"{told} finishing", workloads=names)


def _limited(queue: ClusterQueueRow, fr: FlavorResource, what: str) -> bool:
    entry = queue.node.quotas.get(fr)
    return entry is not None and (what == NOMINAL or entry.borrowing_limit is not None)


def _raises(lacking: Amounts, ahead: Sequence[WorkloadRow]) -> Iterator[Amounts]:
    """What is lacking, then with the demand of the first ahead, the first two ..."""
    more = dict(lacking)
    yield more
    for row in ahead[:TRIES]:
        demand = resources.total(pod_set.requests for pod_set in row.pod_sets)
        more = {fr: resources.plus(amount, demand.get(fr[1], 0)) for fr, amount in more.items()}
        yield more


def _raised(view: ClusterQueue, more: Amounts, what: str) -> ClusterQueue:
    groups = []
    for group in view.spec.resource_groups:
        flavors = [
            msgspec.structs.replace(
                quotas,
                resources=[_entry(entry, more.get((quotas.name, entry.name), 0), what) for entry in quotas.resources],
            )
            for quotas in group.flavors
        ]
        groups.append(msgspec.structs.replace(group, flavors=flavors))
    return msgspec.structs.replace(view, spec=msgspec.structs.replace(view.spec, resource_groups=groups))


def _entry(entry: ResourceQuota, more: int, what: str) -> ResourceQuota:
    if not more:
        return entry
    before = entry.nominal_quota if what == NOMINAL else entry.borrowing_limit
    total = resources.plus(resources.quota_amount(entry.name, before or 0), more)
    text = str(resources.UNLIMITED) if total == resources.UNLIMITED else resources.text(entry.name, total)
    if what == NOMINAL:
        return msgspec.structs.replace(entry, nominal_quota=text)
    return msgspec.structs.replace(entry, borrowing_limit=text)
