"""EngineView: what everybody beside the engine thread may read, published between cycles.

Status controllers, metrics, visibility and reports look at this picture and never at the live state. A queue that did
not change since the last picture is not painted again; figures are put into words only when somebody asks for them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import activity, fair_sharing, hierarchy, resources
from worker_agent.engine.activity import Activity
from worker_agent.engine.cluster_queue import ClusterQueueRow, LocalQueueRow, ResourceGroup, Tally
from worker_agent.engine.queue_order import Waiting
from worker_agent.engine.quota import CohortNode
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.usage_history_book import UsagePicture
from worker_agent.engine.workload_info import WorkloadRow

if TYPE_CHECKING:
    from worker_agent.engine.state import ClusterState


@dataclass(frozen=True, slots=True)
class Holdings:
    """Workloads that hold quota and what they use; ``admitted`` ones are among the reserving."""

    reserving: int = 0
    admitted: int = 0
    usage: Mapping[FlavorResource, int] = field(default_factory=dict)
    admitted_usage: Mapping[FlavorResource, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tally: Tally) -> "Holdings":
        return cls(tally.reserving, tally.admitted, dict(tally.usage), dict(tally.admitted_usage))


NOTHING = Holdings()


@dataclass(frozen=True)
class QueuePicture:
    """One ClusterQueue at the instant of the view."""

    name: str
    cohort: str
    activity: Activity
    groups: tuple[ResourceGroup, ...]
    nominal: Mapping[FlavorResource, int]
    holdings: Holdings
    by_local_queue: Mapping[Key, Holdings]
    waiting: Waiting
    weighted_share: int | None
    """None without fair sharing."""
    borrowing_limits: Mapping[FlavorResource, int] = field(default_factory=dict)
    lending_limits: Mapping[FlavorResource, int] = field(default_factory=dict)
    """What is not listed is not limited."""

    @property
    def pending(self) -> int:
        return len(self.waiting)

    @cached_property
    def flavors_reservation(self) -> list[Document]:
        """``status.flavorsReservation``: usage of all that hold quota."""
        return self._rows(self.holdings.usage)

    @cached_property
    def flavors_usage(self) -> list[Document]:
        """``status.flavorsUsage``: usage of the admitted."""
        return self._rows(self.holdings.admitted_usage)

    def _rows(self, usage: Mapping[FlavorResource, int]) -> list[Document]:
        def entry(flavor: str, resource: str) -> Document:
            total = usage.get((flavor, resource), 0)
            over = resources.minus(total, self.nominal.get((flavor, resource), 0)) if self.cohort else 0
            return {
                "name": resource,
                "total": resources.text(resource, total),
                "borrowed": resources.text(resource, max(0, over)),
            }

        return [
            {"name": flavor, "resources": [entry(flavor, resource) for resource in group.sorted_resources]}
            for group in self.groups
            for flavor in group.flavors
        ]

    @cached_property
    def ranked(self) -> tuple[WorkloadRow, ...]:
        """The rows of ``order``."""
        rows = {row.key: row for row in self.waiting.rows()}
        return tuple(rows[key] for key in self.order)

    @cached_property
    def order(self) -> tuple[Key, ...]:
        """All pending workloads, parked ones included, as the queue ranks them."""
        return tuple(order.key for order in sorted(self.waiting.orders()))

    @cached_property
    def positions(self) -> Mapping[Key, int]:
        return {key: place for place, key in enumerate(self.order)}

    @cached_property
    def pending_by_local_queue(self) -> Mapping[Key, int]:
        return Counter(row.queue for row in self.waiting.rows())


@dataclass(frozen=True, slots=True)
class CohortPicture:
    """One cohort: its place in the tree (``root`` is empty in a cycle) and the quota of its whole subtree."""

    parent: str
    root: str
    quota: Mapping[FlavorResource, int]


@dataclass(frozen=True)
class LocalQueuePicture:
    """One LocalQueue at the instant of the view."""

    key: Key
    activity: Activity
    pending: int
    holdings: Holdings
    groups: tuple[ResourceGroup, ...]
    """Of its ClusterQueue; none while that is missing."""
    usage: UsagePicture | None = None
    """What it used of late; None without admission fair sharing."""

    @property
    def flavors_reservation(self) -> list[Document]:
        return self._rows(self.holdings.usage)

    @property
    def flavors_usage(self) -> list[Document]:
        return self._rows(self.holdings.admitted_usage)

    def _rows(self, usage: Mapping[FlavorResource, int]) -> list[Document]:
        return [
            {
                "name": flavor,
                "resources": [
                    {"name": resource, "total": resources.text(resource, usage.get((flavor, resource), 0))}
                    for resource in group.sorted_resources
                ],
            }
            for group in self.groups
            for flavor in group.flavors
        ]


@dataclass(frozen=True)
class EngineView:
    """Immutable; all parts are of one instant."""

    taken_at: datetime | None = None
    cycle: int = 0
    cluster_queues: Mapping[str, QueuePicture] = field(default_factory=dict)
    cohort_shares: Mapping[str, int] = field(default_factory=dict)
    """``status.fairSharing.weightedShare`` by cohort; empty without fair sharing."""
    cohorts: Mapping[str, CohortPicture] = field(default_factory=dict)
    hierarchy_version: int = -1
    _local_queues: Mapping[Key, LocalQueueRow] = field(default_factory=dict)
    _stranded: Mapping[Key, int] = field(default_factory=dict)
    """Workloads by LocalQueue where the ClusterQueue is missing."""
    _usage: Mapping[Key, UsagePicture] = field(default_factory=dict)

    def cluster_queue_activity(self, name: str) -> Activity:
        """The Active condition; of an unknown queue as well."""
        found = self.cluster_queues.get(name)
        return activity.NOT_FOUND if found is None else found.activity

    def cohorts_above(self, cluster_queue: str) -> tuple[str, ...]:
        """Parent first; none for a queue that is not known, stands alone or sits below a cycle."""
        found = self.cluster_queues.get(cluster_queue)
        names: dict[str, None] = {}
        name = found.cohort if found is not None else ""
        while name in self.cohorts and self.cohorts[name].root and name not in names:
            names[name] = None
            name = self.cohorts[name].parent
        return tuple(names)

    def cluster_queue_of(self, local_queue: Key) -> str:
        """Where a LocalQueue leads; empty for one that is not known."""
        row = self._local_queues.get(local_queue)
        return "" if row is None else row.cluster_queue

    def local_queues(self) -> Iterable[Key]:
        return self._local_queues.keys()

    def local_queue(self, key: Key) -> LocalQueuePicture | None:
        """None for a LocalQueue that the engine does not know."""
        row = self._local_queues.get(key)
        if row is None:
            return None
        queue = self.cluster_queues.get(row.cluster_queue)
        judged = activity.local_queue_activity(row, queue.activity if queue else None)
        if queue is None:
            return LocalQueuePicture(key, judged, self._stranded.get(key, 0), NOTHING, (), self._usage.get(key))
        pending = queue.pending_by_local_queue.get(key, 0)
        holdings = queue.by_local_queue.get(key, NOTHING)
        return LocalQueuePicture(key, judged, pending, holdings, queue.groups, self._usage.get(key))

    def position(self, key: Key, cluster_queue: str) -> int | None:
        """Workloads ahead of a pending one in its ClusterQueue; None when it does not wait there."""
        queue = self.cluster_queues.get(cluster_queue)
        return None if queue is None else queue.positions.get(key)


EMPTY = EngineView()


def publish(state: "ClusterState", now: datetime, before: EngineView) -> EngineView:
    """The picture of now; ``before`` lends the parts that did not change."""
    changed = state.take_changed()
    known = before.cluster_queues
    queues = {
        name: _queue(state, row) if name in changed or name not in known else known[name]
        for name, row in state.cluster_queues.items()
    }
    shares = {}
    if state.policy.fair_sharing:
        shares = {
            name: fair_sharing.dominant_share(node).status
            for name, node in state.hierarchy.cohorts.items()
            if not hierarchy.has_cycle(node)
        }
    stranded = {
        key: state.count_queueable(key)
        for key, row in state.local_queues.items()
        if row.cluster_queue not in state.cluster_queues and not row.stopped
    }
    usage = {} if state.usage_book is None else state.usage_book.picture()
    cohorts, version = before.cohorts, state.hierarchy.version
    if version != before.hierarchy_version:
        cohorts = {name: _cohort(node) for name, node in state.hierarchy.cohorts.items()}
    return EngineView(now, state.cycle, queues, shares, cohorts, version, dict(state.local_queues), stranded, usage)


def _cohort(node: CohortNode) -> CohortPicture:
    root = "" if hierarchy.has_cycle(node) else hierarchy.root_of(node).name
    return CohortPicture(node.parent.name if node.parent is not None else "", root, dict(node.subtree))


def _queue(state: "ClusterState", row: ClusterQueueRow) -> QueuePicture:
    share = None
    if state.policy.fair_sharing:
        share = 0 if row.node.cyclic else fair_sharing.dominant_share(row.node).status
    quotas = row.node.quotas
    return QueuePicture(
        name=row.name,
        cohort=row.cohort_name,
        activity=state.activity(row.name),
        groups=row.groups,
        nominal={fr: entry.nominal for fr, entry in quotas.items()},
        holdings=Holdings.of(row.tally),
        by_local_queue={key: Holdings.of(tally) for key, tally in row.local_tallies.items()},
        waiting=state.pending[row.name].waiting(),
        weighted_share=share,
        borrowing_limits={fr: q.borrowing_limit for fr, q in quotas.items() if q.borrowing_limit is not None},
        lending_limits={fr: q.lending_limit for fr, q in quotas.items() if q.lending_limit is not None},
    )
