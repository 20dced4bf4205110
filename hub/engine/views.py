"""What the hub knows of each worker: one engine state per cluster, kept up to date from its watch events.

No snapshot travels and nothing is rebuilt. A worker with real Kueue is known almost as well as one with our agent: it
has no ClusterCapacity, so nothing is known of its nodes.
"""

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from hub.engine import node_commitments, version_skew
from hub.engine.evaluation import Evaluation
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.node_commitments import NodeCommitments
from hub.engine.shared_values import SharedValues
from worker_agent.api import names, resource_type
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_capacity import ClusterCapacity
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key, Namespace
from worker_agent.api.pod import LimitRange, RuntimeClass
from worker_agent.api.quantity import QuantityError
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.topology import Topology
from worker_agent.api.workload import Workload
from worker_agent.engine import capacity, workload_info
from worker_agent.engine.conditions import Phase
from worker_agent.engine.node_sizes import NodeSizes
from worker_agent.engine.policy import Policy
from worker_agent.engine.state import ClusterState
from worker_agent.engine.tas import leaf_report
from worker_agent.engine.tas.leaf_report import LeafReportError
from worker_agent.engine.workload_info import WorkloadRow

UNREADABLE: Final = "unreadable"
"""Plural of the event that lists, separated by commas, what the credential may not read."""

Put = Callable[[ClusterState, Any], object]
Delete = Callable[[ClusterState, Key], object]


def _named(delete: Callable[[ClusterState, str], object]) -> Delete:
    return lambda state, key: delete(state, key.name)


_TABLE: Final[dict[str, tuple[Any, Put, Delete]]] = {
    resource.plural: (msgspec.json.Decoder(type_), put, delete)
    for resource, type_, put, delete in (
        (resource_type.NAMESPACES, Namespace, ClusterState.put_namespace, _named(ClusterState.delete_namespace)),
        (
            resource_type.RESOURCE_FLAVORS,
            ResourceFlavor,
            ClusterState.put_resource_flavor,
            _named(ClusterState.delete_resource_flavor),
        ),
        (resource_type.TOPOLOGIES, Topology, ClusterState.put_topology, _named(ClusterState.delete_topology)),
        (
            resource_type.ADMISSION_CHECKS,
            AdmissionCheck,
            ClusterState.put_admission_check,
            _named(ClusterState.delete_admission_check),
        ),
        (resource_type.COHORTS, Cohort, ClusterState.put_cohort, _named(ClusterState.delete_cohort)),
        (
            resource_type.CLUSTER_QUEUES,
            ClusterQueue,
            ClusterState.put_cluster_queue,
            _named(ClusterState.delete_cluster_queue),
        ),
        (resource_type.LOCAL_QUEUES, LocalQueue, ClusterState.put_local_queue, ClusterState.delete_local_queue),
        (resource_type.LIMIT_RANGES, LimitRange, ClusterState.put_limit_range, ClusterState.delete_limit_range),
        (
            resource_type.RUNTIME_CLASSES,
            RuntimeClass,
            ClusterState.put_runtime_class,
            _named(ClusterState.delete_runtime_class),
        ),
    )
}
"""Plural -> how it is decoded, put into the state, and taken out of it."""

_REPORTS: Final = resource_type.CLUSTER_CAPACITIES.plural
_OF_TOPOLOGIES: Final = (resource_type.RESOURCE_FLAVORS.plural, resource_type.TOPOLOGIES.plural)
_NOTICED: Final = timedelta(seconds=2)
"""After so long an agent's report counts a new object; both times are in whole seconds."""

_HOLDING: Final = (Phase.RESERVED, Phase.ADMITTED)

_workload_decoder = msgspec.json.Decoder(Workload)
_capacity_decoder = msgspec.json.Decoder(ClusterCapacity)


