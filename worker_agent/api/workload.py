"""Workload: one job's claim on quota, and everything the admission engine knows and says about it."""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Condition, Conditions, Object, Quantity, View
from worker_agent.api.openapi_data import POD_TEMPLATE_SPEC
from worker_agent.api.pod import TOLERATION_RULES, Toleration
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.schema import AGE, ClusterName, Column, Crd, Field, Int32, PodSetName, SubdomainName
from worker_agent.api.topology_assignment import TopologyAssignment
from worker_agent.api.workload_rules import (
    POD_SET_RULES,
    PRIORITY_CLASS_RULES,
    SPEC_RULES,
    STATUS_RULES,
    WORKLOAD_RULES,
)

MAX_POD_SETS = 18
MAX_NOMINATED_CLUSTERS = 64
"""Kueue takes 20: towards workers that run it, their own bound stays (DESIGN section 4)."""

_TopologyLevel = Annotated[str | None, Field(max_length=63)]
_IndexLabel = Annotated[str | None, Field(max_length=317)]
_GateName = Annotated[str, Field(required=True, min_length=1, max_length=63)]


class SliceTopologyConstraint(View):
    """Every so many pods share one domain of a level."""

    topology: Annotated[str, Field("Node label of the level.", required=True, min_length=1, max_length=63)] = ""
    size: Annotated[Int32, Field("Pods that share one domain.", required=True, minimum=1)] = 0


class PodSetTopologyRequest(View):
    """How close together the pods want to be."""

    required: Annotated[_TopologyLevel, Field("All pods must share one domain of this level.")] = None
    preferred: Annotated[_TopologyLevel, Field("All pods should share one domain of this level.")] = None
    unconstrained: Annotated[bool | None, Field("Anywhere in the topology.")] = None
    pod_index_label: Annotated[_IndexLabel, Field("Pod label with the pod's index in the pod set.")] = None
    sub_group_index_label: Annotated[_IndexLabel, Field("Pod label with the index of its replicated job.")] = None
    sub_group_count: Annotated[Int32 | None, Field("Number of replicated jobs in the pod set.", minimum=0)] = None
    pod_set_group_name: Annotated[
        str | None, Field("Pod sets of one group get the same flavor and domain.", max_length=256)
    ] = None
    pod_set_slice_required_topology: Annotated[
        _TopologyLevel, Field("Each slice of the pods must share one domain of this level.")
    ] = None
    pod_set_slice_size: Annotated[Int32 | None, Field("Pods in a slice.", minimum=1)] = None
    podset_slice_required_topology_constraints: Annotated[
        list[SliceTopologyConstraint] | None,
        Field("Slices within slices, from the widest level.", max_items=3, list_type="atomic"),
    ] = None


class PodSet(View):
    """Pods of one shape."""

    schema = Field(rules=POD_SET_RULES)

    name: Annotated[PodSetName, Field("Name, unique in the workload.", default="main")] = "main"
    template: Annotated[
        msgspec.Raw,
        Field(
            "The pods' template. Of its metadata only labels and annotations.",
            required=True,
            builtin=POD_TEMPLATE_SPEC,
            map_type="atomic",
        ),
    ] = msgspec.Raw(b"{}")
    """PodTemplateSpec as it came; read it through ``pod.decode_template``."""
    count: Annotated[Int32, Field("How many pods.", minimum=0, default=1)] = 1
    min_count: Annotated[
        Int32 | None,
        Field("The fewest pods the job can run with. At most one pod set may say so.", minimum=1),
    ] = None
    topology_request: Annotated[PodSetTopologyRequest | None, Field("How close together the pods want to be.")] = None


class PriorityClassRef(View):
    """Where the priority comes from."""

    schema = Field(rules=PRIORITY_CLASS_RULES)

    group: Annotated[
        str, Field("API group of the class.", required=True, enum=("kueue.x-k8s.io", "scheduling.k8s.io"))
    ] = ""
    kind: Annotated[
        str, Field("Kind of the class.", required=True, enum=("WorkloadPriorityClass", "PriorityClass"))
    ] = ""
    name: Annotated[SubdomainName, Field("Name of the class.", required=True, min_length=1)] = ""


class PreemptionGate(View):
    """While it is closed, the workload preempts nobody."""

    name: Annotated[_GateName, Field("Name of the gate.")]


