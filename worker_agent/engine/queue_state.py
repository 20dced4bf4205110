"""The configuration half of the state: flavors, checks, cohorts, namespaces ... and which queues are active.

``state.ClusterState`` adds the workloads. Every change here refreshes the activity of the ClusterQueues it concerns and
notes the wake-ups of spec/engine 5.9.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from worker_agent.api import timestamps
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cohort import Cohort
from worker_agent.api.meta import Key, Namespace
from worker_agent.api.pod import LimitRange, Node, Pod, PriorityClass, RuntimeClass
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.topology import Topology
from worker_agent.engine import activity, cluster_queue, quota
from worker_agent.engine.activity import Activity
from worker_agent.engine.catalog import Catalog
from worker_agent.engine.cluster_queue import NO_LABELS, ClusterQueueRow, LocalQueueRow
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.hierarchy import Hierarchy
from worker_agent.engine.node_room import NodeRow
from worker_agent.engine.pending import PendingQueue, UsageOf
from worker_agent.engine.pod_shape import ShapeSource
from worker_agent.engine.policy import Policy
from worker_agent.engine.resources import Amounts
from worker_agent.engine.tas import node_facts
from worker_agent.engine.tas.topology_room import TopologyRoom
from worker_agent.engine.trial import Journal
from worker_agent.engine.usage_history_book import UsageBook
from worker_agent.engine.variants import is_variant
from worker_agent.engine.wakeups import Wakeups
from worker_agent.engine.workload_info import WorkloadRow


class QueueState:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.shapes = ShapeSource(policy)
        self.catalog = Catalog()
        self.hierarchy = Hierarchy()
        self.journal = Journal()
        self.wakeups = Wakeups()
        self.cluster_queues: dict[str, ClusterQueueRow] = {}
        self.local_queues: dict[Key, LocalQueueRow] = {}
        self.pending: dict[str, PendingQueue] = {}
        self.evicting: dict[Key, str] = {}
        """Victims (with their UID) whose eviction was decided and does not show yet."""
        self.usage_book: UsageBook | None = None
        """Of LocalQueues, with admission fair sharing."""
        if policy.admission_fair_sharing is not None:
            self.usage_book = UsageBook(policy.admission_fair_sharing, self.local_queues, self.cluster_queues)
        self.topology = TopologyRoom(self.catalog, self.journal, policy.topology.overlapping_flavors)
        self._activities: dict[str, Activity] = {}
        self._changed: set[str] = set()
        self._clock = 0
        """The instant of the last call, in microseconds."""

    def _second(self) -> int:
        """The clock as conditions show it: cut to whole seconds, so that an observed write changes no order."""
        return self._clock - self._clock % 1_000_000

    # -- questions -------------------------------------------------------------------------------------------------

    def activity(self, name: str) -> Activity:
        """The Active condition of a ClusterQueue, known or not."""
        return self._activities.get(name, activity.NOT_FOUND)

    def pending_queue_of(self, row: WorkloadRow) -> PendingQueue | None:
        """Where the workload may wait now; None while its LocalQueue is missing or stopped, or leads nowhere.

        Where a queue tries all flavors at once only variants wait; anything else is about to become a parent.
        """
        queue = self.local_queues.get(row.queue)
        if queue is None or queue.stopped:
            return None
        if self.policy.concurrent_admission and self._parents_only(queue.cluster_queue) and not is_variant(row):
            return None
        return self.pending.get(queue.cluster_queue)

    def _parents_only(self, name: str) -> bool:
        found = self.cluster_queues.get(name)
        return found is not None and found.view.spec.concurrent_admission_policy is not None

    @property
    def usage_of_local_queues(self) -> UsageOf | None:
        """None without admission fair sharing."""
        return None if self.usage_book is None else self.usage_book.usage

    def sample_usage(self, now: datetime) -> float | None:
        """Bring the usage of LocalQueues up to date where it is due; seconds until it is next, None without need."""
        if self.usage_book is None:
            return None
        instant = timestamps.micros(now)
        self._changed.update(self.usage_book.sample(instant))
        return max(0.0, (self.usage_book.next_sample - instant) / 1e6) if self.local_queues else None

    def take_changed(self) -> set[str]:
        """ClusterQueues that may look different since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def schedulable(self, queue: ClusterQueueRow) -> bool:
        """Whether a cycle may use the queue: active and not below a cycle of cohorts."""
        return queue.node.listed and not queue.node.cyclic

    def namespace_labels(self, namespace: str) -> dict[str, str] | None:
        """None when there is no such namespace."""
        found = self.catalog.namespaces.get(namespace)
        return None if found is None else found.metadata.labels or {}

    def _eviction_shows(self, key: Key, old: WorkloadRow | None) -> None:
        if old is None or not old.assumed:
            self.evicting.pop(key, None)

    def _drop_penalty(self, row: WorkloadRow) -> None:
        if self.usage_book is not None:
            self.usage_book.drop(row)

    def _note_queue_of(self, row: WorkloadRow) -> None:
        queue = self.local_queues.get(row.queue)
        if queue is not None:
            self.wakeups.note(queue.cluster_queue)

    def _namespace_admits(self, name: str) -> Callable[[WorkloadRow], bool]:
        queue = self.cluster_queues[name]

        def admits(row: WorkloadRow) -> bool:
            labels = self.namespace_labels(row.key.namespace)
            return labels is not None and queue.takes(labels)

        return admits

    # -- trials ----------------------------------------------------------------------------------------------------

    def trial(self) -> AbstractContextManager[None]:
        """Everything the quota methods below change inside the block is undone on leaving it."""
        return self.journal.trial()

    def add_usage(self, queue: ClusterQueueRow, usage: Amounts) -> None:
        quota.add_all(queue.node, usage, self.journal)

    def remove_reservation(self, row: WorkloadRow) -> None:
        """Inside a trial: as if the workload had gone."""
        queue = self.cluster_queues[row.reserved_in]
        self.journal.drop(queue.reservations, row.key)
        quota.remove_all(queue.node, row.usage, self.journal)
        if row.placed:
            self.topology.try_use(row.placed, -1)

    def restore_reservation(self, row: WorkloadRow) -> None:
        """Inside a trial: undo ``remove_reservation``."""
        queue = self.cluster_queues[row.reserved_in]
        self.journal.put(queue.reservations, row.key, row)
        quota.add_all(queue.node, row.usage, self.journal)
        if row.placed:
            self.topology.try_use(row.placed, 1)

    # -- objects ---------------------------------------------------------------------------------------------------

    def put_cohort(self, view: Cohort) -> bool:
        """Returns False when its ancestors form a cycle; it is stored nevertheless. Raises quantity.QuantityError."""
        name = view.metadata.name
        quotas = cluster_queue.quotas(view.spec.resource_groups)
        sound = self.hierarchy.put_cohort(name, view.spec.parent_name, quotas)
        self.hierarchy.cohorts[name].weight = cluster_queue.weight(view.spec.fair_sharing)
        self.wakeups.note_cohort(name)
        self._shares_changed()
        return sound

    def delete_cohort(self, name: str) -> None:
        self.hierarchy.delete_cohort(name)
        self._shares_changed()

    def _shares_changed(self) -> None:
        """Another quota in the tree moves the share of every queue that borrows there."""
        if self.policy.fair_sharing:
            self._changed.update(self.cluster_queues)

    def put_resource_flavor(self, view: ResourceFlavor) -> None:
        name = view.metadata.name
        old = self.catalog.flavors.get(name)
        row = self.catalog.flavors[name] = FlavorRow(view)
        if old is None or old.topology != row.topology or not old.same_nodes(row):
            self.topology.configuration_changed()
        self._refresh(self.catalog.users(name))
        if old is not None and not old.same_nodes(row):
            self._note_all(self.catalog.users(name))

    def delete_resource_flavor(self, name: str) -> None:
        if self.catalog.flavors.pop(name, None) is not None:
            self.topology.configuration_changed()
            self._refresh(self.catalog.users(name))

    def put_admission_check(self, view: AdmissionCheck) -> None:
        self.catalog.checks[view.metadata.name] = view
        self._refresh(self.catalog.users(view.metadata.name))

    def delete_admission_check(self, name: str) -> None:
        if self.catalog.checks.pop(name, None) is not None:
            self._refresh(self.catalog.users(name))

    def put_topology(self, view: Topology) -> None:
        name = view.metadata.name
        old = self.catalog.topologies.get(name)
        created = old is None or old.spec != view.spec
        self.catalog.topologies[name] = view
        if created:
            self.topology.configuration_changed()
        self._refresh(self.catalog.users_of_topology(name))
        if created:
            self._note_all(self.catalog.users_of_topology(name))

    def delete_topology(self, name: str) -> None:
        if self.catalog.topologies.pop(name, None) is not None:
            self.topology.configuration_changed()
            self._refresh(self.catalog.users_of_topology(name))

    def put_namespace(self, view: Namespace) -> None:
        name = view.metadata.name
        old = self.namespace_labels(name)
        self.catalog.namespaces[name] = view
        labels = view.metadata.labels or NO_LABELS
        if old == labels:
            return
        for queue in self.cluster_queues.values():
            if queue.takes(labels) and not (old is not None and queue.takes(old)):
                self.wakeups.note(queue.name)

    def delete_namespace(self, name: str) -> None:
        self.catalog.namespaces.pop(name, None)

    def put_limit_range(self, view: LimitRange) -> None:
        key = view.metadata.key
        old = self.catalog.limit_ranges.get(key)
        self.catalog.limit_ranges[key] = view
        if old is None or old.spec != view.spec:
            self._limits_changed(key.namespace)

    def delete_limit_range(self, key: Key) -> None:
        if self.catalog.limit_ranges.pop(key, None) is not None:
            self._limits_changed(key.namespace)

    def _limits_changed(self, namespace: str) -> None:
        """What a workload of the namespace asks for, and whether it may, is reckoned anew: parked ones get a turn."""
        self.catalog.resum_limits(self.shapes, namespace)
        for queue in self.local_queues.values():
            if queue.key.namespace == namespace:
                self.wakeups.note(queue.cluster_queue)

    def put_runtime_class(self, view: RuntimeClass) -> None:
        name = view.metadata.name
        overhead = (view.overhead.pod_fixed if view.overhead else None) or {}
        self.catalog.runtime_classes[name] = view
        if self.shapes.overheads.get(name, {}) != overhead:
            self.shapes.overheads[name] = overhead
            self._overheads_changed()

    def delete_runtime_class(self, name: str) -> None:
        self.catalog.runtime_classes.pop(name, None)
        if self.shapes.overheads.pop(name, None):
            self._overheads_changed()

    def _overheads_changed(self) -> None:
        self.shapes.version += 1
        self._note_all(list(self.cluster_queues))

    def put_priority_class(self, view: PriorityClass) -> None:
        self.catalog.priority_classes[view.metadata.name] = view

    def delete_priority_class(self, name: str) -> None:
        self.catalog.priority_classes.pop(name, None)

    def put_node(self, view: Node) -> None:
        old = self.catalog.nodes.nodes.get(view.metadata.name)
        self.catalog.nodes.put_node(view)
        self._note_node(old, self.catalog.nodes.nodes[view.metadata.name])

    def delete_node(self, name: str) -> None:
        old = self.catalog.nodes.nodes.get(name)
        self.catalog.nodes.delete_node(name)
        self._note_node(old, None)

    def _note_node(self, old: NodeRow | None, new: NodeRow | None) -> None:
        """Another node of a topology may be what workloads of any queue wait for (spec/tas 18)."""
        if not self.catalog.topologies or not node_facts.differ(old, new):
            return
        if self.topology.flavors_with(old) or self.topology.flavors_with(new):
            self._note_all(list(self.cluster_queues))

    def put_pod(self, view: Pod) -> None:
        self._note_room(self.catalog.nodes.put_pod(view))

    def delete_pod(self, key: Key) -> None:
        self._note_room(self.catalog.nodes.delete_pod(key))

    def _note_room(self, freed: str) -> None:
        """A node on which a pod that no topology placed made room; empty for none."""
        node = self.catalog.nodes.nodes.get(freed) if freed and self.catalog.topologies else None
        for flavor in self.topology.flavors_with(node):
            self._note_all(self.catalog.users(flavor))

    # -- activity --------------------------------------------------------------------------------------------------

    def _note_all(self, queues: list[str]) -> None:
        for name in queues:
            self.wakeups.note(name)

    def _refresh(self, queues: list[str]) -> None:
        """Judge the activity anew; a queue that became active wakes its parked workloads."""
        for name in queues:
            before = self._activities.get(name)
            after = activity.cluster_queue_activity(self.cluster_queues[name], self.catalog.references)
            self._activities[name] = after
            self._changed.add(name)
            self.hierarchy.relist(name, after.active)
            if before is not None and after.active and not before.active:
                self.wakeups.note(name)
