"""What a watcher of the demo sees: one row per job, made from the manager's Job and Workload alone."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from worker_agent.api import document, names, timestamps
from worker_agent.api.document import Document


class Stage(StrEnum):
    """Where a job stands, in the order it goes through them."""

    QUEUED = "queued"
    DISPATCHING = "dispatching"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Row:
    """One job. ``waited`` and ``ran`` are seconds, None while unknown; ``why`` says why that cluster."""

    job: str
    stage: Stage
    cluster: str = ""
    waited: float | None = None
    ran: float | None = None
    why: str = ""


def row(job: Document, workload: Document | None) -> Row:
    """The row of ``job``; ``workload`` is the one it owns, if it has one yet."""
    started, completed = _time(job, "status.startTime"), _finish_time(job)
    created = _time(job, "metadata.creationTimestamp")
    return Row(
        job=job["metadata"]["name"],
        stage=_stage(job, workload),
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
    verdict, *details = re.sub(r" for \d+ pods.*", "", told).split(": ")
    if verdict == "impossible" and details:
        verdict += f" ({details[-1].split(', ')[0]})"
    return f"{cluster}: {verdict}"


def counts(rows: Iterable[Row]) -> Counter[Stage]:
    """How many jobs stand where."""
    return Counter(row.stage for row in rows)


def _stage(job: Document, workload: Document | None) -> Stage:
    conditions = _true_conditions(job)
    if "Failed" in conditions:
        return Stage.FAILED
    if "Complete" in conditions:
        return Stage.FINISHED
    if document.get(workload, "status.clusterName"):
        return Stage.RUNNING
    return Stage.DISPATCHING if "QuotaReserved" in _true_conditions(workload) else Stage.QUEUED


def _true_conditions(found: Document | None) -> set[str]:
    return {
        condition["type"] for condition in document.get(found, "status.conditions", []) if condition["status"] == "True"
    }


def _finish_time(job: Document) -> datetime | None:
    for condition in document.get(job, "status.conditions", []):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return timestamps.parse(condition["lastTransitionTime"])
    return None


def _time(found: Document, path: str) -> datetime | None:
    text = document.get(found, path)
    return timestamps.parse(text) if text else None


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()
