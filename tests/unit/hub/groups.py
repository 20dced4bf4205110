"""Builders: a Workload of a Job on a manager with workers, stated by what matters to a test."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hub.engine.remote_group import ALL_AT_ONCE, Remote, RemoteGroup, Sight, SyncPolicy
from hub.engine.sync_owner import Owner
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.jobs import KINDS

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
KEY = Key("ns", "wl")
ORIGIN = "multikueue"
POLICY = SyncPolicy(origin=ORIGIN, worker_lost_timeout=timedelta(minutes=15), dispatcher=ALL_AT_ONCE)
BATCH_JOB = KINDS["batch/job"]


def condition(
    type_: str, reason: str = "ByTest", *, status: str = "True", at: datetime = NOW, message: str = ""
) -> Document:
    since = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


QUOTA = condition(names.QUOTA_RESERVED)


def workload(*conditions: Document, spec: Document | None = None, **status: Any) -> Document:
    """A Workload with these conditions and status fields (by their name in JSON)."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "wl", "namespace": "ns", "uid": "local"},
        "spec": {
            "queueName": "lq",
            "podSets": [{"name": "main", "count": 3, "template": {"spec": {}}}],
            **(spec or {}),
        },
        "status": {"conditions": list(conditions), **status},
    }


def checked(state: str, *conditions: Document, **status: Any) -> Document:
    """A Workload that holds quota and whose MultiKueue check is in ``state``."""
    entry = {"name": "mk", "state": state, "message": "", "lastTransitionTime": "2026-01-31T11:00:00Z"}
    return workload(QUOTA, *conditions, admissionChecks=[entry], **status)


def copy(*conditions: Document, origin: str = ORIGIN, spec: Document | None = None, **status: Any) -> Document:
    """The Workload as it stands on a worker."""
    found = workload(*conditions, spec=spec, **status)
    labels = {names.MULTIKUEUE_ORIGIN_LABEL: origin}
    finalizers = [names.IN_USE_FINALIZER]
    metadata = {"name": "wl", "namespace": "ns", "uid": "remote", "labels": labels, "finalizers": finalizers}
    return {**found, "metadata": metadata}


def job(
    *, suspend: bool = True, origin: str = "", managed_by: str = names.MULTIKUEUE_CONTROLLER, **status: Any
) -> Document:
    labels = {names.MULTIKUEUE_ORIGIN_LABEL: origin} if origin else {"app": "train"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": "ns", "uid": f"job-{origin}", "labels": labels},
        "spec": {"suspend": suspend, "parallelism": 3, "managedBy": managed_by, "template": {"spec": {}}},
        "status": status,
    }


def group(
    local: Document,
    remotes: dict[str, Remote | datetime] | None = None,
    *,
    local_job: Document | None = None,
    policy: SyncPolicy = POLICY,
    **more: Any,
) -> RemoteGroup:
    """``remotes`` in configuration order; a time stands for a cluster out of contact since then."""
    sight = Sight.of(local)
    remotes = {"w1": Remote(), "w2": Remote()} if remotes is None else remotes
    states = sight.view.status.admission_checks or ()
    return RemoteGroup(
        local=sight,
        policy=policy,
        checks=tuple(state for state in states if state.name == "mk"),
        owner=Owner(BATCH_JOB, "batch/v1, Kind=Job", Key("ns", "job"), "job-uid"),
        job=local_job or job(),
        connected={name: remote for name, remote in remotes.items() if isinstance(remote, Remote)},
        unavailable={name: since for name, since in remotes.items() if isinstance(since, datetime)},
        order=tuple(remotes),
        **more,
    )


def holding(document: Document, remote_job: Document | None = None) -> Remote:
    return Remote(Sight.of(document), remote_job)
