"""Rules of queued RayClusters, and of the clusters inside RayJobs and RayServices (spec/jobs 9.6)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import JobKind, queue_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs.ray_cluster import RayCluster
from worker_agent.validation.field_error import FieldError, forbidden, invalid, too_many
from worker_agent.validation.jobs.kind_rules import KindRules

GATE: Final = {"name": names.ELASTIC_JOB_SCHEDULING_GATE}
NO_AUTOSCALING: Final = "a kueue managed job should only use autoscaling when workload slicing is enabled"


def is_managed(job: Document, policy: JobPolicy) -> bool:
    """Queued by its label or by configuration; neither owners nor the namespace are looked at here."""
    return bool(queue_name(job)) or policy.manage_without_queue_name


def is_looked_at(new: Document, old: Document, policy: JobPolicy) -> bool:
    """An update of a job that is not queued, and was not, is nobody's business."""
    return is_managed(new, policy) or (policy.ray_updates_of_queued and bool(queue_name(old)))


def cluster_errors(kind: JobKind, job: Document, cluster: Document, shown: str, policy: JobPolicy) -> list[FieldError]:
    """What any queued cluster must satisfy; ``shown`` is how messages name it."""
    errors: list[FieldError] = []
    if cluster.get("enableInTreeAutoscaling") and not kind.is_elastic(job, policy):
        errors.append(invalid(f"{shown}.enableInTreeAutoscaling", True, NO_AUTOSCALING))
    groups = cluster.get("workerGroupSpecs") or []
    if len(groups) + 1 > names.MAX_POD_SETS:
        errors.append(too_many(f"{shown}.workerGroupSpecs", len(groups) + 1, names.MAX_POD_SETS))
    for place, group in enumerate(groups):
        if group.get("groupName") == "head":
            field = f"{shown}.workerGroupSpecs[{place}].groupName"
            errors.append(forbidden(field, '"head" is reserved for the head group'))
    return errors


def gate_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """The pods of an elastic cluster wait behind a gate until their slice is admitted."""
    if not kind.is_elastic(job, policy):
        return []
    errors: list[FieldError] = []
    for spot in kind.templates(job):
        gates = at(job, (*spot.path, "spec", "schedulingGates"), [])
        if GATE not in gates:
            field = spot.annotations_field.replace("metadata.annotations", "spec.schedulingGates")
            detail = f"an elastic job must have the {names.ELASTIC_JOB_SCHEDULING_GATE} scheduling gate"
            errors.append(invalid(field, gates, detail))
    return errors


def create_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    if not is_managed(job, policy):
        return []
    cluster = at(job, RayCluster.cluster_path, {})
    errors = [*cluster_errors(kind, job, cluster, RayCluster.shown_cluster, policy), *gate_errors(kind, job, policy)]
    dispatched = kind.managed_by(job) == names.MULTIKUEUE_CONTROLLER
    if kind.is_elastic(job, policy) and dispatched and cluster.get("enableInTreeAutoscaling"):
        message = "in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster"
        errors.append(forbidden("spec.enableInTreeAutoscaling", message))
    return errors


def update_errors(kind: JobKind, new: Document, old: Document, policy: JobPolicy) -> list[FieldError]:
    return create_errors(kind, new, policy)


RULES: Final = KindRules(create_errors, update_errors, is_looked_at, is_managed)
