"""Every label, annotation, finalizer, condition and reason the program reads or writes, by name.

These strings are the contract with users, with Kueue's tools and between our own clusters: never change one.
"""

from typing import Final

# Controllers and field managers
MULTIKUEUE_CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
"""``spec.controllerName`` of its AdmissionChecks, and the ``managedBy`` value of jobs that a worker runs."""
PROVISIONING_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
"""The ``managedBy`` value of Jobs that Kubernetes itself runs."""
DISPATCHER_ALL_AT_ONCE: Final = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
DISPATCHER_INCREMENTAL: Final = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
DISPATCHER_CAPACITY_AWARE: Final = "fedhub.dev/capacity-aware"
ADMISSION_MANAGER: Final = "kueue-admission"
"""Field manager of a Workload's admission; Kueue's own name, so that either can take over from the other."""

# Finalizers
IN_USE_FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"
MANAGED_FINALIZER: Final = "kueue.x-k8s.io/managed"
"""On pods of the pod integration; the same string is their label."""

# On jobs: what a user writes
QUEUE_NAME_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL: Final = "kueue.x-k8s.io/priority-class"
MAX_EXEC_TIME_LABEL: Final = "kueue.x-k8s.io/max-exec-time-seconds"
PREBUILT_WORKLOAD: Final = "kueue.x-k8s.io/prebuilt-workload-name"
"""Label or annotation: adopt this Workload instead of making one."""
LAST_APPLIED_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
ELASTIC_JOB_ANNOTATION: Final = "kueue.x-k8s.io/elastic-job"
ADMISSION_GATED_BY_ANNOTATION: Final = "kueue.x-k8s.io/admission-gated-by"
PRIORITY_BOOST_ANNOTATION: Final = "kueue.x-k8s.io/priority-boost"
JOB_MIN_PARALLELISM_ANNOTATION: Final = "kueue.x-k8s.io/job-min-parallelism"
JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
STOPPING_ANNOTATION: Final = "kueue.x-k8s.io/stopping"
"""Internal mark on a batch Job between its suspension and the restoring of its template."""
PROVISIONING_ANNOTATION_PREFIX: Final = "provreq.kueue.x-k8s.io/"
"""On jobs and Workloads: what follows is a parameter of their ProvisioningRequests."""
CONSUME_REQUEST_ANNOTATION: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
PROVISIONING_CLASS_ANNOTATION: Final = "autoscaling.x-k8s.io/provisioning-class-name"
"""On pods: whose booked room they use, and of which class it is."""
SAFE_TO_FORCEFULLY_DELETE_ANNOTATION: Final = "kueue.x-k8s.io/safe-to-forcefully-delete"
POD_GROUP_NAME_LABEL: Final = "kueue.x-k8s.io/pod-group-name"
POD_GROUP_TOTAL_COUNT_ANNOTATION: Final = "kueue.x-k8s.io/pod-group-total-count"
POD_GROUP_POD_INDEX_LABEL: Final = "kueue.x-k8s.io/pod-group-pod-index"
POD_GROUP_POD_INDEX_LABEL_ANNOTATION: Final = "kueue.x-k8s.io/pod-group-pod-index-label"
POD_GROUP_FAST_ADMISSION_ANNOTATION: Final = "kueue.x-k8s.io/pod-group-fast-admission"
POD_GROUP_SERVING_ANNOTATION: Final = "kueue.x-k8s.io/pod-group-serving"
RAY_CLUSTER_GENERATION_ANNOTATION: Final = "kueue.x-k8s.io/raycluster-generation"
RAY_FAULT_TOLERANCE_ANNOTATION: Final = "ray.io/ft-enabled"
POD_INDEX_OFFSET_ANNOTATION: Final = "kueue.x-k8s.io/pod-index-offset"
RETRIABLE_IN_GROUP_ANNOTATION: Final = "kueue.x-k8s.io/retriable-in-group"
POD_SUSPENDING_PARENT_ANNOTATION: Final = "kueue.x-k8s.io/pod-suspending-parent"
ROLE_HASH_ANNOTATION: Final = "kueue.x-k8s.io/role-hash"
DEFAULT_LOCAL_QUEUE: Final = "default"
"""A LocalQueue of this name takes the jobs of its namespace that name none."""
DEFAULT_PRIORITY_CLASS: Final = "default"

# On pod templates: the topology request
REQUIRED_TOPOLOGY_ANNOTATION: Final = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY_ANNOTATION: Final = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY_ANNOTATION: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE_REQUIRED_TOPOLOGY_ANNOTATION: Final = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE_ANNOTATION: Final = "kueue.x-k8s.io/podset-slice-size"
SLICE_CONSTRAINTS_ANNOTATION: Final = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
POD_SET_GROUP_NAME_ANNOTATION: Final = "kueue.x-k8s.io/podset-group-name"
TOPOLOGY_SCHEDULING_GATE: Final = "kueue.x-k8s.io/topology"
ADMISSION_SCHEDULING_GATE: Final = "kueue.x-k8s.io/admission"
ELASTIC_JOB_SCHEDULING_GATE: Final = "kueue.x-k8s.io/elastic-job"

