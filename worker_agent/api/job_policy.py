"""What configuration and feature gates mean for jobs, resolved once: no rule about jobs asks for a gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Self

from worker_agent.api.selectors import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPolicy:
    """Every switch that job kinds, their lifecycle and their webhooks consult. The default instance is Kueue's default.

    ``namespaces`` selects the namespaces whose jobs are looked at at all; None selects every namespace.
    ``pods`` selects the pods that may be queued at all; None selects every pod.
    ``frameworks`` are the enabled integrations, ``external_frameworks`` kinds handled elsewhere, each written
    ``Kind.version.group``.
    ``retain_deactivated`` is how long a job outlives its deactivation by the system; None keeps it.
    ``copies_keep_ready_back`` is how long after its admission a Workload that a hub sent may leave it unsaid that its
    pods are ready.
    ``pods_first`` lets a job's active pods end before the job is restored: API servers refuse the latter until then.
    """

    manage_without_queue_name: bool = False
    namespaces: Query | None = None
    pods: Query | None = None
    frameworks: frozenset[str] = frozenset({"batch/job"})
    external_frameworks: frozenset[str] = frozenset()
    label_keys_to_copy: tuple[str, ...] = ()
    annotation_keys_to_copy: tuple[str, ...] = ()
    wait_for_pods_ready: bool = True
    retain_deactivated: timedelta | None = None
    copies_keep_ready_back: timedelta = timedelta()
    pods_first: bool = False

    partial_admission: bool = True
    reclaimable_pods: bool = True
    topology_aware: bool = True
    multi_layer_topology: bool = True
    queue_labels_on_pods: bool = True
    elastic_jobs: bool = True
    elastic_jobs_with_topology: bool = False
    finish_orphans: bool = True
    identifier_annotations: bool = True
    admission_gated_by: bool = True
    observability: bool = True
    explicit_status: bool = False
    short_workload_names: bool = False
    skip_reassignment_for_pod_owned: bool = True
    skip_ancestors_of_deleted: bool = True
    multikueue: bool = True
    priority_class_defaulting: bool = True
    ray_updates_of_queued: bool = True
    defer_ray_service_end: bool = True
    immutable_group_size: bool = True
    group_owner_checked: bool = True
    fast_quota_release: bool = False
    custom_metric_labels: bool = False
    remote_spec_sync: bool = True

    @classmethod
    def from_gates(cls, gates: Mapping[str, bool], **settings: Any) -> Self:
        """The policy of a full gate table (``feature_gates.resolve``) and of settings given by field name."""
        switches = {name: gates[gate] for name, gate in _GATES.items() if gate in gates}
        return cls(**(switches | settings))


_GATES: Final = {
    "partial_admission": "PartialAdmission",
    "reclaimable_pods": "ReclaimablePods",
    "topology_aware": "TopologyAwareScheduling",
    "multi_layer_topology": "TASMultiLayerTopology",
    "queue_labels_on_pods": "AssignQueueLabelsForPods",
    "elastic_jobs": "ElasticJobsViaWorkloadSlices",
    "elastic_jobs_with_topology": "ElasticJobsViaWorkloadSlicesWithTAS",
    "finish_orphans": "FinishOrphanedWorkloads",
    "identifier_annotations": "WorkloadIdentifierAnnotations",
    "admission_gated_by": "AdmissionGatedBy",
    "observability": "UnadmittedWorkloadsObservability",
    "explicit_status": "UnadmittedWorkloadsExplicitStatus",
    "short_workload_names": "ShortWorkloadNames",
    "skip_reassignment_for_pod_owned": "SkipReassignmentForPodOwnedWorkloads",
    "skip_ancestors_of_deleted": "SkipAncestorCheckForDeletedWorkloads",
    "multikueue": "MultiKueue",
    "ray_updates_of_queued": "ValidateRayAndSparkJobUpdates",
    "defer_ray_service_end": "DeferRayServiceFinalizationForRedisCleanup",
    "custom_metric_labels": "CustomMetricLabels",
    "remote_spec_sync": "MultiKueueRemoteSpecSync",
    "immutable_group_size": "LWSImmutableGroupSize",
    "group_owner_checked": "PodIntegrationValidateGroupOwner",
    "fast_quota_release": "FastQuotaReleaseInPodIntegration",
    "priority_class_defaulting": "WorkloadPriorityClassDefaulting",
}

DEFAULT: Final = JobPolicy()
