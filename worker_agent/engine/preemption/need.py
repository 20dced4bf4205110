"""Need: what a search has to make room for, and whether the room is there."""

from collections.abc import Callable
from typing import Final

from worker_agent.engine import quota
from worker_agent.engine.assignment import Assignment
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.resources import PODS, Amounts, FlavorResource


class Need:
    """``frs``: what preemption has to provide; ``usage``: all that must fit in the end.

    ``placed`` says whether the pods find their nodes too, on the state as it is when it is called.
    """

    __slots__ = ("_node", "frs", "placed", "usage")

    def __init__(
        self,
        queue: ClusterQueueRow,
        frs: frozenset[FlavorResource],
        usage: Amounts,
        placed: Callable[[], bool] | None = None,
    ) -> None:
        self._node: Final = queue.node
        self.frs: Final = frs
        self.usage: Final = usage
        self.placed: Final = placed

    def fits(self, borrow: bool) -> bool:
        """On the state as it is: all of it available, without going beyond the own quota unless ``borrow``."""
        node = self._node
        for fr, amount in self.usage.items():
            if not borrow and quota.borrows(node, fr, amount):
                return False
            if amount > quota.exposed(node, fr):
                return False
        return self.placed is None or self.placed()


def of_resource(queue: ClusterQueueRow, fr: FlavorResource, amount: int) -> Need:
    """What a flavor scan asks for one resource of one flavor."""
    return Need(queue, frozenset((fr,)), {fr: amount})


def of_assignment(queue: ClusterQueueRow, assignment: Assignment, placed: Callable[[], bool] | None = None) -> Need:
    """What a whole assignment asks for. The implicit pods count only when the cycle checks the room again."""
    usage = {fr: amount for fr, amount in assignment.usage.items() if amount and fr[1] != PODS}
    return Need(queue, frozenset(assignment.needing_preemption()), usage, placed)
