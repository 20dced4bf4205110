"""Workload: one job's claim on quota, and everything the admission engine knows and says about it."""

from datetime import datetime

import msgspec

from worker_agent.api.meta import Condition, Object, Quantity, View
from worker_agent.api.pod import Toleration


class SliceTopologyConstraint(View):
    topology: str = ""
    size: int = 0


class PodSetTopologyRequest(View):
    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: int | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None
    podset_slice_required_topology_constraints: list[SliceTopologyConstraint] | None = None


class PodSet(View):
    name: str = "main"
    template: msgspec.Raw = msgspec.Raw(b"{}")
    """PodTemplateSpec as it came; read it through ``pod.decode_template``."""
    count: int = 1
    min_count: int | None = None
    topology_request: PodSetTopologyRequest | None = None


class PriorityClassRef(View):
    group: str = ""
    kind: str = ""
    name: str = ""


class PreemptionGate(View):
    name: str


class WorkloadSpec(View):
    pod_sets: list[PodSet] = []
    queue_name: str = ""
    priority_class_ref: PriorityClassRef | None = None
    priority: int | None = None
    active: bool | None = None
    maximum_execution_time_seconds: int | None = None
    preemption_gates: list[PreemptionGate] | None = None


class TopologyAssignment(View):
    levels: list[str] = []
    slices: list[msgspec.Raw] = []


class PodSetAssignment(View):
    name: str = "main"
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, Quantity] | None = None
    count: int | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: str | None = None


class Admission(View):
    cluster_queue: str = ""
    pod_set_assignments: list[PodSetAssignment] = []


class RequeueState(View):
    count: int | None = None
    requeue_at: datetime | None = None


class ReclaimablePod(View):
    name: str
    count: int = 0


class PodSetUpdate(View):
    name: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class AdmissionCheckState(View):
    name: str
    state: str = "Pending"
    last_transition_time: datetime | None = None
    message: str = ""
    requeue_after_seconds: int | None = None
    retry_count: int | None = None
    pod_set_updates: list[PodSetUpdate] | None = None


class PodSetRequest(View):
    name: str
    resources: dict[str, Quantity] | None = None


class EvictionCount(View):
    reason: str = ""
    underlying_cause: str = ""
    count: int = 0


class SchedulingStats(View):
    evictions: list[EvictionCount] | None = None


class UnhealthyNode(View):
    name: str


class PreemptionGateState(View):
    name: str
    position: str = ""
    last_transition_time: datetime | None = None


class WorkloadStatus(View):
    conditions: list[Condition] | None = None
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: list[ReclaimablePod] | None = None
    admission_checks: list[AdmissionCheckState] | None = None
    resource_requests: list[PodSetRequest] | None = None
    accumulated_past_execution_time_seconds: int | None = None
    scheduling_stats: SchedulingStats | None = None
    nominated_cluster_names: list[str] | None = None
    cluster_name: str | None = None
    unhealthy_nodes: list[UnhealthyNode] | None = None
    preemption_gates: list[PreemptionGateState] | None = None


class Workload(Object):
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    status: WorkloadStatus = msgspec.field(default_factory=WorkloadStatus)

    def condition(self, type_: str) -> Condition | None:
        return next((c for c in self.status.conditions or () if c.type == type_), None)

    def is_true(self, type_: str) -> bool:
        found = self.condition(type_)
        return found is not None and found.is_true
