"""Rules of queued MiniClusters: what we hold them by has to be readable, and what their pods cannot do is refused."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs.mini_cluster import wanted_size
from worker_agent.validation.field_error import FieldError, forbidden, invalid
from worker_agent.validation.jobs import ray_cluster
from worker_agent.validation.jobs.kind_rules import KindRules

HELD_SIZE: Final = f"metadata.annotations[{names.HELD_SIZE_ANNOTATION}]"
NO_TOPOLOGY: Final = "the pods of a MiniCluster have no scheduling gates to wait for a topology assignment by"
TOPOLOGY_ANNOTATIONS: Final = (
    names.REQUIRED_TOPOLOGY_ANNOTATION,
    names.PREFERRED_TOPOLOGY_ANNOTATION,
    names.UNCONSTRAINED_TOPOLOGY_ANNOTATION,
)


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    if not ray_cluster.is_managed(job, policy):
        return []
    errors: list[FieldError] = []
    if wanted_size(job) < 1:
        held = get(job, "metadata.annotations", {}).get(names.HELD_SIZE_ANNOTATION)
        if held is None:
            errors.append(invalid("spec.size", get(job, "spec.size"), "a queued MiniCluster has at least one pod"))
        else:
            errors.append(invalid(HELD_SIZE, held, "should be an integer greater than 0"))
    annotations = get(job, "spec.pod.annotations", {})
    for key in TOPOLOGY_ANNOTATIONS:
        if key in annotations:
            errors.append(forbidden(f"spec.pod.annotations[{key}]", NO_TOPOLOGY))
    return errors


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    return create_errors(kind, new, policy)


def _never_placed(job: Document, policy: JobPolicy) -> bool:
    return False


RULES: Final = KindRules(create_errors, update_errors, places=_never_placed)
