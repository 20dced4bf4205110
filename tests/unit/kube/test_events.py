"""Events for people: written once, repeats counted, never in the way."""

import asyncio
import json
from typing import Any

import pytest

from tests.unit.kube.fake_server import ScriptedTransport, answer, clock, status
from worker_agent.kube import events
from worker_agent.kube.client import Client
from worker_agent.kube.events import EventRecorder, ObjectReference

pytestmark = pytest.mark.looptime

JOB = ObjectReference("batch/v1", "Job", "ns", "train", "u1")


def recorder(*script: Any) -> tuple[EventRecorder, ScriptedTransport]:
    transport = ScriptedTransport(*(script or (lambda request: answer(201, {}),)))
    return EventRecorder(Client(transport, clock()), "fedhub.dev/agent", clock(), instance="pod-1"), transport


def bodies(transport: ScriptedTransport) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in transport.requests]


async def test_an_event_has_what_describe_shows():
    record, transport = recorder()
    record.record(JOB, "Normal", "Started", "it runs")
    await record.flush()
    event = bodies(transport)[0]
    assert transport.requests[0].path == "/apis/events.k8s.io/v1/namespaces/ns/events"
    assert event["regarding"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "namespace": "ns",
        "name": "train",
        "uid": "u1",
    }
    assert (event["type"], event["reason"], event["note"], event["action"]) == (
        "Normal",
        "Started",
        "it runs",
        "Started",
    )
    assert event["reportingController"] == "fedhub.dev/agent"
    assert event["reportingInstance"] == "pod-1"
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert "series" not in event


async def test_cluster_scoped_objects_report_into_default():
    record, transport = recorder()
    record.record(ObjectReference("v1", "Node", "", "n1"), "Warning", "Bad", "down")
    await record.flush()
    assert "/namespaces/default/" in transport.requests[0].path


async def test_repeats_before_writing_are_one_event_with_a_count():
    record, transport = recorder()
    for _ in range(3):
        record.record(JOB, "Normal", "Started", "it runs")
    await record.flush()
    assert bodies(transport)[0]["series"]["count"] == 3
    assert len(transport.requests) == 1


async def test_repeats_are_written_at_most_once_a_minute():
    record, transport = recorder()
    for _ in range(100):
        record.record(JOB, "Warning", "Pending", "no room")
        await record.flush()
        await asyncio.sleep(1)
    assert [request.method for request in transport.requests] == ["POST", "PATCH", "PATCH"]
    assert bodies(transport)[2]["series"]["count"] > 60


async def test_after_six_quiet_minutes_a_new_event_begins():
    record, transport = recorder()
    record.record(JOB, "Warning", "Pending", "no room")
    await record.flush()
    await asyncio.sleep(361)
    record.record(JOB, "Warning", "Pending", "no room")
    await record.flush()
    assert [request.method for request in transport.requests] == ["POST", "POST"]


async def test_another_message_is_another_event():
    record, transport = recorder()
    record.record(JOB, "Warning", "Pending", "short by 1")
    record.record(JOB, "Warning", "Pending", "short by 2")
    await record.flush()
    assert len({body["metadata"]["name"] for body in bodies(transport)}) == 2


async def written(*steps: tuple[str, float]) -> list[str]:
    """Reasons of what a recorder writes of steps about one job, each some seconds after the one before."""
    transport = ScriptedTransport(lambda request: answer(201, {}))
    record = EventRecorder(Client(transport, clock()), "c", clock(), supersedes={"Started": "CreatedWorkload"})
    task = asyncio.create_task(record.run())
    for reason, seconds in steps:
        await asyncio.sleep(seconds)
        record.record(JOB, "Normal", reason, "told")
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    told = [event["reason"] for event in bodies(transport)]
    await record.finish()
    return told


async def test_a_step_that_the_next_one_makes_superfluous_is_not_written():
    assert await written(("CreatedWorkload", 0), ("Started", 20)) == ["Started"]


async def test_a_step_that_stays_the_last_is_written_after_a_while():
    assert await written(("CreatedWorkload", 0), ("Other", 5)) == ["Other"]
    assert await written(("CreatedWorkload", 0), ("Started", 40)) == ["CreatedWorkload", "Started"]


async def test_what_is_kept_back_is_written_in_the_end():
    transport = ScriptedTransport(lambda request: answer(201, {}))
    record = EventRecorder(Client(transport, clock()), "c", clock(), supersedes={"Started": "CreatedWorkload"})
    record.record(JOB, "Normal", "CreatedWorkload", "told")
    await record.flush()
    assert not transport.requests
    await record.finish()
    assert [event["reason"] for event in bodies(transport)] == ["CreatedWorkload"]


def test_long_notes_are_cut_between_characters():
    note = events.shortened("ä" * 1000)
    assert len(note.encode()) <= 1024
    assert note.endswith("ä...")
    assert events.shortened("short") == "short"


async def test_a_refusing_server_costs_only_the_event():
    record, _ = recorder(lambda request: answer(403, status(403, "Forbidden")))
    record.record(JOB, "Normal", "Started", "it runs")
    await record.flush()
    assert record.dropped == 1


async def test_a_full_queue_drops_the_oldest():
    record, _ = recorder()
    for number in range(events.QUEUE_LIMIT + 5):
        record.record(JOB, "Normal", "Started", f"run {number}")
    assert record.dropped == 5


async def test_run_writes_in_the_background():
    record, transport = recorder()
    task = asyncio.create_task(record.run())
    record.record(JOB, "Normal", "Started", "it runs")
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len(transport.requests) == 1


async def test_the_last_count_of_a_series_is_written_in_the_end():
    record, transport = recorder()
    task = asyncio.create_task(record.run())
    for _ in range(5):
        record.record(JOB, "Warning", "Pending", "no room")
        await asyncio.sleep(1)
    await asyncio.sleep(120)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert bodies(transport)[-1]["series"]["count"] == 5
    assert len(transport.requests) == 3


def test_a_reference_is_read_from_a_document():
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "ns", "uid": "u1"}}
    assert ObjectReference.of(job) == JOB