# Injected at start, taken out at stop
POD_SET_LABEL: Final = "kueue.x-k8s.io/podset"
LOCAL_QUEUE_NAME_LABEL: Final = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE_NAME_LABEL: Final = "kueue.x-k8s.io/cluster-queue-name"
MULTIKUEUE_WORKER_POD_LABEL: Final = "kueue.x-k8s.io/multikueue-worker-workload-pod"
WORKLOAD_ANNOTATION: Final = "kueue.x-k8s.io/workload"
WORKLOAD_SLICE_NAME_ANNOTATION: Final = "kueue.x-k8s.io/workload-slice-name"

# On Workloads
MANAGED_LABEL: Final = "kueue.x-k8s.io/managed"
JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"
JOB_OWNER_GVK_ANNOTATION: Final = "kueue.x-k8s.io/job-owner-gvk"
JOB_OWNER_NAME_ANNOTATION: Final = "kueue.x-k8s.io/job-owner-name"
COMPONENT_WORKLOAD_INDEX_ANNOTATION: Final = "kueue.x-k8s.io/component-workload-index"
IS_GROUP_WORKLOAD_ANNOTATION: Final = "kueue.x-k8s.io/is-group-workload"
SLICE_REPLACEMENT_FOR_ANNOTATION: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
ALLOWED_FLAVORS_ANNOTATION: Final = "kueue.x-k8s.io/workload-allowed-resource-flavors"
CONCURRENT_ADMISSION_PARENT_LABEL: Final = "kueue.x-k8s.io/concurrent-admission-parent"
MULTIKUEUE_ORIGIN_LABEL: Final = "kueue.x-k8s.io/multikueue-origin"
"""Which manager made this copy; only objects with our origin are ever deleted."""
MULTIKUEUE_ORIGIN_UID_ANNOTATION: Final = "kueue.x-k8s.io/multikueue-origin-uid"
DEFAULT_ORIGIN: Final = "multikueue"
MULTIKUEUE_PREEMPTION_GATE: Final = "kueue.x-k8s.io/multikueue"
CONCURRENT_ADMISSION_PREEMPTION_GATE: Final = "kueue.x-k8s.io/concurrent-admission"

# Priority class references
WORKLOAD_PRIORITY_CLASS_GROUP: Final = "kueue.x-k8s.io"
WORKLOAD_PRIORITY_CLASS_KIND: Final = "WorkloadPriorityClass"
POD_PRIORITY_CLASS_GROUP: Final = "scheduling.k8s.io"
POD_PRIORITY_CLASS_KIND: Final = "PriorityClass"

# fedhub's own
DISPATCH_POLICY_ANNOTATION: Final = "fedhub.dev/dispatch-policy"
"""On a ClusterQueue of the manager: which DispatchPolicy its workloads follow."""
DEFAULT_DISPATCH_POLICY: Final = "default"
PRICE_ANNOTATION: Final = "fedhub.dev/price-per-hour"
"""On a worker's ResourceFlavor."""
CORDONED_ANNOTATION: Final = "fedhub.dev/cordoned"
"""On a MultiKueueCluster: nothing new is sent there."""
SPANS_ANNOTATION: Final = "fedhub.dev/spans"
"""On a Cohort of the manager: the MultiKueueConfig whose workers' room is its quota."""
DISPATCH_TERM_ANNOTATION: Final = "fedhub.dev/dispatch-term"
"""On copies and their jobs: the term of the hub leader that sent them."""
ON_CONTACT_LOST_ANNOTATION: Final = "fedhub.dev/on-contact-lost"
"""On copies and their jobs: ``Stop`` has the worker's agent stop them when the hub's lease lapses."""
STOP_ON_CONTACT_LOST: Final = "Stop"
DECLARED_LOST_ANNOTATION: Final = "fedhub.dev/declared-lost"
"""On a MultiKueueCluster out of contact: its administrator vouches that nothing runs there any more."""
HUB_LEASE_LABEL: Final = "fedhub.dev/hub-lease"
"""On the Lease that a hub holds in a worker cluster: the hub's origin."""
ACKNOWLEDGED_TERM_ANNOTATION: Final = "fedhub.dev/acknowledged-term"
"""On that Lease: the last term that the worker's agent has seen; by it the hub knows that an agent keeps watch."""
FENCE_POLL_ANNOTATION: Final = "fedhub.dev/poll-seconds"
"""On that Lease: how often the agent shall read it while it has to stop work when the lease lapses."""
OTHER_VERSION_ANNOTATION: Final = "fedhub.dev/other-version"
"""On an object shown in one version: what another one says and this one cannot, as a JSON patch."""
HELD_SIZE_ANNOTATION: Final = "fedhub.dev/held-size"
"""On a MiniCluster: how many pods it shall have once it may run; its own field says 0 while it is held."""
ENROLMENT_TOKEN_SECRET_TYPE: Final = "fedhub.dev/enrolment-token"
REGION_LABEL: Final = "topology.kubernetes.io/region"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
RUN_SECONDS_ANNOTATION: Final = "fedhub.dev/run-seconds"
"""On pods of a simulated cluster: how long they run."""
WANTED_WORKERS_ANNOTATION: Final = "fedhub.dev/wanted-workers"
"""On a RayCluster that is simulated: how many workers of each group its work could use; its autoscaler follows."""
EXIT_CODE_ANNOTATION: Final = "fedhub.dev/exit-code"
CLUSTER_CAPACITY_NAME: Final = "this"
"""The one ClusterCapacity of a cluster."""
KUBECONFIG_SECRET_KEY: Final = "kubeconfig"

