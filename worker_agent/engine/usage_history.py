"""What LocalQueues have used of late, so that those which used little go first (spec/engine 12).

Amounts are exact: whole billionths of the resource's natural unit (a core, a byte). Usage fades with a half-life; an
admission weighs at once through a penalty, which is settled when the workload is admitted.
"""

import math
from collections.abc import Mapping
from typing import Final

from worker_agent.api.meta import Key
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.usage_history_rules import UsageRules

Billionths = dict[str, int]

_UNIT: Final = 10**9
_PER_MILLI: Final = 10**6


def billionths(resource: str, amount: int) -> int:
    """An amount of the engine (cpu in milli-units) in billionths of the natural unit."""
    return amount * (_PER_MILLI if resource == "cpu" else _UNIT)


def of_requests(requests: Mapping[str, int]) -> Billionths:
    return {name: billionths(name, amount) for name, amount in requests.items()}


def of_usage(usage: Mapping[FlavorResource, int]) -> Billionths:
    """Usage over all flavors, by resource."""
    total: Billionths = {}
    for (_, name), amount in usage.items():
        total[name] = total.get(name, 0) + billionths(name, amount)
    return total


def scaled(amounts: Billionths, factor: float) -> Billionths:
    """Each amount times the factor, exactly, rounded down to a billionth."""
    numerator, denominator = factor.as_integer_ratio()
    return {name: amount * numerator // denominator for name, amount in amounts.items()}


def added(a: Billionths, b: Billionths) -> Billionths:
    return {name: a.get(name, 0) + b.get(name, 0) for name in a.keys() | b.keys()}


class LocalUsage:
    """The ledger of one LocalQueue. ``updated``: instant of the last decay in microseconds, None before the first."""

    __slots__ = ("consumed", "penalties", "updated")

    def __init__(self) -> None:
        self.consumed: Billionths = {}
        self.penalties: dict[Key, Billionths] = {}
        self.updated: int | None = None


class UsageHistory:
    """The ledgers by LocalQueue. Instants are int microseconds."""

    def __init__(self, rules: UsageRules) -> None:
        self.rules = rules
        self._ledgers: dict[Key, LocalUsage] = {}

    def ledger(self, queue: Key) -> LocalUsage:
        return self._ledgers.setdefault(queue, LocalUsage())

    def knows(self, queue: Key) -> bool:
        """Whether anything was entered for it since the start."""
        return queue in self._ledgers

    def forget(self, queue: Key) -> None:
        self._ledgers.pop(queue, None)

    # -- transitions -----------------------------------------------------------------------------------------------

    def seed(self, queue: Key, consumed: Billionths, updated: int | None = None) -> None:
        """What the status of the object remembers, once per process. None: it fades from the first sample on."""
        ledger = self.ledger(queue)
        ledger.consumed, ledger.updated = dict(consumed), updated

    def charge(self, queue: Key, workload: Key, requests: Mapping[str, int]) -> None:
        """An admission is about to be written: its penalty counts until it is settled or dropped."""
        penalty = scaled(of_requests(requests), self.rules.alpha(self.rules.sampling_interval))
        self.ledger(queue).penalties[workload] = penalty

    def owes(self, queue: Key, workload: Key) -> bool:
        """Whether a penalty of this workload is neither settled nor dropped."""
        found = self._ledgers.get(queue)
        return found is not None and workload in found.penalties

    def drop(self, queue: Key, workload: Key) -> None:
        """The admission came to nothing."""
        self.ledger(queue).penalties.pop(workload, None)

    def settle(self, queue: Key, workload: Key, in_use: Billionths, now: int) -> None:
        """The workload is admitted (and its usage part of ``in_use``): its penalty becomes usage."""
        ledger = self.ledger(queue)
        penalty = ledger.penalties.pop(workload, {})
        self.sample(queue, in_use, now)
        ledger.consumed = added(ledger.consumed, penalty)

    def sample(self, queue: Key, in_use: Billionths, now: int) -> None:
        """Let the past fade and enter what is in use."""
        ledger = self.ledger(queue)
        if self.rules.half_life == 0:
            ledger.consumed = {}
        elif ledger.updated is not None:
            fade = self.rules.alpha((now - ledger.updated) / 1e6)
            ledger.consumed = added(scaled(ledger.consumed, 1.0 - fade), scaled(in_use, fade))
        ledger.updated = now

    def due(self, queue: Key, now: int) -> bool:
        """Whether it is time for the next sample; while a penalty is open any time will do."""
        ledger = self._ledgers.get(queue)
        if ledger is None or ledger.updated is None or ledger.penalties:
            return True
        interval = self.rules.sampling_interval
        return interval > 0 and now - ledger.updated >= interval * 1e6

    # -- value -----------------------------------------------------------------------------------------------------

    def value(self, queue: Key, weight: float) -> float:
        """By this LocalQueues compare: weighted usage, penalties included, over the queue's weight."""
        if weight <= 0:
            return math.inf
        ledger = self._ledgers.get(queue)
        if ledger is None:
            return 0.0
        total = ledger.consumed
        for penalty in ledger.penalties.values():
            total = added(total, penalty)
        weights = self.rules.weights
        return sum(weights.get(name, 1.0) * (total[name] / _UNIT) for name in sorted(total)) / weight
