"""Dominant resource share: how much of what could be lent a node borrows (spec/engine 11.1)."""

import math
from typing import Final, NamedTuple

from worker_agent.engine import hierarchy
from worker_agent.engine.quota import CohortNode, QueueNode, QuotaNode
from worker_agent.engine.resources import Amounts, FlavorResource, minus, plus

INFINITE_SHARE: Final = 2**63 - 1
"""``status.weightedShare`` of a node of weight 0 that borrows."""


class Share(NamedTuple):
    """``weighted`` is infinite for weight 0. ``borrowed``: the FlavorResources used beyond the node's own quota."""

    unweighted: float = 0.0
    weighted: float = 0.0
    resource: str = ""
    borrowed: tuple[FlavorResource, ...] = ()

    @property
    def status(self) -> int:
        """As the status fields show it: rounded up."""
        return INFINITE_SHARE if math.isinf(self.weighted) else math.ceil(self.weighted)

    @property
    def borrowing(self) -> bool:
        """A node may borrow and have share 0 nevertheless: nothing of the resource could be lent."""
        return bool(self.borrowed)

    @property
    def order(self) -> tuple[float, float]:
        """Shares compare by this; infinite ones among each other by the unweighted share."""
        return (self.weighted, self.unweighted if math.isinf(self.weighted) else 0.0)


NO_SHARE: Final = Share()


def dominant_share(node: QuotaNode, extra: Amounts | None = None) -> Share:
    """The node's share with ``extra`` usage on top of its own; roots have none. Ties: the first resource by name."""
    if node.parent is None:
        return NO_SHARE
    borrowed = []
    over: dict[str, int] = {}
    usage = node.usage
    for fr, own in node.subtree.items():
        used = usage.get(fr, 0)
        if extra is not None:
            used = plus(used, extra.get(fr, 0))
        if used > own:
            borrowed.append(fr)
            over[fr[1]] = plus(over.get(fr[1], 0), minus(used, own))
    if not over:
        return NO_SHARE
    unweighted, resource = _dominant(over, hierarchy.lendable(node.parent))
    if not resource:
        return Share(borrowed=tuple(borrowed))
    return Share(unweighted, _weighted(unweighted, _weight(node)), resource, tuple(borrowed))


def _dominant(over: dict[str, int], lendable: dict[str, int]) -> tuple[float, str]:
    best, resource = 0.0, ""
    for name in sorted(over) if len(over) > 1 else over:
        most = lendable.get(name, 0)
        if most > 0:
            ratio = over[name] * 1000.0 / most
            if not resource or ratio > best:
                best, resource = ratio, name
    return best, resource


def _weight(node: QuotaNode) -> float:
    return node.weight if isinstance(node, CohortNode | QueueNode) else 1.0


def _weighted(share: float, weight: float) -> float:
    if share == 0:
        return 0.0
    return math.inf if weight == 0 else share / weight
