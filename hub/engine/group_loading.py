"""Gather one Workload's ``RemoteGroup`` from whatever holds the objects: informers in the hub, dicts in tests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from hub.engine import admission_check, remote_objects, sync_owner
from hub.engine.remote_group import Component, Components, Remote, RemoteGroup, Sight, SyncPolicy
from hub.engine.sync_owner import KindTable, Owner
from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig
from worker_agent.api.workload import AdmissionCheckState, Workload


class Worker(Protocol):
    """What a connected worker holds. ``workload`` gives any Workload of that name, whoever made it.

    The ``job`` of a kind composed of several objects is made of all that name the key as their group.
    """

    def workload(self, key: Key) -> Document | None: ...

    def job(self, kind: JobKind, key: Key) -> Document | None: ...


class Manager(Protocol):
    """The manager's own objects."""

    def workload(self, key: Key) -> Document | None: ...

    def workloads_in(self, namespace: str) -> Iterable[Document]: ...

    def job(self, kind: JobKind, key: Key) -> Document | None: ...

    def admission_check(self, name: str) -> AdmissionCheck | None: ...

    def config(self, name: str) -> MultiKueueConfig | None: ...


@dataclass(frozen=True, slots=True)
class Federation:
    """``workers`` are the connected ones; ``disconnected_since`` knows the others that have a connection entry.

    ``terms``, ``declared_lost`` and ``by_label`` are those of ``RemoteGroup``.
    """

    manager: Manager
    workers: Mapping[str, Worker]
    disconnected_since: Mapping[str, datetime]
    kinds: KindTable
    terms: Mapping[str, int] = field(default_factory=dict)
    declared_lost: frozenset[str] = frozenset()
    by_label: frozenset[str] = frozenset()


def multikueue_checks(workload: Workload, manager: Manager) -> tuple[AdmissionCheckState, ...]:
    """The Workload's checks that MultiKueue decides, in status order; checks whose object is missing are skipped."""
    return tuple(
        state
        for state in workload.status.admission_checks or ()
        if (check := manager.admission_check(state.name)) is not None and is_multikueue(check)
    )


def is_multikueue(check: AdmissionCheck) -> bool:
    return check.spec.controller_name == names.MULTIKUEUE_CONTROLLER


def clusters_of(check: AdmissionCheck, manager: Manager) -> list[str]:
    """The clusters a check leads to, in configuration order. Raises BadReference."""
    name = admission_check.config_name(check)
    config = manager.config(name)
    if config is None:
        raise admission_check.not_found(name)
    return config.spec.clusters


NOTHING: Final = Remote()
"""What nearly every worker holds of nearly every Workload."""


def load(
    key: Key,
    federation: Federation,
    policy: SyncPolicy,
    last_seen: Document | None,
    *,
    own_cluster_only: bool = False,
) -> RemoteGroup | None:
    """The group of ``key``; None when neither the Workload nor its last known object is there.

    ``last_seen`` is the object as it was when its deletion was noticed. With ``own_cluster_only`` ``connected`` leaves
    out all clusters but the one in the Workload's status.
    """
    document = federation.manager.workload(key)
    deleted = document is None
    if document is None:
        document = last_seen
    if document is None:
        return None
    return of_workload(document, federation, policy, deleted=deleted, own_cluster_only=own_cluster_only)


