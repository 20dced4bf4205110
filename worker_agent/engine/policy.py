"""Policy: every switch of the engine as one resolved value. Nobody asks for a gate inside an algorithm."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from worker_agent.api.document import get
from worker_agent.engine import feature_gates
from worker_agent.engine.devices.mappings import DEFAULT_DEVICE_RULES, DeviceRules, read_device_rules
from worker_agent.engine.tas.rules import DEFAULT_TOPOLOGY_RULES, TopologyRules, read_topology_rules
from worker_agent.engine.transformations import Transformation, read_transformations
from worker_agent.engine.usage_history_rules import UsageRules, read_usage_rules

STRATEGIES: Final = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What configuration and feature gates amount to. The default instance is Kueue's default configuration."""

    partial_admission: bool = True
    flavor_fungibility: bool = True
    preserve_scan_progress: bool = True
    sort_priority_within_cohort: bool = True
    equivalence_hashing: bool = True
    recompute_overlapping_targets: bool = True
    reclaimable_pods: bool = True
    admission_gated_by: bool = True
    observability: bool = True
    explicit_status: bool = False
    topology_aware: bool = True
    recompute_topology: bool = True
    topology: TopologyRules = DEFAULT_TOPOLOGY_RULES
    priority_boost: bool = False
    prioritize_preemptors: bool = False
    concurrent_admission: bool = False
    orchestrated_preemption: bool = False
    elastic_jobs: bool = True

    fair_sharing: bool = False
    preemption_strategies: tuple[str, ...] = STRATEGIES
    preempt_within_nominal: bool = True
    prioritize_non_borrowing: bool = True

    admission_fair_sharing: UsageRules | None = None
    """None where LocalQueues do not share by usage."""

    pods_ready: bool = True
    block_admission: bool = False
    eviction_timestamp: bool = True
    """Queue order follows the eviction time after a PodsReady timeout (else the creation time)."""

    ignore_undeclared: bool = False
    exclude_resource_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)

    devices: DeviceRules = DEFAULT_DEVICE_RULES
    """How claims of devices are charged."""

    @property
    def preemption_gates(self) -> bool:
        return self.concurrent_admission or self.orchestrated_preemption


DEFAULT: Final = Policy()


def resolve(gates: Mapping[str, bool], configuration: Mapping[str, Any] | None = None) -> Policy:
    """The policy of these gate overrides and this configuration (a document in Kueue's Configuration schema).

    Raises feature_gates.FeatureGateError, quantity.QuantityError.
    """
    on = feature_gates.resolve(gates)
    settings = dict(configuration or {})
    waiting = settings.get("waitForPodsReady")
    fair = settings.get("fairSharing")
    return Policy(
        partial_admission=on["PartialAdmission"],
        flavor_fungibility=on["FlavorFungibility"],
        preserve_scan_progress=on["FlavorFungibilityPreserveScanProgress"],
        sort_priority_within_cohort=on["PrioritySortingWithinCohort"],
        equivalence_hashing=on["SchedulingEquivalenceHashing"],
        recompute_overlapping_targets=on["RecomputeAssignmentUponPreemptionTargetsOverlap"],
        reclaimable_pods=on["ReclaimablePods"],
        admission_gated_by=on["AdmissionGatedBy"],
        observability=on["UnadmittedWorkloadsObservability"],
        explicit_status=on["UnadmittedWorkloadsExplicitStatus"],
        topology_aware=on["TopologyAwareScheduling"],
        recompute_topology=on["TASRecomputeAssignmentWithinSchedulingCycle"],
        topology=read_topology_rules(on),
        priority_boost=on["PriorityBoost"],
        prioritize_preemptors=on["PrioritizePreemptorWorkloads"],
        concurrent_admission=on["ConcurrentAdmission"],
        orchestrated_preemption=on["MultiKueueOrchestratedPreemption"],
        elastic_jobs=on["ElasticJobsViaWorkloadSlices"],
        fair_sharing=fair is not None,
        preemption_strategies=tuple((fair or {}).get("preemptionStrategies") or STRATEGIES),
        preempt_within_nominal=on["FairSharingPreemptWithinNominal"],
        prioritize_non_borrowing=on["FairSharingPrioritizeNonBorrowing"],
        admission_fair_sharing=read_usage_rules(settings.get("admissionFairSharing"))
        if on["AdmissionFairSharing"]
        else None,
        pods_ready=not on["DisableWaitForPodsReady"],
        block_admission=not on["DisableWaitForPodsReady"] and bool(get(waiting, "blockAdmission", False)),
        eviction_timestamp=get(waiting, "requeuingStrategy.timestamp", "Eviction") == "Eviction",
        ignore_undeclared=on["QuotaCheckStrategy"]
        and get(settings, "resources.quotaCheckStrategy", "") == "IgnoreUndeclared",
        exclude_resource_prefixes=tuple(get(settings, "resources.excludeResourcePrefixes", ())),
        transformations=read_transformations(get(settings, "resources.transformations", ())),
        devices=read_device_rules(on, get(settings, "resources.deviceClassMappings", ())),
    )