# Condition types of a Workload
QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
PODS_READY: Final = "PodsReady"
FINISHED: Final = "Finished"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"
WAITING_FOR_REPLACEMENT_PODS: Final = "WaitingForReplacementPods"
ACTIVE: Final = "Active"
"""Condition of ClusterQueues, LocalQueues, AdmissionChecks and MultiKueueClusters."""

FENCED: Final = "Fenced"
"""Condition of MultiKueueClusters: whether an agent there keeps a job from running twice."""
VERSION_SUPPORTED: Final = "fedhub.dev/VersionSupported"
"""Condition of MultiKueueClusters: whether the agent there is of a version that this hub works with."""
HUB_CONTACT_LOST: Final = "HubContactLost"
"""Why an agent deactivates a copy whose hub has not renewed its lease."""

DISPATCHED: Final = "fedhub.dev/Dispatched"
"""On a manager's Workload: which cluster was chosen and why, with what was found of every other candidate."""

# Reasons of QuotaReserved=False
WAITING_FOR_QUOTA: Final = "WaitingForQuota"
NO_MATCHING_FLAVOR: Final = "NoMatchingFlavor"
EXCEEDS_MAX_QUOTA: Final = "ExceedsMaxQuota"
TOPOLOGY_PLACEMENT_FAILED: Final = "TopologyPlacementFailed"
WAITING_FOR_PREEMPTED_WORKLOADS: Final = "WaitingForPreemptedWorkloads"
WAITING_FOR_PODS_READY: Final = "WaitingForPodsReady"
PENDING_EVALUATION: Final = "PendingEvaluation"
MISCONFIGURED: Final = "Misconfigured"
SUSPENDED: Final = "Suspended"
ADMISSION_GATED: Final = "AdmissionGated"
DEACTIVATED: Final = "Deactivated"
WORKLOAD_EVICTED_DUE_TO: Final = "WorkloadEvictedDueTo"
ON_HOLD: Final = "OnHold"
PENDING: Final = "Pending"
"""These three stand in for all of the above when UnadmittedWorkloadsObservability is off."""
INADMISSIBLE: Final = "Inadmissible"
WAITING: Final = "Waiting"

# Reasons of Admitted=False
NO_RESERVATION: Final = "NoReservation"
UNSATISFIED_ADMISSION_CHECKS: Final = "UnsatisfiedAdmissionChecks"
PENDING_DELAYED_TOPOLOGY_REQUESTS: Final = "PendingDelayedTopologyRequests"
UNSATISFIED_CHECKS: Final = "UnsatisfiedChecks"
"""The next two: UnadmittedWorkloadsObservability off."""
NO_RESERVATION_UNSATISFIED_CHECKS: Final = "NoReservationUnsatisfiedChecks"

# Reasons of Evicted
EVICTED_PREEMPTED: Final = "Preempted"
EVICTED_PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
EVICTED_ADMISSION_CHECK: Final = "AdmissionCheck"
EVICTED_CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
EVICTED_LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"
EVICTED_NODE_FAILURES: Final = "NodeFailures"
EVICTED_FLAVOR_MIGRATION: Final = "FlavorMigration"
EVICTED_ON_MANAGER_CLUSTER: Final = "EvictedOnManagerCluster"
EVICTED_VARIANT: Final = "VariantEvicted"
EVICTED_CONCURRENT_ADMISSION: Final = "ConcurrentAdmission"
EVICTED_RECLAIMED_PODS_RETURNED: Final = "ReclaimedPodsReturned"  # ours: a job wants pods again that it had given back
DEACTIVATED_DUE_TO: Final = "DeactivatedDueTo"
"""Prefix: the cause follows."""