class WorkloadSpec(View):
    schema = Field(rules=SPEC_RULES)

    pod_sets: Annotated[
        list[PodSet],
        Field(
            "The pods, by shape. They start together or not at all.",
            min_items=1,
            max_items=MAX_POD_SETS,
            list_type="map",
            list_map_keys=("name",),
        ),
    ] = []
    queue_name: Annotated[SubdomainName, Field("The LocalQueue. Cannot be changed while quota is reserved.")] = ""
    priority_class_ref: Annotated[PriorityClassRef | None, Field("Where the priority comes from.")] = None
    priority: Annotated[Int32 | None, Field("The priority; higher goes first. Absent is 0.")] = None
    active: Annotated[bool | None, Field("False: evict the workload and leave it out of its queue.", default=True)] = (
        None
    )
    maximum_execution_time_seconds: Annotated[
        Int32 | None, Field("How long it may be admitted in all before it is deactivated.", minimum=1)
    ] = None
    preemption_gates: Annotated[
        list[PreemptionGate] | None,
        Field("Gates that keep it from preempting.", max_items=8, list_type="map", list_map_keys=("name",)),
    ] = None


class PodSetAssignment(View):
    """What one pod set got."""

    name: Annotated[PodSetName, Field("The pod set.", default="main")] = "main"
    flavors: Annotated[dict[str, SubdomainName] | None, Field("The flavor of each resource.")] = None
    resource_usage: Annotated[
        dict[str, Quantity] | None, Field("The quota of each resource that all its pods take together.")
    ] = None
    count: Annotated[Int32 | None, Field("How many pods were admitted.", minimum=0)] = None
    topology_assignment: Annotated[TopologyAssignment | None, Field("Where the pods go.")] = None
    delayed_topology_request: Annotated[
        str | None,
        Field("Whether the place is found only after the checks.", enum=("Pending", "Ready"), max_length=7),
    ] = None


class Admission(View):
    """The quota that a workload holds."""

    cluster_queue: Annotated[SubdomainName, Field("The ClusterQueue it comes from.")] = ""
    pod_set_assignments: Annotated[
        list[PodSetAssignment],
        Field("One per pod set.", max_items=MAX_POD_SETS, list_type="map", list_map_keys=("name",)),
    ] = []


class RequeueState(View):
    """Back-off between attempts."""

    count: Annotated[Int32 | None, Field("How often it was requeued.", minimum=0)] = None
    requeue_at: Annotated[datetime | None, Field("It is not tried before.")] = None


class ReclaimablePod(View):
    """Pods that are done and need quota no more."""

    name: Annotated[PodSetName, Field("The pod set.", required=True)]
    count: Annotated[Int32, Field("How many.", required=True, minimum=0)] = 0


class PodSetUpdate(View):
    """What a check wants in the pods of one pod set."""

    name: Annotated[PodSetName, Field("The pod set.", required=True)]
    labels: Annotated[dict[str, str] | None, Field("Labels to add.")] = None
    annotations: Annotated[dict[str, str] | None, Field("Annotations to add.")] = None
    node_selector: Annotated[dict[str, str] | None, Field("Node labels to demand.")] = None
    tolerations: Annotated[
        list[Toleration] | None,
        Field("Tolerations to add.", max_items=8, list_type="atomic", rules=TOLERATION_RULES),
    ] = None


class AdmissionCheckState(View):
    """What one check says of this workload."""

    name: Annotated[str, Field("The AdmissionCheck.", required=True, min_length=1, max_length=316)]
    state: Annotated[
        str,
        Field(
            "Pending, Ready, Retry (evict and try again) or Rejected (deactivate).",
            required=True,
            enum=("Pending", "Ready", "Retry", "Rejected"),
        ),
    ] = "Pending"
    last_transition_time: Annotated[datetime | None, Field("When the state last changed.", required=True)] = None
    message: Annotated[str, Field("Why, in words for people.", required=True, max_length=32768)] = ""
    requeue_after_seconds: Annotated[Int32 | None, Field("For Retry: how long to wait.", minimum=0)] = None
    retry_count: Annotated[Int32 | None, Field("How often it said Retry.", minimum=0)] = None
    pod_set_updates: Annotated[
        list[PodSetUpdate] | None,
        Field("What it wants in the pods. Frozen while Ready.", max_items=MAX_POD_SETS, list_type="atomic"),
    ] = None


class PodSetRequest(View):
    """What one pod set asks for, as quota sees it."""

    name: Annotated[PodSetName, Field("The pod set.", required=True)]
    resources: Annotated[
        dict[str, Quantity] | None, Field("By resource, for all its pods, after defaults and transformations.")
    ] = None


