"""Rules of LeaderWorkerSets (spec/jobs 9.13)."""

from typing import Final

from worker_agent.api.document import Document, Path, at, get
from worker_agent.jobs.leader_worker_set import LEADER, WORKER, LeaderWorkerSet, group_size
from worker_agent.validation.field_error import FieldError, immutable, invalid
from worker_agent.validation.jobs import role_shape, serving, topology
from worker_agent.validation.jobs.defaulting import should_be_suspended
from worker_agent.validation.jobs.surroundings import JobSurroundings

MOST_REPLICAS: Final = 1_000_000


def create_errors(kind: LeaderWorkerSet, job: Document, around: JobSurroundings) -> list[FieldError]:
    errors = [*serving.create_errors(kind, job, around), *_replicas_errors(job)]
    return errors + topology.template_errors(kind, job, around.policy)


def update_errors(kind: LeaderWorkerSet, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    """A managed one keeps the size of its groups and the shape of their pods."""
    errors = [*serving.update_errors(kind, new, old, around), *_replicas_errors(new)]
    errors += topology.template_errors(kind, new, around.policy)
    if not should_be_suspended(new, around):
        return errors
    if around.policy.immutable_group_size and group_size(new) != group_size(old):
        errors.append(immutable("spec.leaderWorkerTemplate.size", group_size(new)))
    for path in (LEADER, WORKER):
        errors += _template_errors(path, at(new, path), at(old, path))
    return errors


def _template_errors(path: Path, new: Document | None, old: Document | None) -> list[FieldError]:
    field = ".".join(map(str, path))
    if new is None or old is None:
        return [] if new is old else [immutable(field, new)]
    return role_shape.errors(new.get("spec") or {}, old.get("spec") or {}, f"{field}.spec")


def _replicas_errors(job: Document) -> list[FieldError]:
    replicas = get(job, "spec.replicas", 1)
    told = "invalid LeaderWorkerSet replicas: must be"
    if replicas < 0:
        return [invalid("spec.replicas", replicas, f"{told} >= 0, got {replicas}")]
    if replicas > MOST_REPLICAS:
        return [invalid("spec.replicas", replicas, f"{told} <= {MOST_REPLICAS}, got {replicas}")]
    return []
