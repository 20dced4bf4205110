"""What a watcher of the demo sees: one row per job, made from the manager's Job and Workload alone."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from worker_agent.api import document, names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.resource_type import JOBS
from worker_agent.jobs import KINDS

_ENDLESS: Final = frozenset({"ray.io/raycluster", "ray.io/rayservice"})
"""Kinds that are suspended themselves and yet serve until they are deleted."""


class Stage(StrEnum):
    """Where a job stands, in the order it goes through them."""

    QUEUED = "queued"
    DISPATCHING = "dispatching"
    RUNNING = "running"
    SERVING = "serving"
    """Runs until it is deleted, and is ready: as far as such a job gets."""
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Row:
    """One job. ``waited`` and ``ran`` are seconds, None while unknown; ``why`` says why that cluster."""

    job: str
    stage: Stage
    kind: str = "Job"
    cluster: str = ""
    waited: float | None = None
    ran: float | None = None
    why: str = ""


def row(job: Document, workload: Document | None) -> Row:
    """The row of ``job``; ``workload`` is the one it owns, if it has one yet."""
    kind = _kind_of(job)
    started = _time(job, "status.startTime") or _since(workload, names.ADMITTED)
    completed = _finish_time(kind, job) or (None if kind.serving else _since(workload, names.FINISHED))
    created = _time(job, "metadata.creationTimestamp")
    return Row(
        job=job["metadata"]["name"],
        stage=_stage(kind, job, workload),
        kind=kind.resource.kind,
        cluster=str(document.get(workload, "status.clusterName", "")),
        waited=_seconds(created, started),
        ran=_seconds(started, completed),
        why=reason(workload),
    )


def reason(workload: Document | None) -> str:
    """The hub's own words on why the Workload went where it is; every other candidate follows after a semicolon."""
    for condition in document.get(workload, "status.conditions", []):
        if condition["type"] == names.DISPATCHED:
            return str(condition.get("message", ""))
    return ""


def brief(why: str) -> str:
    """``why`` with each candidate's verdict and without its details: fit for a table."""
    return "; ".join(_brief(part) for part in re.split(r"; (?=[a-z0-9.-]+: )", why)) if why else ""


def _brief(part: str) -> str:
    cluster, _, told = part.partition(": ")
    verdict, *details = re.sub(r" for \d+ pods?\b.*", "", told).split(": ")
    if verdict == "impossible" and details:
        verdict += f" ({details[-1].split(', ')[0]})"
    return f"{cluster}: {verdict}"


def counts(rows: Iterable[Row]) -> Counter[Stage]:
    """How many jobs stand where."""
    return Counter(row.stage for row in rows)


def _stage(kind: JobKind, job: Document, workload: Document | None) -> Stage:
    finish = kind.finished(job)
    if finish is not None:
        return Stage.FINISHED if finish.success else Stage.FAILED
    ended = None if kind.serving else _end(workload)
    if ended is not None:
        return Stage.FINISHED if ended == names.SUCCEEDED else Stage.FAILED
    if document.get(workload, "status.clusterName"):
        return Stage.SERVING if _is_serving(kind, job, workload) else Stage.RUNNING
    return Stage.DISPATCHING if "QuotaReserved" in _true_conditions(workload) else Stage.QUEUED


def _end(workload: Document | None) -> str | None:
    """Why the Workload ended: of some kinds the job's own status does not tell."""
    told = (each for each in document.get(workload, "status.conditions", []) if each["type"] == names.FINISHED)
    return next((str(each.get("reason", "")) for each in told if each["status"] == "True"), None)


def _is_serving(kind: JobKind, job: Document, workload: Document | None) -> bool:
    if kind.serving:
        return names.ADMITTED in _true_conditions(workload)
    return kind.framework in _ENDLESS and kind.pods_ready(job)


def _kind_of(job: Document) -> JobKind:
    return next(kind for kind in KINDS.values() if kind.resource.kind == job.get("kind", JOBS.kind))


def _since(found: Document | None, type_: str) -> datetime | None:
    for condition in document.get(found, "status.conditions", []):
        if condition["type"] == type_ and condition["status"] == "True":
            since = condition.get("lastTransitionTime")
            return timestamps.parse(since) if since else None
    return None


def _true_conditions(found: Document | None) -> set[str]:
    return {
        condition["type"] for condition in document.get(found, "status.conditions", []) if condition["status"] == "True"
    }


def _finish_time(kind: JobKind, job: Document) -> datetime | None:
    for type_ in (kind.success_condition, kind.failure_condition):
        if found := _since(job, type_):
            return found
    if kind.finished(job) is None:
        return None
    return _time(job, "status.completionTime") or _time(job, "status.endTime")


def _time(found: Document, path: str) -> datetime | None:
    text = document.get(found, path)
    return timestamps.parse(text) if text else None


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()
