"""Claims: the victims that entries of one cycle have taken already.

Whoever comes later is judged on the state without them. Quota is a matter of one tree of cohorts, so the victims of
other trees are left alone there; nodes are shared by all trees.
"""

from collections.abc import Iterable

from worker_agent.api.meta import Key
from worker_agent.engine import hierarchy
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.preemption.search import Target
from worker_agent.engine.quota import QuotaNode
from worker_agent.engine.workload_info import WorkloadRow


class Claims:
    __slots__ = ("_by_tree", "_rows")

    def __init__(self) -> None:
        self._rows: dict[Key, WorkloadRow] = {}
        self._by_tree: dict[QuotaNode, dict[Key, WorkloadRow]] = {}

    def add(self, queue: ClusterQueueRow, targets: Iterable[Target]) -> None:
        """Victims of an entry of ``queue``; they hold quota in the queue's tree."""
        tree = hierarchy.root_of(queue.node)
        for target in targets:
            row = target.row
            self._rows[row.key] = self._by_tree.setdefault(tree, {})[row.key] = row

    def overlap(self, targets: list[Target]) -> bool:
        """Whether some of the targets are claimed."""
        rows = self._rows
        if rows:
            for target in targets:
                if target.row.key in rows:
                    return True
        return False

    def beside(self, queue: ClusterQueueRow, targets: list[Target], everywhere: bool) -> list[WorkloadRow]:
        """The claimed ones and ``targets``, each once; those of the queue's own tree, or of all trees."""
        claimed = self._rows
        if claimed and not everywhere:
            claimed = self._by_tree.get(hierarchy.root_of(queue.node), _NOBODY)
        if not targets:
            return list(claimed.values())
        return [*claimed.values(), *(target.row for target in targets if target.row.key not in claimed)]


_NOBODY: dict[Key, WorkloadRow] = {}
