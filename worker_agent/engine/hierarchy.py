"""The forest of cohorts and ClusterQueues: edges, implicit cohorts, cycles, summed quotas, heights.

A cohort exists as soon as a ClusterQueue or another cohort names it; without an object it has no quota and no parent,
and it disappears with its last child (spec/engine 2.2). Edges follow the objects at all times, also through a cycle;
a tree that holds a cycle is left as it was last summed up, and its queues are not listed for scheduling.
"""

from collections.abc import Iterator

from worker_agent.engine import quota
from worker_agent.engine.quota import CohortNode, QueueNode, Quota, QuotaNode
from worker_agent.engine.resources import FlavorResource, minus, plus

CYCLE = "cohort has a cycle"


class Hierarchy:
    """All nodes by name. Methods that change an edge or a quota return whether the touched node is free of cycles."""

    __slots__ = ("cohorts", "queues", "version")

    def __init__(self) -> None:
        self.cohorts: dict[str, CohortNode] = {}
        self.queues: dict[str, QueueNode] = {}
        self.version = 0
        """Grows whenever an edge or a sum of quotas may have changed."""

    # -- changes ---------------------------------------------------------------------------------------------------

    def put_queue(self, name: str, cohort_name: str, quotas: dict[FlavorResource, Quota]) -> bool:
        node = self.queues.get(name)
        created = node is None
        if node is None:
            node = self.queues[name] = QueueNode(name)
        old_parent = node.parent
        new_parent = self._cohort(cohort_name) if cohort_name else None
        if not created and node.quotas == quotas and old_parent is new_parent:
            return not has_cycle(new_parent)
        node.quotas = quotas
        node.quotas_changed()
        if old_parent is not new_parent:
            self._move_queue(node, new_parent)
        return self._sum_up_tree_of(node)

    def delete_queue(self, name: str) -> None:
        node = self.queues.pop(name, None)
        if node is not None:
            self._move_queue(node, None)

    def put_cohort(self, name: str, parent_name: str, quotas: dict[FlavorResource, Quota]) -> bool:
        node = self._cohort(name)
        node.explicit = True
        node.quotas = quotas
        node.quotas_changed()
        self._move_cohort(node, parent_name)
        return self._sum_up_tree_of(node)

    def delete_cohort(self, name: str) -> None:
        """A cohort with children stays as an implicit one: its quota and its parent edge vanish."""
        node = self.cohorts.get(name)
        if node is None:
            return
        node.explicit = False
        node.quotas = {}
        node.quotas_changed()
        node.weight = 1.0
        self._move_cohort(node, "")
        self._drop_if_unused(node)
        self.version += 1
        if name in self.cohorts:
            self._sum_up_tree_of(node)

    def relist(self, name: str, listed: bool) -> None:
        """Say whether the cycle sees this ClusterQueue; heights count only those it sees."""
        node = self.queues[name]
        if node.listed != listed:
            node.listed = listed
            _forget_heights(node.parent)

    # -- edges -----------------------------------------------------------------------------------------------------

    def _cohort(self, name: str) -> CohortNode:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = CohortNode(name)
        return node

    def _move_queue(self, node: QueueNode, parent: CohortNode | None) -> None:
        self.version += 1
        old = node.parent
        node.parent = parent
        if old is not None:
            del old.child_queues[node.name]
            self._after_child_left(old)
        if parent is not None:
            parent.child_queues[node.name] = node
            _forget_heights(parent)

    def _move_cohort(self, node: CohortNode, parent_name: str) -> None:
        if node.parent_name == parent_name:
            return
        old = node.parent
        node.parent_name = parent_name
        node.parent = self._cohort(parent_name) if parent_name else None
        if node.parent is not None:
            node.parent.child_cohorts[node.name] = node
            _forget_heights(node.parent)
        if old is not None:
            del old.child_cohorts[node.name]
            self._after_child_left(old)

    def _after_child_left(self, parent: CohortNode) -> None:
        _forget_heights(parent)
        self._drop_if_unused(parent)
        if parent.name in self.cohorts:
            self._sum_up_tree_of(parent)

    def _drop_if_unused(self, node: CohortNode) -> None:
        if not node.explicit and not node.child_cohorts and not node.child_queues:
            del self.cohorts[node.name]

    # -- sums ------------------------------------------------------------------------------------------------------

    def _sum_up_tree_of(self, node: QuotaNode) -> bool:
        self.version += 1
        if has_cycle(node):
            for queue in queues_below(node):
                queue.cyclic = True
            return False
        _sum_up(root_of(node))
        return True


