"""Rules of StatefulSets (spec/jobs 9.12)."""

from typing import Final

from worker_agent.api.companions import Companion
from worker_agent.api.document import Document, get
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import workload_status
from worker_agent.jobs import stateful_set
from worker_agent.jobs.stateful_set import StatefulSet
from worker_agent.validation.field_error import FieldError, forbidden, immutable
from worker_agent.validation.jobs import role_shape, serving
from worker_agent.validation.jobs.defaulting import should_be_suspended
from worker_agent.validation.jobs.surroundings import JobSurroundings

REPLICAS: Final = "spec.replicas"


def create_errors(kind: StatefulSet, job: Document, around: JobSurroundings) -> list[FieldError]:
    return [] if kind.belongs_elsewhere(job) else serving.create_errors(kind, job, around)


def update_errors(kind: StatefulSet, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    """A managed one keeps the shape of its pods, and its size but for zero."""
    if kind.belongs_elsewhere(new):
        return []
    errors = serving.update_errors(kind, new, old, around)
    if not should_be_suspended(new, around):
        return errors
    path = "spec.template.spec"
    errors += role_shape.errors(get(new, path, {}), get(old, path, {}), path)
    return errors + _replicas_errors(new, old, around)


def _replicas_errors(new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    before, after = get(old, REPLICAS, 1), get(new, REPLICAS, 1)
    if before == after or not after:
        return []
    if before:
        return [immutable(REPLICAS, after)]
    if get(new, "status.replicas", 0) > 0:
        return [forbidden(REPLICAS, "scaling down is still in progress")]
    workload = _workload(new, around)
    if workload is not None and not workload_status.is_on_hold(workload):
        return [forbidden(REPLICAS, "workload from previous scale-down is still being deleted")]
    return []


def _workload(job: Document, around: JobSurroundings) -> Document | None:
    namespace = job["metadata"].get("namespace", "")
    wanted = (stateful_set.workload_name_of(job, uid, around.policy) for uid in (stateful_set.origin_uid(job), ""))
    found = (around.companion(Companion(WORKLOADS, namespace, name)) for name in wanted)
    return next((workload for workload in found if workload is not None), None)
