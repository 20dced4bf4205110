"""ClusterQueue: quota, queueing and preemption policy of one queue (cluster-scoped)."""

from typing import Annotated, ClassVar

import msgspec

from worker_agent.api.meta import Conditions, LabelSelector, Object, Quantity, View
from worker_agent.api.resource_type import CLUSTER_QUEUES
from worker_agent.api.schema import Column, Crd, Field, Int32, Int64, Rule, SubdomainName

StopPolicy = Annotated[str | None, Field(enum=("None", "Hold", "HoldAndDrain"), default="None")]


class ResourceQuota(View):
    """Quota of one resource in one flavor."""

    name: Annotated[str, Field("The resource, e.g. cpu.", required=True)]
    nominal_quota: Annotated[
        Quantity, Field("What the queue may always use, and in a cohort also lends.", required=True)
    ] = "0"
    borrowing_limit: Annotated[
        Quantity | None, Field("The most that may be borrowed from the cohort; absent is no bound.")
    ] = None
    lending_limit: Annotated[
        Quantity | None, Field("The most of the nominal quota that others may borrow; absent is all of it.")
    ] = None


class FlavorQuotas(View):
    """Quotas of all covered resources in one flavor."""

    name: Annotated[SubdomainName, Field("The ResourceFlavor.", required=True)]
    resources: Annotated[
        list[ResourceQuota],
        Field(
            "One row per covered resource, in the same order.",
            required=True,
            min_items=1,
            max_items=64,
            list_type="map",
            list_map_keys=("name",),
        ),
    ] = []


class ResourceGroup(View):
    """Resources that a pod set must get from one and the same flavor, and the flavors to try."""

    schema = Field(
        rules=(
            Rule(
                "self.flavors.all(x, size(x.resources) == size(self.coveredResources))",
                "flavors must have the same number of resources as the coveredResources",
            ),
        )
    )

    covered_resources: Annotated[
        list[str],
        Field(
            "The resources of this group. A resource stands in one group only.",
            required=True,
            min_items=1,
            max_items=64,
            list_type="atomic",
        ),
    ] = []
    flavors: Annotated[
        list[FlavorQuotas],
        Field(
            "The flavors, in the order in which they are tried. A flavor stands in one group only.",
            required=True,
            min_items=1,
            max_items=64,
            list_type="map",
            list_map_keys=("name",),
        ),
    ] = []


ResourceGroups = Annotated[list[ResourceGroup], Field(max_items=16, list_type="atomic")]
_SEARCH = ("MayStopSearch", "TryNextFlavor")


class FlavorFungibility(View):
    """Whether a flavor that needs borrowing or preemption is good enough, or the next one is tried."""

    schema = Field(
        rules=(
            Rule(
                "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' "
                "&& self.whenCanPreempt == 'TryNextFlavor')",
                "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
            ),
        )
    )

    when_can_borrow: Annotated[
        str, Field("What to do at a flavor that fits by borrowing.", enum=_SEARCH, default="MayStopSearch")
    ] = "MayStopSearch"
    when_can_preempt: Annotated[
        str, Field("What to do at a flavor that fits after preemption.", enum=_SEARCH, default="TryNextFlavor")
    ] = "TryNextFlavor"
    preference: Annotated[
        str | None,
        Field(
            "Which of the two to prefer once all flavors were tried.",
            enum=("BorrowingOverPreemption", "PreemptionOverBorrowing"),
        ),
    ] = None


class BorrowWithinCohort(View):
    """Whether a workload that borrows may preempt others of the cohort."""

    policy: Annotated[str, Field("Whom it may preempt.", enum=("Never", "LowerPriority"), default="Never")] = "Never"
    max_priority_threshold: Annotated[Int32 | None, Field("Only workloads of at most this priority are preempted.")] = (
        None
    )


