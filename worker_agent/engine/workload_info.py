"""A Workload reduced to a row: what it asks for, how it ranks, what it uses (spec/engine 3 and 4).

Rows are built once per change of the object and then only read; the object's typed view stays beside them. Totals are
ints, already multiplied by the number of pods.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, Final

import msgspec

from worker_agent.api import names, quantity, timestamps
from worker_agent.api.meta import Key
from worker_agent.api.workload import Admission, PodSet, PodSetAssignment, PodSetTopologyRequest, Workload
from worker_agent.engine import conditions, resources
from worker_agent.engine.conditions import Phase
from worker_agent.engine.devices import resolution
from worker_agent.engine.devices.resolution import Refusal
from worker_agent.engine.pod_shape import PodShape, ShapeSource
from worker_agent.engine.policy import Policy
from worker_agent.engine.resources import Amounts, Requests
from worker_agent.engine.scan import ScanState
from worker_agent.engine.tas import placed_pods, topology_assignment
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.tas.topology_assignment import TopologyAssignment

UNKNOWN_HASH: Final = "unknown"
"""A scheduling hash that is equal to none, not even itself."""


class PodSetRow:
    """One pod set: ``count`` pods (after reclaim) that together ask for ``requests``."""

    __slots__ = (
        "count",
        "delayed",
        "flavors",
        "min_count",
        "name",
        "requests",
        "shape",
        "topology",
        "topology_request",
    )

    def __init__(self, pod_set: PodSet, shape: PodShape, count: int) -> None:
        self.name: str = pod_set.name
        self.shape = shape
        self.count = count
        self.min_count: int | None = pod_set.min_count
        self.topology_request: PodSetTopologyRequest | None = pod_set.topology_request
        self.requests: Requests = self.scaled(count)
        """Shared by the rows of one shape: replaced as a whole, never changed."""
        self.flavors: dict[str, str] = {}
        """Resource -> flavor, once quota is reserved."""
        self.topology: TopologyAssignment | None = None
        """Where its pods run, if a topology placed them."""
        self.delayed = ""
        """Whether the place is found after the checks: Pending, Ready or nothing."""

    def place(self, topology: TopologyAssignment | None, delayed: str) -> None:
        self.topology, self.delayed = topology, delayed

    def placed(self, topology: TopologyAssignment, flavors: Iterable[str]) -> Iterator[PlacedPods]:
        """What its pods take in these places, once per flavor."""
        requests = placed_pods.with_pod(self.shape.pod_requests)
        for flavor in sorted(flavors):
            yield placed_pods.of(flavor, topology, requests, self.name)

    def assign(self, flavors: dict[str, str], requests: Requests, count: int) -> None:
        """Put an admission's figures in place of the template's."""
        self.flavors, self.requests, self.count = flavors, requests, count

    @property
    def group(self) -> str | None:
        return self.topology_request.pod_set_group_name if self.topology_request else None

    def scaled(self, count: int) -> Requests:
        """What ``count`` of its pods ask for together."""
        if count == 1:
            return self.shape.requests
        return {name: resources.times(amount, count) for name, amount in self.shape.requests.items()}


ROW_FIELDS: Final = (
    "assumed",
    "claims_devices",
    "created",
    "evicted",
    "hash",
    "key",
    "may_queue",
    "observed",
    "order_time",
    "phase",
    "placed",
    "pod_sets",
    "priority",
    "problem",
    "queue",
    "queued_in",
    "refusal",
    "reserved_at",
    "reserved_in",
    "scan",
    "shape_version",
    "uid",
    "usage",
    "workload",
)
"""All that a row holds."""


class WorkloadRow:
    """One Workload. ``problem`` is set when its templates cannot be read; such a row is never nominated."""

    __slots__ = ROW_FIELDS

    def __init__(self, workload: Workload, policy: Policy) -> None:
        metadata = workload.metadata
        self.workload = workload
        self.key: Key = metadata.key
        self.uid: str = metadata.uid
        self.queue: Key = Key(metadata.namespace, workload.spec.queue_name)
        self.created: int = timestamps.micros(metadata.creation_timestamp)
        self.priority: int = effective_priority(workload, policy)
        self.order_time: int = queue_order_time(workload, policy)
        self.phase: Phase = conditions.phase(workload)
        self.evicted: bool = conditions.is_evicted(workload)
        self.may_queue: bool = self.phase == Phase.PENDING and conditions.may_wait(workload, policy)
        self.assumed = False
        """Quota is reserved in the state only; the object does not show it yet."""
        self.observed = True
        """The object exists as far as this state was told; False for room assumed ahead of its creation."""
        self.reserved_at: int = conditions.reservation_time(workload, 0)
        """When quota was reserved, in microseconds; 0 while it is not."""
        self.reserved_in = ""
        """ClusterQueue in which it holds quota."""
        self.queued_in = ""
        """ClusterQueue in whose pending queue it waits."""
        self.usage: Amounts = {}
        self.placed: tuple[PlacedPods, ...] = ()
        """What its pods take in the places it holds."""
        self.pod_sets: tuple[PodSetRow, ...] = ()
        self.hash: str = UNKNOWN_HASH
        self.scan: ScanState | None = None
        self.shape_version = -1
        self.problem = ""
        self.claims_devices = False
        """Whether its totals depend on what is known of devices."""
        self.refusal: Refusal | None = None
        """Device claims that cannot be served."""


def effective_priority(workload: Workload, policy: Policy) -> int:
    base = workload.spec.priority or 0
    if not policy.priority_boost:
        return base
    try:
        return base + int(workload.metadata.annotation(names.PRIORITY_BOOST_ANNOTATION) or 0)
    except ValueError:
        return base


def queue_order_time(workload: Workload, policy: Policy) -> int:
    """The instant by which it ranks among equals, in microseconds (spec/engine 5.2)."""
    evicted = workload.condition(names.EVICTED)
    if evicted is not None and evicted.is_true:
        if policy.eviction_timestamp and evicted.reason == names.EVICTED_PODS_READY_TIMEOUT:
            return conditions.transition_time(evicted)
        if evicted.reason == names.EVICTED_ADMISSION_CHECK:
            return conditions.transition_time(evicted)
    if not policy.sort_priority_within_cohort:
        preempted = workload.condition(names.PREEMPTED)
        if preempted is not None and preempted.is_true and preempted.reason == names.IN_COHORT_RECLAIM_WHILE_BORROWING:
            return conditions.transition_time(preempted) + 1000
    return timestamps.micros(workload.metadata.creation_timestamp)


def build(workload: Workload, source: ShapeSource) -> WorkloadRow:
    """The row of a Workload as it stands: totals of a pending one, usage of one that holds quota."""
    return filled(WorkloadRow(workload, source.policy), source)


def filled(row: WorkloadRow, source: ShapeSource) -> WorkloadRow:
    """Totals and usage entered into a row that knows its object only."""
    workload = row.workload
    row.shape_version = source.version
    try:
        pod_sets = workload.spec.pod_sets
        shapes = [source.shape(pod_set.template, row.key.namespace) for pod_set in pod_sets]
        reclaimed = _reclaimed(workload, source.policy) if workload.status.reclaimable_pods else _NOTHING
        if row.phase == Phase.PENDING:
            for shape in shapes:
                if shape.claims or shape.extended:
                    shapes = _with_devices(row, shapes, source)
                    break
        if len(shapes) == 1 and not reclaimed:
            row.pod_sets = (PodSetRow(pod_sets[0], shapes[0], max(0, pod_sets[0].count)),)
        else:
            row.pod_sets = tuple(
                PodSetRow(pod_set, shape, max(0, pod_set.count - reclaimed.get(pod_set.name, 0)))
                for pod_set, shape in zip(pod_sets, shapes, strict=True)
            )
        admission = workload.status.admission
        if row.phase in (Phase.RESERVED, Phase.ADMITTED) and admission is not None:
            reserve(row, admission, reclaimed)
    except (quantity.QuantityError, msgspec.ValidationError) as error:
        row.problem = str(error)
        return row
    if row.phase == Phase.PENDING and source.policy.equivalence_hashing:
        row.hash = scheduling_hash(row, source.policy)
    return row


_NOTHING: Final[dict[str, int]] = {}


def _with_devices(row: WorkloadRow, shapes: list[PodShape], source: ShapeSource) -> list[PodShape]:
    """Device claims in the place of what they are charged as; a row whose claims are refused may not queue."""
    rules, inventory = source.policy.devices, source.devices
    claims = any(shape.claims for shape in shapes) and (rules.enabled or rules.reject)
    served = rules.enabled and rules.extended_resources
    row.claims_devices = claims or served
    if not claims and not (served and any(inventory.serving(name) for shape in shapes for name in shape.extended)):
        return shapes
    named = [(pod_set.name, shape.spec) for pod_set, shape in zip(row.workload.spec.pod_sets, shapes, strict=True)]
    found = resolution.resolve(row.key.namespace, named, inventory, rules)
    if isinstance(found, Refusal):
        row.refusal, row.may_queue = found, False
        return shapes
    return [shape.with_requests(devices.applied(shape.requests)) for shape, devices in zip(shapes, found, strict=True)]


def _reclaimed(workload: Workload, policy: Policy) -> dict[str, int]:
    if not policy.reclaimable_pods:
        return {}
    return {entry.name: entry.count for entry in workload.status.reclaimable_pods or ()}


def reserve(row: WorkloadRow, admission: Admission, reclaimed: dict[str, int]) -> None:
    """Put an admission's figures in place of the templates' (spec/engine 3.3). Raises quantity.QuantityError."""
    row.reserved_in = admission.cluster_queue
    spec_counts = {pod_set.name: pod_set.count for pod_set in row.workload.spec.pod_sets}
    assignments = {assignment.name: assignment for assignment in admission.pod_set_assignments}
    for pod_set in row.pod_sets:
        assignment = assignments.get(pod_set.name)
        if assignment is not None:
            left = max(0, spec_counts[pod_set.name] - reclaimed.get(pod_set.name, 0))
            _assign(pod_set, assignment, spec_counts[pod_set.name], left)
            place = topology_assignment.of_view(assignment.topology_assignment)
            pod_set.place(place, assignment.delayed_topology_request or "")
    row.usage = usage_of(row.pod_sets)
    row.placed = placed_by(row.pod_sets)


def _assign(pod_set: PodSetRow, assignment: PodSetAssignment, spec_count: int, left: int) -> None:
    """``left`` pods remain after reclaim; fewer than admitted scale the usage down, more leave it alone."""
    count = assignment.count if assignment.count is not None else spec_count
    flavors, used = assignment.flavors or {}, assignment.resource_usage or {}
    alike = (tuple(flavors.items()), tuple(used.items()), count, left)
    held = pod_set.shape.held.get(alike)
    if held is None:
        requests = resources.parse(used)
        if left < count:
            requests = {name: amount // count * left for name, amount in requests.items()}
            count = left
        held = pod_set.shape.held[alike] = (dict(flavors), requests, count)
    pod_set.assign(*held)


def usage_of(pod_sets: tuple[PodSetRow, ...]) -> Amounts:
    """Per FlavorResource; resources without a flavor count for nothing."""
    if len(pod_sets) == 1:
        return _usage_of_one(pod_sets[0])
    usage: Amounts = {}
    for pod_set in pod_sets:
        for resource, flavor in pod_set.flavors.items():
            fr = resources.flavor_resource(flavor, resource)
            amount = pod_set.requests.get(resource, 0)
            usage[fr] = resources.plus(usage[fr], amount) if fr in usage else amount
    return usage


def _usage_of_one(pod_set: PodSetRow) -> Amounts:
    """Equal for workloads that hold the same of one shape, and then the same object."""
    known, alike = pod_set.shape.usages, (tuple(pod_set.flavors.items()), tuple(pod_set.requests.items()))
    usage = known.get(alike)
    if usage is None:
        usage = known[alike] = {
            resources.flavor_resource(flavor, resource): pod_set.requests.get(resource, 0)
            for resource, flavor in pod_set.flavors.items()
        }
    return usage


def placed_by(pod_sets: Iterable[PodSetRow]) -> tuple[PlacedPods, ...]:
    """What the pods take where a topology placed them."""
    return tuple(
        pods
        for pod_set in pod_sets
        if pod_set.topology is not None
        for pods in pod_set.placed(pod_set.topology, set(pod_set.flavors.values()))
    )


def scheduling_hash(row: WorkloadRow, policy: Policy) -> str:
    """Equal for workloads between which no decision of the cycle can differ (spec/engine 5.6)."""
    if len(row.pod_sets) == 1 and not policy.concurrent_admission:
        pod_set = row.pod_sets[0]
        if pod_set.topology_request is None:
            known, alike = pod_set.shape.hashes, (row.priority, pod_set.name, pod_set.count, pod_set.min_count)
            found = known.get(alike)
            if found is None:
                found = known[alike] = _digest(row, policy)
            return found
    return _digest(row, policy)


def _digest(row: WorkloadRow, policy: Policy) -> str:
    parts: list[Any] = [row.priority]
    for pod_set in row.pod_sets:
        parts.append(
            (
                pod_set.name,
                msgspec.Raw(pod_set.shape.digest),
                pod_set.count,
                pod_set.requests,
                pod_set.min_count,
                pod_set.topology_request,
            )
        )
    if policy.concurrent_admission:
        parts.append(row.workload.metadata.annotation(names.ALLOWED_FLAVORS_ANNOTATION))
    return sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]


def frees_quota(old: WorkloadRow, new: WorkloadRow) -> bool:
    """Changes of a workload that keeps its reservation but may let others in."""
    return (
        new.phase == Phase.ADMITTED
        and old.phase == Phase.ADMITTED
        and old.workload.status.reclaimable_pods != new.workload.status.reclaimable_pods
    ) or old.priority != new.priority
