"""What a collection of orphans deletes on a worker, and what it leaves alone."""

from hub.engine import orphans, sync_owner
from hub.engine.orphans import Holdings
from tests.unit.hub.groups import BATCH_JOB, ORIGIN, copy, job
from worker_agent.api import names
from worker_agent.api.resource_type import JOBS, WORKLOADS

KINDS = sync_owner.table([BATCH_JOB])
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "u", "controller": True}


def owned(document):
    document["metadata"]["ownerReferences"] = [OWNER]
    return document


def collect(*workloads, remote_job=None, jobs=(), lives=()):
    holdings = Holdings("w1", workloads, lambda kind, key: remote_job, jobs)
    found = orphans.collect(holdings, ORIGIN, lambda key: key.name in lives, KINDS)
    return [(write.resource, write.key.name) for write in (*found.jobs, *found.workloads)]


def test_an_orphan_goes_with_its_job():
    found = collect(owned(copy()), remote_job=job(origin=ORIGIN))
    assert found == [(JOBS, "job"), (WORKLOADS, "wl")]


def test_a_workload_that_lives_on_the_manager_stays():
    assert collect(copy(), lives=["wl"]) == []


def test_a_workload_of_another_manager_stays():
    assert collect(copy(origin="somebody")) == []


def test_a_foreign_job_stays_though_its_workload_goes():
    assert collect(owned(copy()), remote_job=job(origin="somebody")) == [(WORKLOADS, "wl")]


def test_a_job_whose_workload_is_gone_on_both_sides_goes():
    lost = job(origin=ORIGIN)
    lost["metadata"]["annotations"] = {names.PREBUILT_WORKLOAD: "wl"}
    assert collect(jobs=[(BATCH_JOB, lost)]) == [(JOBS, "job")]
    assert collect(jobs=[(BATCH_JOB, lost)], lives=["wl"]) == []