# Reasons of Preempted
IN_CLUSTER_QUEUE: Final = "InClusterQueue"
IN_COHORT_RECLAMATION: Final = "InCohortReclamation"
IN_COHORT_FAIR_SHARING: Final = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"

# Reasons of Requeued
REACTIVATED: Final = "Reactivated"
BACKOFF_FINISHED: Final = "BackoffFinished"
CLUSTER_QUEUE_RESTARTED: Final = "ClusterQueueRestarted"
LOCAL_QUEUE_RESTARTED: Final = "LocalQueueRestarted"

# Reasons of PodsReady
STARTED: Final = "Started"
RECOVERED: Final = "Recovered"
WAIT_FOR_START: Final = "WaitForStart"
WAIT_FOR_RECOVERY: Final = "WaitForRecovery"

# Conditions of pods, their reasons, and the reasons of the events beside them
TERMINATED_BY_KUEUE: Final = "TerminatedByKueue"
UNSCHEDULABLE_ON_ASSIGNED_NODE: Final = "UnschedulableOnAssignedNode"
POD_TERMINATED_BY_KUEUE: Final = "PodTerminatedByKueue"
FAILURE_RECOVERY: Final = "KueueFailureRecovery"
FORCEFULLY_DELETED: Final = "KueueForcefullyDeleted"

# Reasons of Finished
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
OUT_OF_SYNC: Final = "OutOfSync"
OWNER_NOT_FOUND: Final = "OwnerNotFound"
WORKLOAD_SLICE_REPLACED: Final = "WorkloadSliceReplaced"

# Reasons of DeactivationTarget
REQUEUING_LIMIT_EXCEEDED: Final = "RequeuingLimitExceeded"
MAXIMUM_EXECUTION_TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"

# Reasons of BlockedOnPreemptionGates
PREEMPTION_GATED: Final = "PreemptionGated"

# Reasons of Active
READY: Final = "Ready"
TERMINATING: Final = "Terminating"
STOPPED: Final = "Stopped"
FLAVOR_NOT_FOUND: Final = "FlavorNotFound"
ADMISSION_CHECK_NOT_FOUND: Final = "AdmissionCheckNotFound"
ADMISSION_CHECK_INACTIVE: Final = "AdmissionCheckInactive"
MULTIPLE_MULTIKUEUE_ADMISSION_CHECKS: Final = "MultipleMultiKueueAdmissionChecks"
MULTIKUEUE_ADMISSION_CHECK_APPLIED_PER_FLAVOR: Final = "MultiKueueAdmissionCheckAppliedPerFlavor"
MULTIKUEUE_WITH_PROVISIONING_REQUEST: Final = "MultiKueueWithProvisioningRequest"
TOPOLOGY_NOT_FOUND: Final = "TopologyNotFound"
NOT_FOUND: Final = "NotFound"
UNKNOWN: Final = "Unknown"
CLUSTER_QUEUE_DOES_NOT_EXIST: Final = "ClusterQueueDoesNotExist"
CLUSTER_QUEUE_IS_INACTIVE: Final = "ClusterQueueIsInactive"
BAD_CONFIG: Final = "BadConfig"
SOME_ACTIVE_CLUSTERS: Final = "SomeActiveClusters"
NO_USABLE_CLUSTERS: Final = "NoUsableClusters"

# States of an AdmissionCheck on a Workload
CHECK_PENDING: Final = "Pending"
CHECK_READY: Final = "Ready"
CHECK_RETRY: Final = "Retry"
CHECK_REJECTED: Final = "Rejected"

# Conditions of a ProvisioningRequest
REQUEST_ACCEPTED: Final = "Accepted"
REQUEST_PROVISIONED: Final = "Provisioned"
REQUEST_FAILED: Final = "Failed"
REQUEST_BOOKING_EXPIRED: Final = "BookingExpired"
REQUEST_CAPACITY_REVOKED: Final = "CapacityRevoked"

# Policies and strategies
STOP_NONE: Final = "None"
STOP_HOLD: Final = "Hold"
STOP_HOLD_AND_DRAIN: Final = "HoldAndDrain"
STRICT_FIFO: Final = "StrictFIFO"
BEST_EFFORT_FIFO: Final = "BestEffortFIFO"
TRY_PREFERRED_FLAVORS: Final = "TryPreferredFlavors"
RETAIN_FIRST_ADMISSION: Final = "RetainFirstAdmission"
GATE_OPEN: Final = "Open"
GATE_CLOSED: Final = "Closed"
PODS_RESOURCE: Final = "pods"
DEFAULT_POD_SET_NAME: Final = "main"

# Limits
MAX_CONDITION_MESSAGE: Final = 32768
MAX_EVENT_MESSAGE: Final = 1024
MAX_POD_SETS: Final = 18
