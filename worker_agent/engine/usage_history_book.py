"""UsageBook: the ledgers of the LocalQueues that the state knows, entered as workloads come and go (spec/engine 12.2).

Usage of all LocalQueues is remembered; it counts where the ClusterQueue admits by usage.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from worker_agent.api import quantity
from worker_agent.api.meta import Key
from worker_agent.engine import usage_history
from worker_agent.engine.cluster_queue import ClusterQueueRow, LocalQueueRow
from worker_agent.engine.pending import PendingQueue
from worker_agent.engine.resources import PODS
from worker_agent.engine.usage_history import Billionths, UsageHistory
from worker_agent.engine.usage_history_rules import UsageRules
from worker_agent.engine.workload_info import WorkloadRow


class UsagePicture(NamedTuple):
    """One ledger: consumed billionths by resource, and since when (microseconds).

    ``value`` is what workloads of the queue rank by; None where usage plays no part.
    """

    consumed: tuple[tuple[str, int], ...]
    updated: int
    value: float | None = None


class UsageBook:
    """``version`` grows whenever the order of LocalQueues may have changed."""

    def __init__(
        self,
        rules: UsageRules,
        local_queues: Mapping[Key, LocalQueueRow],
        cluster_queues: Mapping[str, ClusterQueueRow],
    ) -> None:
        self.history = UsageHistory(rules)
        self.version = 0
        self._local_queues = local_queues
        self._cluster_queues = cluster_queues
        self.next_sample = 0
        """Instant at which the next ledger is due."""

    def usage(self, key: Key) -> float | None:
        """The value by which workloads of this LocalQueue rank; None where usage plays no part."""
        queue = self._local_queues.get(key)
        if queue is None or not self._takes_part(queue.cluster_queue):
            return None
        return self.history.value(key, queue.weight)

    def _takes_part(self, cluster_queue: str) -> bool:
        found = self._cluster_queues.get(cluster_queue)
        return found is not None and found.admission_fair_sharing

    # -- what happens ------------------------------------------------------------------------------------------------

    def seed(self, queue: LocalQueueRow) -> None:
        """A LocalQueue came up: what its status remembers, unless this process knows better."""
        sharing = queue.view.status.fair_sharing
        status = sharing.admission_fair_sharing_status if sharing is not None else None
        if status is None or self.history.knows(queue.key):
            return
        consumed = {name: quantity.nanos(amount) for name, amount in (status.consumed_resources or {}).items()}
        self.history.seed(queue.key, consumed)
        self.version += 1

    def read_again(self) -> None:
        """Somebody else kept the ledgers so far: those in the status of the LocalQueues count from now on."""
        for key, queue in self._local_queues.items():
            self.history.forget(key)
            self.seed(queue)
        self.next_sample = 0

    def charge(self, row: WorkloadRow, cluster_queue: str) -> None:
        """The workload was given quota just now."""
        if not self._takes_part(cluster_queue):
            return
        requests: dict[str, int] = {}
        for pod_set in row.pod_sets:
            for name, amount in pod_set.requests.items():
                if name != PODS:
                    requests[name] = requests.get(name, 0) + amount
        self.history.charge(row.queue, row.key, requests)
        self.version += 1

    def settle(self, row: WorkloadRow, now: int) -> None:
        """The workload is admitted, and its usage counted with its LocalQueue's."""
        if self.history.owes(row.queue, row.key):
            self.history.settle(row.queue, row.key, self._in_use(row.queue), now)
            self.version += 1

    def drop(self, row: WorkloadRow) -> None:
        """The workload has gone, or got no quota after all."""
        if self.history.owes(row.queue, row.key):
            self.history.drop(row.queue, row.key)
            self.version += 1

    def queue_appeared(self, queue: LocalQueueRow) -> None:
        """A LocalQueue was made or changed: it is looked at with the next sample."""
        if not self.history.knows(queue.key):
            self.next_sample = 0
        self.seed(queue)

    def forget(self, key: Key) -> None:
        """The LocalQueue is gone."""
        self.history.forget(key)
        self.version += 1

    def sample(self, now: int) -> list[str]:
        """Bring the ledgers up to date that are due; cheap when none is. Returns the ClusterQueues concerned."""
        if now < self.next_sample:
            return []
        interval = int(self.history.rules.sampling_interval * 1e6)
        self.next_sample = now + interval
        concerned: dict[str, None] = {}
        for key, queue in self._local_queues.items():
            if self.history.due(key, now):
                self.history.sample(key, self._in_use(key), now)
                self.version += 1
                concerned[queue.cluster_queue] = None
            self.next_sample = min(self.next_sample, (self.history.ledger(key).updated or now) + interval)
        return list(concerned)

    def picture(self) -> Mapping[Key, UsagePicture]:
        """All ledgers at this instant."""
        ledgers = ((key, self.history.ledger(key)) for key in self._local_queues)
        return {
            key: UsagePicture(tuple(sorted(ledger.consumed.items())), ledger.updated, self.usage(key))
            for key, ledger in ledgers
            if ledger.updated is not None
        }

    def rank(self, queues: Iterable[PendingQueue]) -> None:
        """Put pending workloads in the order of the usage of now."""
        for queue in queues:
            by_usage = self._takes_part(queue.name)
            queue.reorder(self.usage if by_usage else None, self.version if by_usage else 0)

    def _in_use(self, key: Key) -> Billionths:
        queue = self._local_queues.get(key)
        found = None if queue is None else self._cluster_queues.get(queue.cluster_queue)
        tally = None if found is None else found.local_tallies.get(key)
        return {} if tally is None else usage_history.of_usage(tally.admitted_usage)
