"""Rules of queued RayServices (spec/jobs 9.8)."""

from typing import Final

from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs.ray_service import RayService
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.jobs import ray_cluster
from worker_agent.validation.jobs.kind_rules import KindRules


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    if not ray_cluster.is_managed(job, policy):
        return []
    cluster = at(job, RayService.cluster_path, {})
    errors = ray_cluster.cluster_errors(kind, job, cluster, RayService.shown_cluster, policy)
    return errors + ray_cluster.gate_errors(kind, job, policy)


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    return create_errors(kind, new, policy)


RULES: Final = KindRules(create_errors, update_errors, ray_cluster.is_looked_at, ray_cluster.is_managed)
