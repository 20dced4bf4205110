"""Quota arithmetic on one node of the cohort tree and its ancestors (spec/engine 6).

Short recursive functions over ints. A node's ``subtree`` quota and ``kept`` part (what a lending limit keeps away from
the parent) only change with the objects, so they are stored by ``hierarchy``; usage changes with every admission and is
kept up to date on the whole path here, never summed up again.
"""

from typing import Final

from worker_agent.engine.resources import UNLIMITED, Amounts, FlavorResource, minus, plus
from worker_agent.engine.trial import Journal


class Quota:
    """What one node grants and limits of one FlavorResource; None for a limit is no limit."""

    __slots__ = ("borrowing_limit", "lending_limit", "nominal")

    def __init__(self, nominal: int, borrowing_limit: int | None = None, lending_limit: int | None = None) -> None:
        self.nominal: Final = nominal
        self.borrowing_limit: Final = borrowing_limit
        self.lending_limit: Final = lending_limit

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quota):
            return NotImplemented
        mine = (self.nominal, self.borrowing_limit, self.lending_limit)
        return mine == (other.nominal, other.borrowing_limit, other.lending_limit)

    def __hash__(self) -> int:
        return hash((self.nominal, self.borrowing_limit, self.lending_limit))


NO_QUOTA: Final = Quota(0)


class Terms:
    """What a node has of one FlavorResource by the objects alone, side by side: asked for with every quota question.

    ``exact``: the figures are far enough from the ends of int64 that sums of them need no care.
    """

    __slots__ = ("exact", "kept", "limit", "most", "nominal", "subtree")

    def __init__(self, node: "QuotaNode", fr: FlavorResource) -> None:
        quota = node.quotas.get(fr, NO_QUOTA)
        self.nominal: Final = quota.nominal
        self.limit: Final = quota.borrowing_limit
        self.subtree: Final = node.subtree.get(fr, 0)
        self.kept: Final = node.kept.get(fr, 0)
        self.most: int | None = None
        """Cache of ``potential_available``."""
        self.exact: Final = self.subtree < _SAFE and self.kept < _SAFE and (self.limit or 0) < _SAFE


_SAFE: Final = 1 << 60


class QuotaNode:
    """A ClusterQueue (leaf) or a Cohort; ``parent`` is None at a root."""

    __slots__ = ("_terms", "kept", "lendable", "name", "parent", "quotas", "subtree", "usage")

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent: CohortNode | None = None
        self.quotas: dict[FlavorResource, Quota] = {}
        self.subtree: Amounts = {}
        self.kept: Amounts = {}
        self.usage: Amounts = {}
        self._terms: dict[FlavorResource, Terms] = {}
        self.lendable: dict[str, int] | None = None
        """Cache of ``hierarchy.lendable``."""

    def nominal(self, fr: FlavorResource) -> int:
        return self.quotas.get(fr, NO_QUOTA).nominal

    def terms(self, fr: FlavorResource) -> Terms:
        found = self._terms.get(fr)
        if found is None:
            found = self._terms[fr] = Terms(self, fr)
        return found

    def quotas_changed(self) -> None:
        """Forget what was derived from quotas: called on every node of a tree whenever it is summed up again."""
        self._terms = {}
        self.lendable = None


class CohortNode(QuotaNode):
    """An inner node. Children are kept by name; ``height`` is a cache of ``hierarchy``'s, None while unknown."""

    __slots__ = ("child_cohorts", "child_queues", "explicit", "height", "parent_name", "weight")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.child_cohorts: dict[str, CohortNode] = {}
        self.child_queues: dict[str, QueueNode] = {}
        self.parent_name = ""
        self.explicit = False
        self.height: int | None = None
        self.weight = 1.0


class QueueNode(QuotaNode):
    """A leaf. ``listed``: the cycle sees this ClusterQueue (its quota counts in the cohort either way).

    ``cyclic``: its ancestors form a cycle; then its usage stays its own until the cycle is gone.
    """

    __slots__ = ("cyclic", "generation", "listed", "weight")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.generation = 0
        """Grows when what this queue could allocate may have grown (spec/engine 8.6)."""
        self.listed = True
        self.cyclic = False
        self.weight = 1.0


def sum_up(node: QuotaNode, children: list[QuotaNode]) -> None:
    """Recompute the node's subtree quota and kept part, and a cohort's usage, from its children's."""
    subtree = {fr: quota.nominal for fr, quota in node.quotas.items()}
    if isinstance(node, CohortNode):
        usage: Amounts = {}
        for child in children:
            for fr, amount in child.subtree.items():
                subtree[fr] = plus(subtree.get(fr, 0), minus(amount, child.kept.get(fr, 0)))
            for fr, amount in child.usage.items():
                usage[fr] = usage.get(fr, 0) + _beyond(amount, child.kept.get(fr, 0))
        node.usage = {fr: amount for fr, amount in usage.items() if amount}
    node.subtree = subtree
    node.kept = {
        fr: max(0, minus(subtree.get(fr, 0), quota.lending_limit))
        for fr, quota in node.quotas.items()
        if quota.lending_limit is not None
    }
    node.quotas_changed()


