"""ClusterQueue: quota, queueing and preemption policy of one queue (cluster-scoped)."""

import msgspec

from worker_agent.api.meta import Condition, LabelSelector, Object, Quantity, View


class ResourceQuota(View):
    name: str
    nominal_quota: Quantity = "0"
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(View):
    name: str
    resources: list[ResourceQuota] = []


class ResourceGroup(View):
    covered_resources: list[str] = []
    flavors: list[FlavorQuotas] = []


class FlavorFungibility(View):
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str | None = None


class BorrowWithinCohort(View):
    policy: str = "Never"
    max_priority_threshold: int | None = None


class ClusterQueuePreemption(View):
    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohort | None = None
    within_cluster_queue: str = "Never"


class AdmissionCheckStrategyRule(View):
    name: str
    on_flavors: list[str] | None = None


class AdmissionChecksStrategy(View):
    admission_checks: list[AdmissionCheckStrategyRule] | None = None


class FairSharing(View):
    weight: Quantity | None = None


class AdmissionScope(View):
    admission_mode: str = ""


class ConcurrentAdmissionConstraints(View):
    last_acceptable_flavor_name: str = ""


class ConcurrentAdmissionMigration(View):
    mode: str = ""
    constraints: ConcurrentAdmissionConstraints | None = None


class ConcurrentAdmissionPolicy(View):
    migration: ConcurrentAdmissionMigration = msgspec.field(default_factory=ConcurrentAdmissionMigration)


class ClusterQueueSpec(View):
    resource_groups: list[ResourceGroup] = []
    cohort_name: str = ""
    queueing_strategy: str = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility | None = None
    preemption: ClusterQueuePreemption | None = None
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: ConcurrentAdmissionPolicy | None = None


class ResourceUsage(View):
    name: str
    total: Quantity = "0"
    borrowed: Quantity | None = None


class FlavorUsage(View):
    name: str
    resources: list[ResourceUsage] = []


class FairSharingStatus(View):
    weighted_share: int = 0


class ClusterQueueStatus(View):
    conditions: list[Condition] | None = None
    flavors_reservation: list[FlavorUsage] | None = None
    flavors_usage: list[FlavorUsage] | None = None
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    fair_sharing: FairSharingStatus | None = None


class ClusterQueue(Object):
    spec: ClusterQueueSpec = msgspec.field(default_factory=ClusterQueueSpec)
    status: ClusterQueueStatus = msgspec.field(default_factory=ClusterQueueStatus)
