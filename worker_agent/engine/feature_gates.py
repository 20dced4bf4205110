"""Feature gates: Kueue's names, defaults and dependencies (0.20 development).

``resolve`` turns overrides into the full table once, at start. Algorithms never see a gate; they see ``policy.Policy``.
"""

import difflib
from collections.abc import Mapping
from typing import Final

_ON: Final = frozenset(
    {
        "AdmissionFairSharing",
        "AdmissionGatedBy",
        "AssignQueueLabelsForPods",
        "CleanupProvisioningRequestsOnEviction",
        "DeferRayServiceFinalizationForRedisCleanup",
        "ElasticJobsViaWorkloadSlices",
        "FairSharingPreemptWithinNominal",
        "FairSharingPrioritizeNonBorrowing",
        "FinishOrphanedWorkloads",
        "FlavorFungibility",
        "FlavorFungibilityPreserveScanProgress",
        "KueueDRAIntegration",
        "KueueDRAIntegrationExtendedResource",
        "KueueDRAIntegrationPartitionableDevices",
        "KueueDRARejectWorkloadsWhenDRADisabled",
        "LWSImmutableGroupSize",
        "LocalQueueMetrics",
        "MetricForWorkloadCreationLatency",
        "MetricsForCohorts",
        "MultiKueue",
        "MultiKueueAdaptersForCustomJobs",
        "MultiKueueIncrementalDispatcherConfig",
        "MultiKueueIncrementalDispatcherRespectConfigOrder",
        "MultiKueueKubeConfigPathValidation",
        "MultiKueueRemoteSpecSync",
        "PartialAdmission",
        "PodIntegrationValidateGroupOwner",
        "PrioritySortingWithinCohort",
        "QuotaCheckStrategy",
        "ReclaimablePods",
        "RecomputeAssignmentUponPreemptionTargetsOverlap",
        "RemoveFinalizersWithStrictPatch",
        "SchedulingEquivalenceHashing",
        "SkipAncestorCheckForDeletedWorkloads",
        "SkipReassignmentForPodOwnedWorkloads",
        "TASAssignmentsEncodingByHostnamePrefix",
        "TASCacheNodeMatchResults",
        "TASCacheTopologyTree",
        "TASCachingRemainingResources",
        "TASFailedNodeReplacement",
        "TASFailedNodeReplacementFailFast",
        "TASHandleOverlappingFlavors",
        "TASMultiLayerTopology",
        "TASProfileMixed",
        "TASRecomputeAssignmentWithinSchedulingCycle",
        "TASReplaceNodeOnNodeTaints",
        "TASReplaceNodeOnPodTermination",
        "TASValidateWorkloadSliceSize",
        "TopologyAwareScheduling",
        "UnadmittedWorkloadsObservability",
        "ValidateRayAndSparkJobUpdates",
        "VectorizedResourceRequests",
        "VisibilityOnDemand",
        "WorkloadIdentifierAnnotations",
        "WorkloadPriorityClassDefaulting",
        "WorkloadValidateResourcesAreNonNegative",
        "WorkloadValidationForPodSetMetadata",
    }
)
"""Gates that are on unless switched off."""

_LOCKED_ON: Final = frozenset(
    {
        "ManagedJobsNamespaceSelectorAlwaysRespected",
        "TLSOptions",
    }
)
"""On, and no longer switchable."""

_OFF: Final = frozenset(
    {
        "ConcurrentAdmission",
        "CustomMetricLabels",
        "DisableWaitForPodsReady",
        "ElasticJobsViaWorkloadSlicesWithTAS",
        "FailureRecoveryPolicy",
        "FastQuotaReleaseInPodIntegration",
        "KueueDRAIntegrationConsumableCapacity",
        "MultiKueueClusterProfile",
        "MultiKueueManagerQuotaAutomation",
        "MultiKueueOrchestratedPreemption",
        "PrioritizePreemptorWorkloads",
        "PriorityBoost",
        "RejectUpdatesToCQWithInvalidOnFlavors",
        "SchedulerLibraryIntegration",
        "ShortWorkloadNames",
        "SparkApplicationIntegration",
        "TASBalancedPlacement",
        "TASReplaceNodeDueToNotReadyOverFixedTime",
        "TASRespectNodeAffinityPreferred",
        "UnadmittedWorkloadsExplicitStatus",
        "WorkloadRequestUseMergePatch",
    }
)
"""Gates that are off unless switched on."""

