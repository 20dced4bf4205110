"""Has quota given back where the tenants of a Cohort that spans workers hold more than there is.

Which of them, and why at all, is told in ``hub.engine.overdrawn_span``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from hub.controllers.federation_objects import FederationObjects
from hub.engine import cohort_span, group_loading, overdrawn_span, sync_refusal
from hub.engine.overdrawn_span import PATIENCE_SECONDS
from hub.engine.remote_group import RemoteGroup, Sight, SyncPolicy
from worker_agent.api.cohort import Cohort
from worker_agent.api.workload import Workload
from worker_agent.controllers.workload_controller import CLUSTER_QUEUE_INDEX
from worker_agent.engine import hierarchy
from worker_agent.engine.intents import Intent, RequeueAfter
from worker_agent.engine.resources import Amounts
from worker_agent.kube.clock import Clock

Usage = Callable[[], Mapping[str, Amounts]]
"""What is held in each of the manager's ClusterQueues, as its engine counts it."""


class OverdrawnSpans:
    """Remembers since when a cohort is overdrawn; after a restart that is counted anew."""

    def __init__(self, objects: FederationObjects, usage: Usage, clock: Clock) -> None:
        self._objects = objects
        self._usage = usage
        self._clock = clock
        self._since: dict[str, float] = {}

    def forget(self, cohort: str) -> None:
        self._since.pop(cohort, None)

    def decide(self, cohort: str, cohorts: Sequence[Cohort]) -> list[Intent]:
        """For a cohort whose quota is up to date; ``cohorts`` are all of the manager."""
        usage = self._usage()
        whole = cohort_span.whole_tree(cohort, self._objects.queues.values(), cohorts)
        tree = cohort_span.tree(whole.queues, whole.cohorts, lambda queue: usage.get(queue.metadata.name, {}))
        if hierarchy.has_cycle(tree.cohorts[cohort]):
            return []
        members = [queue.name for queue in hierarchy.queues_below(tree.cohorts[cohort])]
        overdrawn_span.without(tree, self._leaving(members))
        if not overdrawn_span.overdraft(tree.cohorts[cohort]):
            self.forget(cohort)
            return []
        now = self._clock.monotonic()
        left = self._since.setdefault(cohort, now) + PATIENCE_SECONDS - now
        if left > 0:
            return [RequeueAfter(left)]
        self.forget(cohort)
        waiting = {each.metadata.key: each for each in self._holding(members) if self._waits(each)}
        chosen = overdrawn_span.give_back(tree, cohort, map(overdrawn_span.waiting, waiting.values()))
        return [intent for each in chosen for intent in self._evicted(waiting[each.key], cohort)]

    def _holding(self, queues: Iterable[str]) -> Iterator[Workload]:
        for name in queues:
            yield from self._objects.workloads.by_index(CLUSTER_QUEUE_INDEX, name)

    def _leaving(self, queues: Iterable[str]) -> Iterator[tuple[str, Amounts]]:
        for name in queues:
            leaving = [each for each in self._holding([name]) if overdrawn_span.is_leaving(each)]
            yield name, cohort_span.held_by(leaving)

    def _waits(self, workload: Workload) -> bool:
        checks = group_loading.multikueue_checks(workload, self._objects)
        return overdrawn_span.waits(workload, checks)

    def _evicted(self, workload: Workload, cohort: str) -> list[Intent]:
        document = self._objects.workload(workload.metadata.key)
        if document is None:
            return []
        checks = group_loading.multikueue_checks(workload, self._objects)
        group = RemoteGroup(Sight.of(document), SyncPolicy(), checks)
        why = f'The workers leave less to Cohort "{cohort}" than its queues hold, and this workload waits for a cluster'
        return sync_refusal.queue_again(group, why, self._clock.now())