def local_available(node: QuotaNode, fr: FlavorResource) -> int:
    """What the node can still use of the part it does not lend."""
    kept = node.terms(fr).kept
    return max(0, minus(kept, node.usage.get(fr, 0))) if kept else 0


def available(node: QuotaNode, fr: FlavorResource) -> int:
    """What the node can still use, borrowing included. May be negative where a tree is over-admitted."""
    terms, used = node.terms(fr), node.usage.get(fr, 0)
    if node.parent is None:
        return minus(terms.subtree, used)
    free = available(node.parent, fr)
    kept = terms.kept
    if terms.limit is not None:
        borrowable = _borrowable(terms, used)
        free = min(free, borrowable)
    return plus(max(0, minus(kept, used)), free) if kept else free


def _borrowable(terms: Terms, used: int) -> int:
    """What a borrowing limit leaves the node of its parent's."""
    limit, kept = terms.limit or 0, terms.kept
    if terms.exact and used < _SAFE:
        return terms.subtree - (used if used > kept else kept) + limit
    used_in_parent = max(0, minus(used, kept))
    return plus(minus(minus(terms.subtree, kept), used_in_parent), limit)


def exposed(node: QuotaNode, fr: FlavorResource) -> int:
    """``available`` as a ClusterQueue sees it: never below zero."""
    free = available(node, fr)
    return free if free > 0 else 0


def potential_available(node: QuotaNode, fr: FlavorResource) -> int:
    """The most the node could ever use, if nothing in the tree were in use."""
    terms = node.terms(fr)
    if terms.most is None:
        terms.most = _potential(node, terms, fr)
    return terms.most


def _potential(node: QuotaNode, terms: Terms, fr: FlavorResource) -> int:
    if node.parent is None:
        return terms.subtree
    amount = plus(terms.kept, potential_available(node.parent, fr))
    return amount if terms.limit is None else min(amount, plus(terms.subtree, terms.limit))


def borrows(node: QuotaNode, fr: FlavorResource, amount: int = 0) -> bool:
    """Whether the node's usage with ``amount`` more goes beyond its own quota (a cohort's: its subtree's)."""
    terms = node.terms(fr)
    own = terms.subtree if isinstance(node, CohortNode) else terms.nominal
    return own < plus(node.usage.get(fr, 0), amount)


def fits(node: QuotaNode, amounts: Amounts) -> bool:
    """Whether all of it is available to the ClusterQueue at once."""
    for fr, amount in amounts.items():  # a plain loop: asked of every entry of a cycle
        if amount > exposed(node, fr):
            break
    else:
        return True
    return False


def add_usage(node: QuotaNode, fr: FlavorResource, amount: int, journal: Journal) -> None:
    """Use ``amount`` more; what exceeds the kept part spills over to the parent."""
    while True:
        spare = local_available(node, fr)
        _set_usage(node, fr, node.usage.get(fr, 0) + amount, journal)
        parent = node.parent
        if parent is None or amount <= spare:
            return
        node, amount = parent, amount - spare


def remove_usage(node: QuotaNode, fr: FlavorResource, amount: int, journal: Journal) -> None:
    """Give ``amount`` back; first what lies in the parent."""
    while True:
        used = node.usage.get(fr, 0)
        _set_usage(node, fr, used - amount, journal)
        parent = node.parent
        if parent is None:
            return
        in_parent = _beyond(used, node.terms(fr).kept)
        if in_parent <= 0:
            return
        node, amount = parent, min(amount, in_parent)


def add_all(node: QueueNode, amounts: Amounts, journal: Journal) -> None:
    """What a workload uses, added to its ClusterQueue and on from there."""
    for fr, amount in amounts.items():
        if node.cyclic:
            _set_usage(node, fr, node.usage.get(fr, 0) + amount, journal)
        else:
            add_usage(node, fr, amount, journal)


def remove_all(node: QueueNode, amounts: Amounts, journal: Journal) -> None:
    for fr, amount in amounts.items():
        if node.cyclic:
            _set_usage(node, fr, node.usage.get(fr, 0) - amount, journal)
        else:
            remove_usage(node, fr, amount, journal)


def _beyond(usage: int, kept: int) -> int:
    """What of the usage lies in the parent. Usage is summed up exactly, also beyond int64: a sum that was cut would
    leave less than nothing when its parts are given back."""
    return 0 if kept == UNLIMITED else max(0, usage - kept)


def _set_usage(node: QuotaNode, fr: FlavorResource, amount: int, journal: Journal) -> None:
    if amount:
        journal.put(node.usage, fr, amount)
    else:
        journal.drop(node.usage, fr)
