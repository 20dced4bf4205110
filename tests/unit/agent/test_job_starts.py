"""Starts at creation: what the webhook waits for has an end, well before the API server's patience has."""

import asyncio

import pytest

from tests.unit.jobs.builders import KIND, POLICY
from tests.unit.jobs.test_start_at_creation import ADMITTED, copy, sent
from worker_agent.api import names
from worker_agent.api.document import put
from worker_agent.app import job_starts
from worker_agent.controllers.fence import Fence
from worker_agent.engine.fencing import HubLease, Reading

LEASE = HubLease("hub", 1, duration=40.0, seen_at=0.0)


class Known:
    """The caches of an agent that knows one admitted copy."""

    def document(self, resource, key):
        return copy(*ADMITTED)

    def informer(self, resource):
        return self

    def values(self):
        return []


class Hanging:
    async def refusal(self, job):
        await asyncio.Event().wait()


async def test_a_lease_that_is_not_read_in_time_leaves_the_job_held(monkeypatch, caplog):
    monkeypatch.setattr(job_starts, "has_multikueue_check", lambda known, workload: False)
    job = put(sent(), ("metadata", "labels", names.PREBUILT_WORKLOAD), "job-train-0a1b2")
    start = job_starts.starter(Known(), Hanging(), POLICY, patience_seconds=0.01)
    assert await asyncio.wait_for(start(KIND, job), 20) is job
    assert "is created held: the hub's lease was not read within 0.01 s" in caplog.text


async def test_a_read_of_the_lease_that_was_given_up_serves_nobody(monkeypatch):
    fence = object.__new__(Fence)
    fence._turns, fence._reads_begun, fence._answered, fence._read, fence._found = {}, {}, {}, {}, {}
    under_way, answers = asyncio.Event(), []

    async def get(origin):
        if not answers:
            answers.append("never")
            under_way.set()
            await asyncio.Event().wait()
        answers.append("lease")
        return Reading(0.0, LEASE)

    monkeypatch.setattr(fence, "_get", get)
    first = asyncio.create_task(fence.read("hub"))
    await under_way.wait()
    second = asyncio.create_task(fence.read("hub"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await second == LEASE
    assert answers == ["never", "lease"]