def of_workload(
    document: Document,
    federation: Federation,
    policy: SyncPolicy,
    *,
    deleted: bool = False,
    own_cluster_only: bool = False,
) -> RemoteGroup:
    """The group of the Workload as ``document`` has it, whatever the manager holds."""
    manager, local = federation.manager, Sight.of(document)
    key = local.key
    deleted = deleted or local.view.metadata.deletion_timestamp is not None
    checks = multikueue_checks(local.view, manager)
    if not checks:
        return RemoteGroup(local, policy, deleted=deleted)
    owner = sync_owner.find(local.view, federation.kinds)
    job = manager.job(owner.kind, owner.key) if owner.kind is not None else None
    clusters, config_error = _clusters(checks[0].name, manager)
    own = local.view.status.cluster_name
    looked_at = [name for name in clusters if name == own] if own_cluster_only else clusters
    return RemoteGroup(
        local=local,
        policy=policy,
        checks=checks,
        owner=owner,
        job=job,
        deleted=deleted,
        config_error=config_error,
        connected={
            name: remote(federation.workers[name], key, document, owner, policy.origin)
            for name in looked_at
            if name in federation.workers
        },
        unavailable=_unavailable(local.view, clusters, federation),
        order=tuple(clusters),
        outside=_outside(document, clusters, federation, owner, policy.origin),
        terms=federation.terms,
        declared_lost=federation.declared_lost,
        by_label=federation.by_label,
        components=_components(local.view, owner, job, manager),
    )


def remote(worker: Worker, key: Key, local: Document, owner: Owner, origin: str) -> Remote:
    """What one worker holds for the Workload ``local``, which is called ``key``."""
    copy = worker.workload(key)
    job = worker.job(owner.kind, owner.key) if owner.kind is not None else None
    if copy is None:
        return NOTHING if job is None else Remote(job=job)
    if not remote_objects.may_be_ours(copy, local, origin):
        return Remote(job=job, foreign=True)
    return Remote(Sight.of(copy), job)


def _unavailable(local: Workload, clusters: list[str], federation: Federation) -> dict[str, datetime | None]:
    """The configuration's clusters out of contact; and the Workload's own, which may run the job, if it left them."""
    since = federation.disconnected_since
    found = {name: since.get(name) for name in clusters if name not in federation.workers}
    own = local.status.cluster_name or ""
    if own in since and own not in federation.workers:
        found[own] = since[own]
    return found


def _outside(
    document: Document, clusters: list[str], federation: Federation, owner: Owner, origin: str
) -> dict[str, Remote]:
    """The Workload's own cluster, where it left the configuration and still holds what is ours.

    No other: two MultiKueueClusters may lead to one API server, and what is seen under the name that is not
    configured is then the very copy that the configured one runs.
    """
    own = value_at(document, "status.clusterName", "")
    if own in clusters or own not in federation.workers:
        return {}
    key = remote_objects.key_of(document)
    found = _ours(remote(federation.workers[own], key, document, owner, origin), origin)
    return {own: found} if found is not None else {}


def _ours(found: Remote, origin: str) -> Remote | None:
    """Only what bears our origin: on a cluster that is none of the Workload's, nothing else can be a copy of it."""
    copy = found.copy if found.copy is not None and remote_objects.is_ours(found.copy.document, origin) else None
    job = found.job if found.job is not None and remote_objects.is_ours(found.job, origin) else None
    return Remote(copy, job) if copy is not None or job is not None else None


def _clusters(check: str, manager: Manager) -> tuple[list[str], str]:
    found = manager.admission_check(check)
    assert found is not None
    try:
        return clusters_of(found, manager), ""
    except admission_check.BadReference as error:
        return [], str(error)


def _components(local: Workload, owner: Owner, job: Document | None, manager: Manager) -> Components | None:
    """The Workloads of a multi-workload owner; None for an owner with just this one."""
    if owner.kind is None or not owner.uid or not local.metadata.annotation(names.JOB_OWNER_GVK_ANNOTATION):
        return None
    members = [
        Component(sight.key, _index(sight.view), sight.view.status.cluster_name or "")
        for document in manager.workloads_in(local.metadata.namespace)
        if any(reference.get("uid") == owner.uid for reference in value_at(document, "metadata.ownerReferences", []))
        for sight in (Sight.of(document),)
    ]
    expected = owner.kind.workload_count(job) if job is not None else len(members)
    # A set with one Workload has nobody to wait for, and its Workload need not say which one it is.
    return Components(expected, tuple(members)) if max(expected, len(members)) > 1 else None


def _index(workload: Workload) -> int | None:
    text = workload.metadata.annotation(names.COMPONENT_WORKLOAD_INDEX_ANNOTATION)
    return int(text) if text.isdecimal() else None
