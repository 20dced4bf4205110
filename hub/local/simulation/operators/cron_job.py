"""batch/v1 CronJob, as the controller manager runs it: a Job whenever the schedule is due."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hub.local.apiserver.schema.cron_schedule import ScheduleError
from hub.local.simulation import cron_times
from hub.local.simulation.operators.plan import Children, Kind, Plan, child, is_finished
from worker_agent.api.document import Document, at, get
from worker_agent.api.resource_type import CRON_JOBS, JOBS
from worker_agent.api.timestamps import parse, rfc3339

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MOST_MISSED: Final = 100
"""Of more missed times than these only the last hour is looked at."""


def decide(cron_job: Document, children: Children, now: datetime) -> Plan:
    jobs = children[JOBS]
    active = [each for each in jobs if not is_finished(each, "Complete", "Failed")]
    delete = [(JOBS, each) for each in _outlived(cron_job, jobs)]
    status = _status(cron_job, jobs, active)
    if get(cron_job, "spec.suspend", False):
        return Plan(delete=delete, status=status)
    try:
        due, coming = _times(cron_job, now)
    except (ScheduleError, ZoneInfoNotFoundError):
        return Plan(delete=delete, status=status)
    left = None if coming is None else max(0.1, (coming - now).total_seconds())
    policy = get(cron_job, "spec.concurrencyPolicy", "Allow")
    if due is None or (policy == "Forbid" and active):
        return Plan(delete=delete, status=status, look_again=left)
    if policy == "Replace":
        delete += [(JOBS, each) for each in active]
    made = _job(cron_job, due)
    status = {**status, "lastScheduleTime": rfc3339(due), "active": [*status.get("active", []), _reference(made)]}
    return Plan(create=[(JOBS, made)], delete=delete, status=status, look_again=left)


def _times(cron_job: Document, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The last time that is due and not served, and the first that is to come."""
    schedule = get(cron_job, "spec.schedule", "")
    zone = ZoneInfo(get(cron_job, "spec.timeZone", "UTC"))
    since = parse(get(cron_job, "status.lastScheduleTime") or cron_job["metadata"]["creationTimestamp"])
    deadline = get(cron_job, "spec.startingDeadlineSeconds")
    if deadline is not None:
        since = max(since, now - timedelta(seconds=deadline))
    due, count = None, 0
    coming = cron_times.next_after(schedule, since.astimezone(zone))
    while coming is not None and coming <= now:
        due, count = coming, count + 1
        if count == MOST_MISSED:
            coming = max(coming, (now - timedelta(hours=1)).astimezone(zone))
        coming = cron_times.next_after(schedule, coming)
    return (None if due is None else due.astimezone(UTC)), coming


def _job(cron_job: Document, due: datetime) -> Document:
    metadata = get(cron_job, "spec.jobTemplate.metadata", {})
    annotations = {**(metadata.get("annotations") or {}), SCHEDULED: rfc3339(due)}
    name = f"{cron_job['metadata']['name']}-{int(due.timestamp()) // 60}"
    spec = get(cron_job, "spec.jobTemplate.spec", {})
    labels = dict(metadata.get("labels") or {})
    return child(cron_job, JOBS, name, labels=labels, annotations=annotations, spec=spec)


def _outlived(cron_job: Document, jobs: Sequence[Document]) -> list[Document]:
    """Ended Jobs beyond the history that is kept, the oldest first."""
    found: list[Document] = []
    for condition, field, default in (
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ):
        ended = [each for each in jobs if is_finished(each, condition)]
        ended.sort(key=lambda each: str(get(each, "status.startTime", "")))
        found += ended[: max(0, len(ended) - get(cron_job, f"spec.{field}", default))]
    return [each for each in found if not each["metadata"].get("deletionTimestamp")]


def _status(cron_job: Document, jobs: Sequence[Document], active: Sequence[Document]) -> Document:
    status = {name: value for name, value in (cron_job.get("status") or {}).items() if name != "active"}
    times = [get(each, "status.completionTime", "") for each in jobs if is_finished(each, "Complete")]
    if latest := max(times, default=""):
        status["lastSuccessfulTime"] = max(latest, str(status.get("lastSuccessfulTime", "")))
    return {**status, "active": [_reference(each) for each in active]} if active else status


def _reference(job: Document) -> Document:
    metadata = job["metadata"]
    found = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": metadata["name"]}
    found["namespace"] = metadata["namespace"]
    return {**found, "uid": metadata["uid"]} if at(metadata, ("uid",)) else found


OPERATORS: Final[tuple[Kind, ...]] = (Kind(CRON_JOBS, (JOBS,), decide),)
