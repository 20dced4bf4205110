"""Rules of queued SparkApplications (spec/jobs 9.14)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.validation.field_error import FieldError, invalid
from worker_agent.validation.jobs import ray_cluster
from worker_agent.validation.jobs.kind_rules import KindRules

NO_DYNAMIC_ALLOCATION: Final = (
    "a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on "
    "and the job is an elastic job"
)


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    if not ray_cluster.is_managed(job, policy):
        return []
    errors: list[FieldError] = []
    mode = get(job, "spec.mode", "")
    if mode != "cluster":
        errors.append(invalid("spec.mode", mode, "only Cluster mode is supported for a kueue managed job"))
    asked = get(job, "metadata.annotations", {}).get(names.ELASTIC_JOB_ANNOTATION) == "true" and policy.elastic_jobs
    if get(job, "spec.dynamicAllocation.enabled", False) and not asked:
        errors.append(invalid("spec.dynamicAllocation.enabled", True, NO_DYNAMIC_ALLOCATION))
    return errors


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    return create_errors(kind, new, policy)


RULES: Final = KindRules(create_errors, update_errors, ray_cluster.is_looked_at, ray_cluster.is_managed)