def _sum_up(node: QuotaNode) -> None:
    if isinstance(node, QueueNode):
        node.generation += 1
        node.cyclic = False
        quota.sum_up(node, [])
        return
    children = list(_children(node))
    for child in children:
        _sum_up(child)
    quota.sum_up(node, children)


def _children(node: QuotaNode) -> Iterator[QuotaNode]:
    if isinstance(node, CohortNode):
        yield from node.child_cohorts.values()
        yield from node.child_queues.values()


def has_cycle(node: QuotaNode | None) -> bool:
    """Whether walking up from the node comes back to a node already seen."""
    slow = fast = node
    while fast is not None and fast.parent is not None:
        slow = slow.parent if slow is not None else None
        fast = fast.parent.parent
        if slow is fast and fast is not None:
            return True
    return False


def ancestors(node: QuotaNode) -> Iterator[CohortNode]:
    """Parent first, root last. Only for nodes without a cycle above them."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def root_of(node: QuotaNode) -> QuotaNode:
    while node.parent is not None:
        node = node.parent
    return node


def queues_below(node: QuotaNode) -> Iterator[QueueNode]:
    """All ClusterQueues of the subtree, in order of attachment; also where it holds a cycle."""
    seen: set[int] = set()
    stack: list[QuotaNode] = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, QueueNode):
            yield found
        elif id(found) not in seen:
            seen.add(id(found))
            stack.extend(reversed(list(_children(found))))


def path(node: QuotaNode) -> str:
    """``/root/.../queue``, as eviction messages print it."""
    names = [node.name, *(cohort.name for cohort in ancestors(node))]
    return "/" + "/".join(reversed(names))


# -- borrowing levels ----------------------------------------------------------------------------------------------


def height(cohort: CohortNode) -> int:
    """Levels of listed nodes below: 0 without children, 1 over ClusterQueues only."""
    if cohort.height is None:
        listed = any(child.listed for child in cohort.child_queues.values())
        below = [height(child) + 1 for child in cohort.child_cohorts.values()]
        cohort.height = max([*below, 1]) if below or listed else 0
    return cohort.height


def _forget_heights(cohort: CohortNode | None) -> None:
    seen: set[int] = set()
    while cohort is not None and id(cohort) not in seen:
        seen.add(id(cohort))
        cohort.height = None
        cohort = cohort.parent


def lowest_subtree_that_fits(queue: QuotaNode, fr: FlavorResource, amount: int) -> tuple[int, bool]:
    """(borrowing level, whether that subtree is smaller than the whole tree) for this much more (spec/engine 6.7)."""
    cohort = queue.parent
    if cohort is None:
        return 0, False
    if not quota.borrows(queue, fr, amount):
        return 0, True
    rest = minus(amount, quota.local_available(queue, fr))
    while cohort.terms(fr).subtree < plus(cohort.usage.get(fr, 0), rest):
        if cohort.parent is None:
            return height(cohort), False
        rest = minus(rest, quota.local_available(cohort, fr))
        cohort = cohort.parent
    return height(cohort), cohort.parent is not None


def lendable(cohort: QuotaNode) -> dict[str, int]:
    """Per resource, over all flavors of the tree, the most this node could ever use (spec/engine 11.1)."""
    if cohort.lendable is None:
        result: dict[str, int] = {}
        for fr in root_of(cohort).subtree:
            result[fr[1]] = plus(result.get(fr[1], 0), quota.potential_available(cohort, fr))
        cohort.lendable = result
    return cohort.lendable
