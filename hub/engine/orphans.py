"""Remote objects whose Workload the manager no longer has: what a collection deletes (spec section 11)."""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass

from hub.engine import remote_objects, sync_owner
from hub.engine.sync_owner import KindTable
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.job_kind import JobKind, prebuilt_name
from worker_agent.api.job_policy import DEFAULT
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import DeleteObject


@dataclass(frozen=True, slots=True)
class Collection:
    """``jobs`` go first and may fail without keeping ``workloads``; all bear our origin."""

    jobs: tuple[DeleteObject, ...] = ()
    workloads: tuple[DeleteObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one worker holds with our origin. ``job`` reads a job by kind and key, whoever made it."""

    cluster: str
    workloads: Iterable[Document]
    job: Callable[[JobKind, Key], Document | None]
    jobs: Iterable[tuple[JobKind, Document]] = ()
    """Jobs with our origin, where they are known as a whole."""


def collect(holdings: Holdings, origin: str, lives: Callable[[Key], bool], kinds: KindTable) -> Collection:
    """What to delete on one worker. ``lives``: the manager has a Workload of that key, and it is not being deleted."""
    jobs: list[DeleteObject] = []
    workloads: list[DeleteObject] = []
    for workload in holdings.workloads:
        key = remote_objects.key_of(workload)
        if lives(key) or not remote_objects.is_ours(workload, origin):
            continue
        job = _job(workload, holdings, origin, kinds)
        if job is not None:
            jobs.append(job)
        uid = workload["metadata"].get("uid", "")
        workloads.append(DeleteObject(resource=WORKLOADS, key=key, uid=uid, cluster=holdings.cluster))
    jobs += _abandoned(holdings, origin, lives, {job.key for job in jobs})
    return Collection(tuple(jobs), tuple(workloads))


def _abandoned(
    holdings: Holdings, origin: str, lives: Callable[[Key], bool], taken: Container[Key]
) -> Iterator[DeleteObject]:
    """Jobs of ours whose Workload is gone on both sides: Kueue leaves them for ever."""
    for kind, job in holdings.jobs:
        key = remote_objects.key_of(job)
        pointer = prebuilt_name(job, DEFAULT)
        if not pointer or key in taken or not remote_objects.is_ours(job, origin):
            continue
        if not lives(Key(key.namespace, pointer)):
            uid = job["metadata"].get("uid", "")
            yield DeleteObject(resource=kind.resource, key=key, uid=uid, cluster=holdings.cluster)


def _job(workload: Document, holdings: Holdings, origin: str, kinds: KindTable) -> DeleteObject | None:
    """The Workload's controller, if it is a job of a known kind that we made."""
    owners = value_at(workload, "metadata.ownerReferences", [])
    owner = next((reference for reference in owners if reference.get("controller")), None)
    kind = kinds.get(sync_owner.gvk_text(owner["apiVersion"], owner["kind"])) if owner is not None else None
    if owner is None or kind is None:
        return None
    key = Key(workload["metadata"].get("namespace", ""), owner["name"])
    job = holdings.job(kind, key)
    if job is None or not remote_objects.is_ours(job, origin):
        return None
    uid = job["metadata"].get("uid", "")
    return DeleteObject(resource=kind.resource, key=key, uid=uid, cluster=holdings.cluster)
