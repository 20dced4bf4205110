"""Where a kind lives in the API: group, version, plural, scope. Every client and server looks things up here."""

import re
from dataclasses import dataclass
from urllib.parse import quote

_is_plain = re.compile(r"[A-Za-z0-9._~-]*\Z").match
"""Nearly every name is; to look is ten times cheaper than to quote."""


def _quoted(part: str) -> str:
    return part if _is_plain(part) else quote(part, safe="")


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One served resource. ``path`` builds request paths; nothing else in the program writes one."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    def __hash__(self) -> int:
        # Everything that is known is kept by kind: a text remembers its own hash, a tuple of five does not.
        return hash(self.plural)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """``/apis/<group>/<version>[/namespaces/<ns>]/<plural>[/<name>[/<subresource>]]``."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if self.namespaced and namespace:
            parts += ["namespaces", _quoted(namespace)]
        parts.append(self.plural)
        parts += [_quoted(part) for part in (name, subresource) if part]
        return "/".join(parts)


KUEUE = "kueue.x-k8s.io"
FEDHUB = "fedhub.dev"
AUTOSCALING = "autoscaling.x-k8s.io"

NAMESPACES = ResourceType("", "v1", "Namespace", "namespaces", namespaced=False)
NODES = ResourceType("", "v1", "Node", "nodes", namespaced=False)
PODS = ResourceType("", "v1", "Pod", "pods")
POD_TEMPLATES = ResourceType("", "v1", "PodTemplate", "podtemplates")
SECRETS = ResourceType("", "v1", "Secret", "secrets")
EVENTS = ResourceType("events.k8s.io", "v1", "Event", "events")
LIMIT_RANGES = ResourceType("", "v1", "LimitRange", "limitranges")
LEASES = ResourceType("coordination.k8s.io", "v1", "Lease", "leases")
JOBS = ResourceType("batch", "v1", "Job", "jobs")
CRON_JOBS = ResourceType("batch", "v1", "CronJob", "cronjobs")
JOB_SETS = ResourceType("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
MPI_JOBS = ResourceType("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")
PYTORCH_JOBS = ResourceType("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")
TF_JOBS = ResourceType("kubeflow.org", "v1", "TFJob", "tfjobs")
XGBOOST_JOBS = ResourceType("kubeflow.org", "v1", "XGBoostJob", "xgboostjobs")
PADDLE_JOBS = ResourceType("kubeflow.org", "v1", "PaddleJob", "paddlejobs")
JAX_JOBS = ResourceType("kubeflow.org", "v1", "JAXJob", "jaxjobs")
RAY_CLUSTERS = ResourceType("ray.io", "v1", "RayCluster", "rayclusters")
RAY_JOBS = ResourceType("ray.io", "v1", "RayJob", "rayjobs")
RAY_SERVICES = ResourceType("ray.io", "v1", "RayService", "rayservices")
SPARK_APPLICATIONS = ResourceType("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications")
APP_WRAPPERS = ResourceType("workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers")
MINI_CLUSTERS = ResourceType("flux-framework.org", "v1alpha2", "MiniCluster", "miniclusters")
TRAIN_JOBS = ResourceType("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs")
TRAINING_RUNTIMES = ResourceType("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes")
CLUSTER_TRAINING_RUNTIMES = ResourceType(
    "trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False
)
DEPLOYMENTS = ResourceType("apps", "v1", "Deployment", "deployments")
STATEFUL_SETS = ResourceType("apps", "v1", "StatefulSet", "statefulsets")
REPLICA_SETS = ResourceType("apps", "v1", "ReplicaSet", "replicasets")
LEADER_WORKER_SETS = ResourceType("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets")
PRIORITY_CLASSES = ResourceType("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
RUNTIME_CLASSES = ResourceType("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)
CUSTOM_RESOURCE_DEFINITIONS = ResourceType(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
MUTATING_WEBHOOKS = ResourceType(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_WEBHOOKS = ResourceType(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
CLUSTER_ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)

RESOURCE_CLAIM_TEMPLATES = ResourceType("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates")
DEVICE_CLASSES = ResourceType("resource.k8s.io", "v1", "DeviceClass", "deviceclasses", namespaced=False)
RESOURCE_SLICES = ResourceType("resource.k8s.io", "v1", "ResourceSlice", "resourceslices", namespaced=False)

CLUSTER_QUEUES = ResourceType(KUEUE, "v1beta2", "ClusterQueue", "clusterqueues", namespaced=False)
COHORTS = ResourceType(KUEUE, "v1beta2", "Cohort", "cohorts", namespaced=False)
LOCAL_QUEUES = ResourceType(KUEUE, "v1beta2", "LocalQueue", "localqueues")
RESOURCE_FLAVORS = ResourceType(KUEUE, "v1beta2", "ResourceFlavor", "resourceflavors", namespaced=False)
WORKLOADS = ResourceType(KUEUE, "v1beta2", "Workload", "workloads")
WORKLOAD_PRIORITY_CLASSES = ResourceType(
    KUEUE, "v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
)
ADMISSION_CHECKS = ResourceType(KUEUE, "v1beta2", "AdmissionCheck", "admissionchecks", namespaced=False)
TOPOLOGIES = ResourceType(KUEUE, "v1beta2", "Topology", "topologies", namespaced=False)
MULTIKUEUE_CLUSTERS = ResourceType(KUEUE, "v1beta2", "MultiKueueCluster", "multikueueclusters", namespaced=False)
MULTIKUEUE_CONFIGS = ResourceType(KUEUE, "v1beta2", "MultiKueueConfig", "multikueueconfigs", namespaced=False)
PROVISIONING_REQUEST_CONFIGS = ResourceType(
    KUEUE, "v1beta2", "ProvisioningRequestConfig", "provisioningrequestconfigs", namespaced=False
)
PROVISIONING_REQUESTS = ResourceType(AUTOSCALING, "v1", "ProvisioningRequest", "provisioningrequests")
CLUSTER_CAPACITIES = ResourceType(FEDHUB, "v1alpha1", "ClusterCapacity", "clustercapacities", namespaced=False)
DISPATCH_POLICIES = ResourceType(FEDHUB, "v1alpha1", "DispatchPolicy", "dispatchpolicies", namespaced=False)