class WorkerView:
    """One cluster as far as it is known. ``problems`` are objects that could not be read, by plural and key."""

    def __init__(self, cluster: str, policy: Policy, shared: SharedValues | None = None) -> None:
        self.cluster = cluster
        self._shared = shared or SharedValues()
        self.state = ClusterState(policy)
        self._policy_hash = capacity.policy_hash(policy)
        self.capacity: ClusterCapacity | None = None
        self.nodes = NodeCommitments()
        self.sizes = NodeSizes()
        self._node_labels: dict[str, frozenset[str]] = {}
        self.exact = False
        """The worker runs the same engine by the same policy: verdicts are its own decisions."""
        self.version = version_skew.judge("")
        """Whether its agent's report is one that this hub understands."""
        self.unreadable: tuple[str, ...] = ()
        self.complete = False
        """All first lists are in: what is not known now does not exist, or may not be read."""
        self.problems: dict[tuple[str, Key], str] = {}
        self.answers: dict[Hashable, Evaluation] = {}
        """What this cluster said last, by what it was asked (``known_answers``)."""
        self.answers_are_of = (-1, -1)
        """The ``contents`` that they were given on."""
        self._changes = 0

    @property
    def contents(self) -> tuple[int, int]:
        """Equal as long as nothing has changed by which a workload that is new here is judged.

        That a Workload shows what it is known to hold changes nothing for others.
        """
        return self._changes, self.nodes.changes

    def apply(self, event: KnowledgeEvent, now: datetime) -> None:
        key = Key(event.namespace, event.name)
        self.problems.pop((event.plural, key), None)
        before = self._held(event.plural, key)
        try:
            self._apply(event, key, now)
        except (msgspec.DecodeError, QuantityError) as error:
            # The worker runs with it in some way that we cannot follow; what depends on it is judged without.
            self.problems[event.plural, key] = str(error)
        if before is None or before != self._held(event.plural, key):
            self._changes += 1

    def _held(self, plural: str, key: Key) -> Hashable | None:
        """What a Workload holds, as far as it matters to others; None where it may matter otherwise too."""
        row = self.state.rows.get(key) if plural == resource_type.WORKLOADS.plural else None
        if row is None or row.phase not in _HOLDING or row.evicted or row.placed or row.claims_devices:
            return None
        return row.reserved_in, row.queue, row.priority, tuple(row.usage.items())

    def assume(self, workload: bytes, admission: Document, now: datetime) -> None:
        """Count the room as taken until the worker's own object shows it."""
        view = _workload_decoder.decode(workload)
        known = self.state.rows.get(view.metadata.key)
        if known is not None and known.phase != Phase.PENDING:
            return
        row = workload_info.build(view, self.state.shapes)
        self._changes += 1
        self.state.assume_admission(view, admission, now)
        self.nodes.commit(row.key, node_commitments.demands_of(row, admission), now)

    def has_nodes(self, row: WorkloadRow, admission: Document) -> bool:
        """Whether all pods of an admission find nodes at once, as far as nodes are known."""
        return self.nodes.fits(node_commitments.demands_of(row, admission))

    def awaits_report(self, flavors: Iterable[str]) -> bool:
        """The worker has a place for its agent's report, and there is none yet that can know of all these flavors.

        With real Kueue there is no such place. Times are the worker's own on both sides.
        """
        if self.capacity is None:
            return self.complete and _REPORTS not in self.unreadable
        told = {flavor.flavor for flavor in self.capacity.status.flavors or ()}
        return any(self._is_newer_than_report(flavor) for flavor in flavors if flavor not in told)

    def _is_newer_than_report(self, flavor: str) -> bool:
        row = self.state.catalog.flavors.get(flavor)
        created = row.view.metadata.creation_timestamp if row is not None else None
        reported = self.capacity.status.reported_at if self.capacity is not None else None
        return created is not None and reported is not None and created > reported - _NOTICED

    def knows_labels(self, flavor: str, keys: Iterable[str]) -> bool:
        """Whether these labels are known of all nodes that pods of a topology flavor are placed on."""
        return self._node_labels.get(flavor, frozenset()).issuperset(keys)

    def release(self, key: Key, now: datetime) -> None:
        """The worker did not take it: the assumed room is free again. Nothing happens where nothing is assumed."""
        self._changes += 1
        self.state.forget(key, now)
        self.nodes.release(key)

    def _apply(self, event: KnowledgeEvent, key: Key, now: datetime) -> None:
        if event.plural == resource_type.WORKLOADS.plural:
            self._workload(event, key, now)
        elif event.plural == resource_type.CLUSTER_CAPACITIES.plural:
            self._report(_capacity_decoder.decode(event.raw) if event.raw else None)
        elif event.plural == UNREADABLE:
            self.unreadable = tuple(filter(None, event.raw.decode().split(",")))
            self.complete = True
        elif event.plural in _TABLE:
            decoder, put, delete = _TABLE[event.plural]
            if event.raw:
                put(self.state, decoder.decode(event.raw))
            else:
                delete(self.state, key)
            if event.plural in _OF_TOPOLOGIES:
                self._leaves(self.capacity)

    def _workload(self, event: KnowledgeEvent, key: Key, now: datetime) -> None:
        held = self.state.rows.get(key)
        if not event.raw:
            self.state.delete_workload(key, now)
            self.nodes.release(key)
            return
        workload = _workload_decoder.decode(event.raw)
        self._shared.put_into(workload)
        self.state.put_workload(workload, now)
        row = self.state.rows.get(key)
        if held is not None and held.phase != Phase.PENDING and not held.assumed and _runs_no_more(workload):
            # Not to_builtins: a topology assignment is kept as the bytes it came in.
            admission = msgspec.json.decode(msgspec.json.encode(held.workload.status.admission))
            self.nodes.ended(key, node_commitments.demands_of(held, admission), now)
        elif row is None:
            self.nodes.release(key)
        elif row.phase != Phase.PENDING and not row.assumed:
            self.nodes.shown(key, now)

    def _report(self, report: ClusterCapacity | None) -> None:
        self.capacity = report
        self.nodes.report(report)
        self.sizes = NodeSizes(report)
        self._leaves(report)
        status = report.status if report is not None else None
        self.version = version_skew.judge(status.agent_version if status is not None else "")
        self.exact = (
            status is not None
            and self.version.supported
            and status.engine_version == capacity.ENGINE_VERSION
            and status.policy is not None
            and status.policy.hash == self._policy_hash
        )

    def _leaves(self, report: ClusterCapacity | None) -> None:
        """Topologies that the report tells leaf by leaf are placed on as by the worker itself."""
        told = {flavor.flavor: flavor for flavor in (report.status.flavors if report is not None else None) or ()}
        for name, flavor in self.state.catalog.flavors.items():
            found = told.get(name)
            levels = self.state.topology.levels(name)
            facts = None
            if found is not None and found.leaves is not None and levels:
                try:
                    facts = leaf_report.facts(levels, dict(flavor.labels), found.leaves)
                    told_keys = found.leaves.label_keys or ()
                    self._node_labels[name] = frozenset((*told_keys, *levels, *flavor.labels))
                except (LeafReportError, QuantityError) as error:
                    # Made for other levels, or by another agent: the next report will do.
                    self.problems[_REPORTS, Key("", name)] = str(error)
            self.state.topology.report(name, facts)


def _runs_no_more(workload: Workload) -> bool:
    """Quota is given back when the last pod is gone; a deactivated Workload still has pods that stop."""
    return workload.is_true(names.FINISHED) or not workload.is_true(names.QUOTA_RESERVED)


class Views:
    """The views of several clusters; a cluster comes into being with its first event."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._views: dict[str, WorkerView] = {}
        self._shared = SharedValues()

    def apply(self, events: Iterable[KnowledgeEvent], now: datetime) -> None:
        for event in events:
            if not event.plural:
                self._views.pop(event.cluster, None)
                continue
            view = self._views.get(event.cluster)
            if view is None:
                view = self._views[event.cluster] = WorkerView(event.cluster, self._policy, self._shared)
            view.apply(event, now)

    def get(self, cluster: str) -> WorkerView | None:
        return self._views.get(cluster)
