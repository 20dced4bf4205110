"""Wake-ups: which parked workloads a change may concern (spec/engine 5.9).

Changes only note a name; ``take`` turns the notes into ClusterQueues when they are flushed, so that a burst of changes
costs one pass. A note on a ClusterQueue or cohort concerns the whole tree of its root.
"""

from worker_agent.engine import hierarchy
from worker_agent.engine.hierarchy import Hierarchy
from worker_agent.engine.quota import QuotaNode


class Wakeups:
    __slots__ = ("_cohorts", "_queues")

    def __init__(self) -> None:
        self._queues: dict[str, None] = {}
        self._cohorts: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._queues or self._cohorts)

    def note(self, cluster_queue: str) -> None:
        self._queues[cluster_queue] = None

    def note_cohort(self, cohort: str) -> None:
        self._cohorts[cohort] = None

    def take(self, tree: Hierarchy) -> list[str]:
        """The ClusterQueues concerned by all notes so far, which are spent. A tree with a cycle drops its notes."""
        nodes: list[QuotaNode] = [tree.queues[name] for name in self._queues if name in tree.queues]
        nodes += [tree.cohorts[name] for name in self._cohorts if name in tree.cohorts]
        self._queues.clear()
        self._cohorts.clear()
        roots = dict.fromkeys(hierarchy.root_of(node) for node in nodes if not hierarchy.has_cycle(node))
        return list(dict.fromkeys(queue.name for root in roots for queue in hierarchy.queues_below(root)))