class ClusterQueuePreemption(View):
    """Whom a pending workload may preempt when quota does not suffice."""

    schema = Field(
        rules=(
            Rule(
                "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) &&  "
                "self.borrowWithinCohort.policy != 'Never')",
                "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
            ),
        )
    )

    reclaim_within_cohort: Annotated[
        str,
        Field(
            "Which borrowers of the cohort it may preempt to get the nominal quota back.",
            enum=("Never", "LowerPriority", "Any"),
            default="Never",
        ),
    ] = "Never"
    borrow_within_cohort: Annotated[
        BorrowWithinCohort | None, Field("The same while it borrows itself.", default={})
    ] = None
    within_cluster_queue: Annotated[
        str,
        Field(
            "Which workloads of its own queue it may preempt.",
            enum=("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
            default="Never",
        ),
    ] = "Never"


class AdmissionCheckStrategyRule(View):
    """One check and the flavors it stands for."""

    name: Annotated[str, Field("The AdmissionCheck.", required=True, min_length=1, max_length=316)]
    on_flavors: Annotated[
        list[SubdomainName] | None,
        Field("Flavors that need the check; empty is all of the queue.", max_items=64, list_type="set"),
    ] = None


class AdmissionChecksStrategy(View):
    """Which checks the workloads of the queue must pass."""

    admission_checks: Annotated[
        list[AdmissionCheckStrategyRule] | None,
        Field("The checks.", required=True, min_items=1, max_items=64, list_type="map", list_map_keys=("name",)),
    ] = None


class FairSharing(View):
    """The place in fair sharing."""

    weight: Annotated[
        Quantity | None,
        Field("Share relative to siblings; 0 is served last. Absent is 1.", default=1),
    ] = None


class AdmissionScope(View):
    """How the workloads of the queue are ordered among its LocalQueues."""

    admission_mode: Annotated[
        str,
        Field(
            "Order by the usage of LocalQueues in the past, or not.",
            required=True,
            enum=("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"),
        ),
    ] = ""


class ConcurrentAdmissionConstraints(View):
    """Bounds of the migration."""

    last_acceptable_flavor_name: Annotated[SubdomainName, Field("Flavors behind this one are not tried.")] = ""


class ConcurrentAdmissionMigration(View):
    """Whether an admitted workload moves when a better flavor gets free."""

    mode: Annotated[
        str,
        Field(
            "Go on trying better flavors, or stay where it was admitted first.",
            required=True,
            enum=("TryPreferredFlavors", "RetainFirstAdmission"),
            max_length=253,
        ),
    ] = ""
    constraints: Annotated[ConcurrentAdmissionConstraints | None, Field("Bounds, for TryPreferredFlavors only.")] = None


class ConcurrentAdmissionPolicy(View):
    """Try all flavors of the queue at once. Cannot be changed."""

    migration: Annotated[
        ConcurrentAdmissionMigration, Field("What happens after the first admission.", required=True)
    ] = msgspec.field(default_factory=ConcurrentAdmissionMigration)


class ClusterQueueSpec(View):
    schema = Field(
        rules=(
            Rule(
                "!has(self.cohortName) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, "
                "f.resources.all(r, !has(r.borrowingLimit)))) : true",
                "borrowingLimit must be nil when cohort is empty",
            ),
        )
    )

    resource_groups: Annotated[
        ResourceGroups,
        Field("Quotas by group, flavor and resource: at most 256 flavors and 256 resources in all."),
    ] = []
    cohort_name: Annotated[
        SubdomainName, Field("The cohort with which the queue shares quota. Empty: it keeps to itself.")
    ] = ""
    queueing_strategy: Annotated[
        str,
        Field(
            "StrictFIFO: a workload that does not fit blocks those behind it. BestEffortFIFO: it does not.",
            enum=("StrictFIFO", "BestEffortFIFO"),
            default="BestEffortFIFO",
        ),
    ] = "BestEffortFIFO"
    namespace_selector: Annotated[
        LabelSelector | None,
        Field("Namespaces whose workloads may use the queue. Absent is none, an empty selector is all."),
    ] = None
    flavor_fungibility: Annotated[FlavorFungibility | None, Field("When to go on to the next flavor.", default={})] = (
        None
    )
    preemption: Annotated[ClusterQueuePreemption | None, Field("Whom workloads may preempt.", default={})] = None
    admission_checks_strategy: Annotated[
        AdmissionChecksStrategy | None, Field("Checks that workloads must pass besides quota.")
    ] = None
    stop_policy: Annotated[
        StopPolicy,
        Field("Hold: admit nothing new. HoldAndDrain: evict what runs, too."),
    ] = None
    fair_sharing: Annotated[FairSharing | None, Field("Weight in its cohort, where fair sharing is on.")] = None
    admission_scope: Annotated[AdmissionScope | None, Field("Order among the LocalQueues.")] = None
    concurrent_admission_policy: Annotated[
        ConcurrentAdmissionPolicy | None, Field("Try all flavors at once. Cannot be changed.")
    ] = None


class ResourceTotal(View):
    """How much of one resource is taken."""

    name: Annotated[str, Field("The resource.", required=True)]
    total: Annotated[Quantity, Field("All that is taken, borrowed quota included.")] = "0"


class ResourceUsage(ResourceTotal):
    """How much of one resource is taken, and how much of that is borrowed."""

    borrowed: Annotated[Quantity | None, Field("The part taken from the cohort.")] = None


class FlavorUsage(View):
    """How much of one flavor is taken."""

    name: Annotated[SubdomainName, Field("The ResourceFlavor.", required=True)]
    resources: Annotated[
        list[ResourceUsage],
        Field("By resource.", required=True, max_items=64, list_type="map", list_map_keys=("name",)),
    ] = []


class FairSharingStatus(View):
    """What fair sharing sees."""

    weighted_share: Annotated[
        Int64,
        Field(
            "Borrowed quota over what the cohort lends, in thousandths, divided by the weight; of the resource where "
            "this is largest. The largest number stands for a weight of 0 that borrows.",
            required=True,
        ),
    ] = 0


FlavorUsages = Annotated[list[FlavorUsage] | None, Field(max_items=64, list_type="map", list_map_keys=("name",))]


class ClusterQueueStatus(View):
    conditions: Annotated[Conditions, Field("Active tells whether the queue admits workloads, and why not.")] = None
    flavors_reservation: Annotated[
        FlavorUsages, Field("Quota held by workloads that reserved it, admitted or not.")
    ] = None
    flavors_usage: Annotated[FlavorUsages, Field("Quota held by admitted workloads.")] = None
    pending_workloads: Annotated[Int32, Field("Workloads that wait for quota.")] = 0
    reserving_workloads: Annotated[Int32, Field("Workloads that hold quota.")] = 0
    admitted_workloads: Annotated[Int32, Field("Admitted workloads that have not finished.")] = 0
    fair_sharing: Annotated[FairSharingStatus | None, Field("Share, where fair sharing is on.")] = None


class ClusterQueue(Object):
    """A pool of quota and the rules by which workloads get it."""

    crd: ClassVar[Crd | None] = Crd(
        CLUSTER_QUEUES,
        short_names=("cq",),
        columns=(
            Column("Cohort", "string", ".spec.cohortName", "Cohort that the queue shares quota with"),
            Column("Strategy", "string", ".spec.queueingStrategy", "How waiting workloads are ordered", 1),
            Column("Pending Workloads", "integer", ".status.pendingWorkloads", "Workloads that wait"),
            Column("Admitted Workloads", "integer", ".status.admittedWorkloads", "Admitted and not finished", 1),
        ),
        status=True,
    )

    spec: Annotated[ClusterQueueSpec, Field("Quota and rules.")] = msgspec.field(default_factory=ClusterQueueSpec)
    status: Annotated[ClusterQueueStatus, Field("What is taken and who waits.")] = msgspec.field(
        default_factory=ClusterQueueStatus
    )
