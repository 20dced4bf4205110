"""Which kinds have rules of their own; the others follow the shared ones alone."""

from typing import Final

from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.jobs import (
    app_wrapper,
    batch_job,
    mini_cluster,
    ray_cluster,
    ray_job,
    ray_service,
    spark_application,
)
from worker_agent.validation.jobs.kind_rules import KindRules

OWN_RULES: Final[dict[str, KindRules]] = {
    "batch/job": batch_job.RULES,
    "ray.io/raycluster": ray_cluster.RULES,
    "ray.io/rayjob": ray_job.RULES,
    "ray.io/rayservice": ray_service.RULES,
    "workload.codeflare.dev/appwrapper": app_wrapper.RULES,
    "sparkoperator.k8s.io/sparkapplication": spark_application.RULES,
    "flux-framework.org/minicluster": mini_cluster.RULES,
}
"""By framework name."""


def are_looked_at(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> bool:
    """Whether the update of a job is checked at all."""
    rules = OWN_RULES.get(kind.framework)
    return rules is None or rules.looked_at(new, old, policy)


def are_placed(kind: JobKind, job: Document, policy: JobPolicy) -> bool:
    """Whether the job's topology annotations are checked."""
    rules = OWN_RULES.get(kind.framework)
    return rules is None or rules.places(job, policy)


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    rules = OWN_RULES.get(kind.framework)
    return [] if rules is None else rules.create(kind, job, policy)


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    rules = OWN_RULES.get(kind.framework)
    return [] if rules is None else rules.update(kind, new, old, policy)
