"""Dominant resource share: how much of what could be lent a node borrows (spec/engine 11.1)."""

import math
from typing import Final, NamedTuple

from worker_agent.engine import hierarchy, quota, resources
from worker_agent.engine.quota import CohortNode, QuotaNode
from worker_agent.engine.resources import Amounts, FlavorResource

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


NO_SHARE: Final = Share()


def dominant_share(node: QuotaNode, extra: Amounts | None = None) -> Share:
    """The node's share with ``extra`` usage on top of its own; roots have none. Ties: the first resource by name."""
    if node.parent is None:
        return NO_SHARE
    more = extra or {}
    borrowed = []
    over: dict[str, int] = {}
    for fr, own in node.subtree.items():
        beyond = resources.minus(resources.plus(node.usage.get(fr, 0), more.get(fr, 0)), own)
        if beyond > 0:
            borrowed.append(fr)
            over[fr[1]] = resources.plus(over.get(fr[1], 0), beyond)
    if not over:
        return NO_SHARE
    lendable = hierarchy.lendable(node.parent)
    ratios = {r: amount * 1000.0 / lendable[r] for r, amount in sorted(over.items()) if lendable.get(r, 0) > 0}
    if not ratios:
        return Share(borrowed=tuple(borrowed))
    resource = max(ratios, key=lambda name: ratios[name])
    return Share(ratios[resource], _weighted(ratios[resource], _weight(node)), resource, tuple(borrowed))


def _weight(node: QuotaNode) -> float:
    return node.weight if isinstance(node, CohortNode | quota.QueueNode) else 1.0


def _weighted(share: float, weight: float) -> float:
    if share == 0:
        return 0.0
    return math.inf if weight == 0 else share / weight