DEPENDENCIES: Final[Mapping[str, tuple[str, ...]]] = {
    "ElasticJobsViaWorkloadSlicesWithTAS": (
        "ElasticJobsViaWorkloadSlices",
        "TopologyAwareScheduling",
    ),
    "FlavorFungibilityPreserveScanProgress": ("FlavorFungibility",),
    "KueueDRAIntegrationConsumableCapacity": ("KueueDRAIntegration",),
    "KueueDRAIntegrationExtendedResource": ("KueueDRAIntegration",),
    "KueueDRAIntegrationPartitionableDevices": ("KueueDRAIntegration",),
    "TASBalancedPlacement": ("TopologyAwareScheduling",),
    "TASFailedNodeReplacement": ("TopologyAwareScheduling",),
    "TASFailedNodeReplacementFailFast": (
        "TASFailedNodeReplacement",
        "TopologyAwareScheduling",
    ),
    "TASHandleOverlappingFlavors": ("TopologyAwareScheduling",),
    "TASMultiLayerTopology": ("TopologyAwareScheduling",),
    "TASProfileMixed": ("TopologyAwareScheduling",),
    "TASRecomputeAssignmentWithinSchedulingCycle": ("TopologyAwareScheduling",),
    "TASReplaceNodeDueToNotReadyOverFixedTime": (
        "TASFailedNodeReplacement",
        "TopologyAwareScheduling",
    ),
    "TASReplaceNodeOnNodeTaints": ("TopologyAwareScheduling",),
    "TASReplaceNodeOnPodTermination": (
        "TASFailedNodeReplacement",
        "TopologyAwareScheduling",
    ),
    "TASRespectNodeAffinityPreferred": ("TopologyAwareScheduling",),
    "UnadmittedWorkloadsExplicitStatus": ("UnadmittedWorkloadsObservability",),
}
"""Gate -> the gates that must be on for it."""

DEFAULTS: Final[Mapping[str, bool]] = {name: name not in _OFF for name in sorted(_ON | _LOCKED_ON | _OFF)}


class FeatureGateError(ValueError):
    """An override that cannot be honoured; the message names the gate and the remedy."""


def resolve(overrides: Mapping[str, bool]) -> dict[str, bool]:
    """Every gate with its effective value. Raises FeatureGateError."""
    gates = dict(DEFAULTS)
    for name, wanted in overrides.items():
        if name not in gates:
            alike = difflib.get_close_matches(name, gates, n=1)
            hint = f"; did you mean {alike[0]}?" if alike else f"; known are {', '.join(gates)}"
            raise FeatureGateError(f"unrecognized feature gate: {name}{hint}")
        if name in _LOCKED_ON and not wanted:
            raise FeatureGateError(
                f"cannot set feature gate {name} to {str(wanted).lower()}, feature is locked to true"
            )
        gates[name] = wanted
    _require_parents(gates, overrides)
    return gates


def _require_parents(gates: dict[str, bool], overrides: Mapping[str, bool]) -> None:
    """A dependent that was asked for needs its parents; one that is only on by default goes off with them."""
    for name, parents in DEPENDENCIES.items():
        missing = [parent for parent in parents if not gates[parent]]
        if not gates[name] or not missing:
            continue
        if overrides.get(name):
            raise FeatureGateError(f"feature gate {name} requires {', '.join(missing)} to be enabled as well")
        gates[name] = False
