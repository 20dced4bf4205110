"""Rules of queued RayJobs (spec/jobs 9.7)."""

from typing import Final

from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs.ray_job import RayJob
from worker_agent.validation.field_error import FieldError, invalid, required
from worker_agent.validation.jobs import ray_cluster
from worker_agent.validation.jobs.kind_rules import KindRules


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """A cluster of its own that ends with the job; a job for a cluster that is there already is not queued."""
    if not ray_cluster.is_managed(job, policy):
        return []
    selector, cluster = get(job, "spec.clusterSelector"), get(job, "spec.rayClusterSpec")
    if selector and cluster is not None:
        return [invalid("spec.clusterSelector", selector, "a kueue managed job should not use an existing cluster")]
    if selector:
        return []
    if cluster is None:
        message = "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector"
        return [required("spec.rayClusterSpec", message)]
    errors: list[FieldError] = []
    if not get(job, "spec.shutdownAfterJobFinishes", False):
        message = "a kueue managed job should delete the cluster after finishing"
        errors.append(invalid("spec.shutdownAfterJobFinishes", False, message))
    return errors + ray_cluster.cluster_errors(kind, job, cluster, RayJob.shown_cluster, policy)


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    return create_errors(kind, new, policy)


def is_placed(job: Document, policy: JobPolicy) -> bool:
    owns_cluster = not get(job, "spec.clusterSelector") and get(job, "spec.rayClusterSpec") is not None
    return owns_cluster and ray_cluster.is_managed(job, policy)


RULES: Final = KindRules(create_errors, update_errors, ray_cluster.is_looked_at, is_placed)
