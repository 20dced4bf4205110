"""The integrations by name and the kind each one serves: who may own a job, and whether that owner is queued itself."""

from typing import Final

from worker_agent.api.document import Document
from worker_agent.api.job_policy import JobPolicy

GVK = tuple[str, str]
"""apiVersion and kind, compared exactly."""

FRAMEWORKS: Final[dict[str, GVK]] = {
    "batch/job": ("batch/v1", "Job"),
    "jobset.x-k8s.io/jobset": ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    "kubeflow.org/mpijob": ("kubeflow.org/v2beta1", "MPIJob"),
    "kubeflow.org/pytorchjob": ("kubeflow.org/v1", "PyTorchJob"),
    "kubeflow.org/tfjob": ("kubeflow.org/v1", "TFJob"),
    "kubeflow.org/xgboostjob": ("kubeflow.org/v1", "XGBoostJob"),
    "kubeflow.org/paddlejob": ("kubeflow.org/v1", "PaddleJob"),
    "kubeflow.org/jaxjob": ("kubeflow.org/v1", "JAXJob"),
    "trainer.kubeflow.org/trainjob": ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    "ray.io/rayjob": ("ray.io/v1", "RayJob"),
    "ray.io/raycluster": ("ray.io/v1", "RayCluster"),
    "ray.io/rayservice": ("ray.io/v1", "RayService"),
    "workload.codeflare.dev/appwrapper": ("workload.codeflare.dev/v1beta2", "AppWrapper"),
    "sparkoperator.k8s.io/sparkapplication": ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
    "flux-framework.org/minicluster": ("flux-framework.org/v1alpha2", "MiniCluster"),
    "pod": ("v1", "Pod"),
    "deployment": ("apps/v1", "Deployment"),
    "statefulset": ("apps/v1", "StatefulSet"),
    "leaderworkerset.x-k8s.io/leaderworkerset": ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
}

_BY_GVK: Final = {gvk: name for name, gvk in FRAMEWORKS.items()}
_PASSED_THROUGH: Final[GVK] = ("apps/v1", "ReplicaSet")
"""Stands between a Deployment and its pods; never queued itself."""


def external_gvk(name: str) -> GVK:
    """``Kind.version.group`` of an external framework as apiVersion and kind."""
    kind, _, rest = name.partition(".")
    version, _, group = rest.partition(".")
    return (f"{group}/{version}" if group else version, kind)


def is_manageable(gvk: GVK, policy: JobPolicy) -> bool:
    """Whether objects of this kind are queued here: an enabled integration or an external one."""
    return _BY_GVK.get(gvk) in policy.frameworks or gvk in map(external_gvk, policy.external_frameworks)


def is_known(gvk: GVK, policy: JobPolicy) -> bool:
    """Whether the search for a managed ancestor goes on through objects of this kind."""
    return gvk in _BY_GVK or gvk == _PASSED_THROUGH or is_manageable(gvk, policy)


def controller_of(document: Document) -> Document | None:
    """The owner reference that is the controller, or None."""
    owners = (document.get("metadata") or {}).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def gvk_of(reference: Document) -> GVK:
    """apiVersion and kind of an owner reference or of an object."""
    return (reference.get("apiVersion", ""), reference.get("kind", ""))