class EvictionCount(View):
    """How often the workload was evicted for one reason."""

    reason: Annotated[str, Field("The reason.", required=True, max_length=316)] = ""
    underlying_cause: Annotated[
        str, Field("The cause behind the reason; may be empty.", required=True, max_length=316)
    ] = ""
    count: Annotated[Int32, Field("How often.", required=True, minimum=0)] = 0


class SchedulingStats(View):
    """Counts over the workload's life."""

    evictions: Annotated[
        list[EvictionCount] | None,
        Field("Evictions by reason.", max_items=256, list_type="map", list_map_keys=("reason", "underlyingCause")),
    ] = None


class UnhealthyNode(View):
    """A failed node with pods of the workload."""

    name: Annotated[str, Field("Name of the node.", required=True, max_length=63)]


class PreemptionGateState(View):
    """Whether a gate is open."""

    name: Annotated[_GateName, Field("Name of the gate.")]
    position: Annotated[str, Field("Closed or Open.", required=True, enum=("Closed", "Open"))] = ""
    last_transition_time: Annotated[datetime | None, Field("When it last changed.", required=True)] = None


class WorkloadStatus(View):
    schema = Field(rules=STATUS_RULES)

    conditions: Annotated[
        Conditions,
        Field("QuotaReserved, Admitted, PodsReady, Evicted, Preempted, Requeued, Finished and others."),
    ] = None
    admission: Annotated[
        Admission | None, Field("The quota it holds; present while QuotaReserved.", map_type="atomic")
    ] = None
    requeue_state: Annotated[RequeueState | None, Field("Back-off between attempts.")] = None
    reclaimable_pods: Annotated[
        list[ReclaimablePod] | None,
        Field("Pods that are done.", max_items=MAX_POD_SETS, list_type="map", list_map_keys=("name",)),
    ] = None
    admission_checks: Annotated[
        list[AdmissionCheckState] | None,
        Field("The checks it must pass.", max_items=8, list_type="map", list_map_keys=("name",)),
    ] = None
    resource_requests: Annotated[
        list[PodSetRequest] | None,
        Field("What it asks for, while it waits.", max_items=MAX_POD_SETS, list_type="map", list_map_keys=("name",)),
    ] = None
    accumulated_past_execution_time_seconds: Annotated[
        Int32 | None, Field("Seconds it was admitted before the present admission.")
    ] = None
    scheduling_stats: Annotated[SchedulingStats | None, Field("Counts over its life.")] = None
    nominated_cluster_names: Annotated[
        list[ClusterName] | None,
        Field("Workers it may go to, until one is chosen.", max_items=MAX_NOMINATED_CLUSTERS, list_type="atomic"),
    ] = None
    cluster_name: Annotated[ClusterName | None, Field("The worker it runs on.")] = None
    unhealthy_nodes: Annotated[
        list[UnhealthyNode] | None,
        Field("Failed nodes with pods of it.", max_items=8, list_type="map", list_map_keys=("name",)),
    ] = None
    preemption_gates: Annotated[
        list[PreemptionGateState] | None,
        Field("Which gates are open.", max_items=8, list_type="map", list_map_keys=("name",)),
    ] = None


class Workload(Object):
    """One job's claim on quota."""

    schema = Field(rules=WORKLOAD_RULES)
    crd: ClassVar[Crd | None] = Crd(
        WORKLOADS,
        short_names=("kwl", "kueueworkload", "kueueworkloads"),
        columns=(
            Column("Queue", "string", ".spec.queueName", "The LocalQueue it was submitted to"),
            Column("Reserved in", "string", ".status.admission.clusterQueue", "The ClusterQueue whose quota it holds"),
            Column("Admitted", "string", ".status.conditions[?(@.type=='Admitted')].status", "Whether it may run"),
            Column("Finished", "string", ".status.conditions[?(@.type=='Finished')].status", "Whether it is over"),
            AGE,
        ),
        status=True,
        selectable_fields=(".status.admission.clusterQueue",),
    )

    spec: Annotated[WorkloadSpec, Field("What it asks for.")] = msgspec.field(default_factory=WorkloadSpec)
    status: Annotated[WorkloadStatus, Field("What it got, and why it waits.")] = msgspec.field(
        default_factory=WorkloadStatus
    )

    def condition(self, type_: str) -> Condition | None:
        for condition in self.status.conditions or ():
            if condition.type == type_:
                return condition
        return None

    def is_true(self, type_: str) -> bool:
        found = self.condition(type_)
        return found is not None and found.is_true
