"""CronJobs: when they are due, and what their controller makes then."""

from datetime import UTC, datetime, timedelta

import pytest

from hub.local.simulation import cron_times
from hub.local.simulation.operators import cron_job
from worker_agent.api.resource_type import JOBS
from worker_agent.api.timestamps import rfc3339

START = datetime(2026, 1, 1, 10, 0, 30, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("schedule", "due"),
    [
        ("* * * * *", "2026-01-01T10:01:00Z"),
        ("*/15 * * * *", "2026-01-01T10:15:00Z"),
        ("0 9 * * *", "2026-01-02T09:00:00Z"),
        ("30 8-18/2 * * mon-fri", "2026-01-01T10:30:00Z"),
        ("0 0 * * sun", "2026-01-04T00:00:00Z"),
        ("0 0 13 * fri", "2026-01-02T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
        ("@daily", "2026-01-02T00:00:00Z"),
        ("@every 1h30m", "2026-01-01T11:30:30Z"),
    ],
)
def test_next_time_of_a_schedule(schedule, due):
    assert rfc3339(cron_times.next_after(schedule, START)) == due


def test_a_day_that_never_comes():
    assert cron_times.next_after("0 0 30 2 *", START) is None


def cron(now=START, status=None, **spec):
    metadata = {"name": "nightly", "namespace": "ns", "uid": "u", "creationTimestamp": rfc3339(START)}
    template = {"metadata": {"labels": {"queue": "q"}}, "spec": {"parallelism": 2}}
    spec = {"schedule": "* * * * *", "jobTemplate": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec, "status": status or {}}


def job(name, *conditions, at=START):
    told = [{"type": type_, "status": "True"} for type_ in conditions]
    status = {"conditions": told, "startTime": rfc3339(at), "completionTime": rfc3339(at)}
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "status": status}


def decide(owner, *jobs, after=60.0):
    return cron_job.decide(owner, {JOBS: jobs}, START + timedelta(seconds=after))


def made(plan):
    return [document["metadata"]["name"] for _, document in plan.create]


def test_job_is_made_of_the_template_when_it_is_due():
    plan = decide(cron())
    ((_, document),) = plan.create
    assert document["metadata"]["labels"] == {"queue": "q"}
    assert document["metadata"]["annotations"][cron_job.SCHEDULED] == "2026-01-01T10:01:00Z"
    assert document["spec"] == {"parallelism": 2}
    assert plan.status["lastScheduleTime"] == "2026-01-01T10:01:00Z"


def test_nothing_is_made_before_it_is_due():
    plan = decide(cron(), after=10.0)
    assert (made(plan), plan.look_again) == ([], 20.0)


def test_a_time_that_was_served_is_not_served_again():
    assert made(decide(cron(status={"lastScheduleTime": "2026-01-01T10:01:00Z"}))) == []


def test_of_missed_times_the_last_one_counts():
    assert len(made(decide(cron(), after=7200.0))) == 1


def test_too_late_is_not_served():
    assert made(decide(cron(schedule="0 * * * *", startingDeadlineSeconds=10), after=3700.0)) == []


def test_suspended_makes_nothing():
    assert made(decide(cron(suspend=True))) == []


def test_forbidden_beside_one_that_runs():
    assert made(decide(cron(concurrencyPolicy="Forbid"), job("running"))) == []


def test_replaces_the_one_that_runs():
    plan = decide(cron(concurrencyPolicy="Replace"), job("running"))
    assert [each["metadata"]["name"] for _, each in plan.delete] == ["running"]
    assert len(made(plan)) == 1


def test_oldest_ended_jobs_are_forgotten():
    ended = [job(f"j{n}", "Complete", at=START + timedelta(minutes=n)) for n in range(5)]
    plan = decide(cron(suspend=True), *ended, job("bad", "Failed"))
    assert [each["metadata"]["name"] for _, each in plan.delete] == ["j0", "j1"]
    assert plan.status["lastSuccessfulTime"] == rfc3339(START + timedelta(minutes=4))


def test_time_zone_counts():
    owner = cron(schedule="0 12 * * *", timeZone="Europe/Berlin")
    assert len(made(decide(owner, after=3600.0))) == 1
