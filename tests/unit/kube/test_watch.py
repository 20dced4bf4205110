"""The list-then-watch machine, step by step, without a socket."""

import json
from typing import Any

import pytest

from worker_agent.kube import errors
from worker_agent.kube.watch import Change, ListAll, ListWatch, OpenWatch, StreamAll


def line(change: str, name: str = "p", version: int = 1, **fields: Any) -> bytes:
    meta = {"name": name, "namespace": "ns", "uid": f"u-{name}", "resourceVersion": str(version)}
    return json.dumps({"type": change, "object": {"metadata": meta} | fields}).encode()


def error_line(code: int, reason: str) -> bytes:
    return json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason}}).encode()


def watching(version: str = "10") -> ListWatch:
    machine = ListWatch()
    machine.listed(version)
    machine.opened(0.0)
    return machine


def test_starts_with_everything_in_one_watch_then_watches_from_there():
    machine = ListWatch()
    assert machine.step == StreamAll(0.0)
    machine.listed("10")
    assert machine.step == OpenWatch("10", 0.0)


def test_where_no_watch_begins_with_everything_it_is_listed_now_and_later():
    machine = ListWatch()
    machine.not_streamed()
    assert machine.step == ListAll(0.0)
    machine.listed("10")
    machine.open_failed(errors.Gone(410))
    assert isinstance(machine.step, ListAll)


def test_a_watch_that_was_turned_away_is_tried_again_after_one_list():
    machine = ListWatch()
    machine.not_streamed(for_good=False)
    assert machine.step == ListAll(0.0)
    machine.list_failed(errors.ServerError(500))
    assert isinstance(machine.step, StreamAll)
    machine.not_streamed(for_good=False)
    machine.listed("10")
    machine.open_failed(errors.Gone(410))
    assert isinstance(machine.step, StreamAll)


def test_starts_with_a_list_then_watches_from_it():
    machine = ListWatch()
    machine.not_streamed()
    assert machine.step == ListAll(0.0)
    machine.listed("10")
    assert machine.step == OpenWatch("10", 0.0)


def test_an_event_carries_identity_and_bytes():
    event = watching().received(line("ADDED", "p", 11))
    assert event is not None
    assert (event.change, event.head.metadata.name, event.head.metadata.resource_version) == (Change.ADDED, "p", "11")
    assert json.loads(event.raw)["metadata"]["uid"] == "u-p"


def test_resumes_from_the_last_event():
    machine = watching()
    machine.received(line("MODIFIED", "p", 15))
    machine.ended(ConnectionError("cut"), 0.1)
    assert machine.step == OpenWatch("15", 0.0)


def test_bookmarks_move_the_resumption_point_and_are_not_handed_out():
    machine = watching()
    assert machine.received(line("BOOKMARK", "", 40)) is None
    assert machine.resource_version == "40"


@pytest.mark.parametrize("change", ["ADDED", "MODIFIED"])
def test_old_news_is_dropped(change: str):
    machine = watching("20")
    assert machine.received(line(change, "p", 20)) is None
    assert machine.received(line(change, "p", 19)) is None
    assert machine.resource_version == "20"


def test_a_deletion_with_an_old_version_is_handed_out():
    machine = watching("20")
    event = machine.received(line("DELETED", "p", 12))
    assert event is not None
    assert machine.resource_version == "20"


def test_versions_that_are_not_numbers_are_taken_as_they_come():
    machine = watching("abc")
    raw = json.dumps({"type": "ADDED", "object": {"metadata": {"name": "p", "resourceVersion": "xyz"}}}).encode()
    assert machine.received(raw) is not None
    assert machine.resource_version == "xyz"


@pytest.mark.parametrize(("code", "reason"), [(410, "Expired"), (410, "Gone"), (500, "Expired")])
def test_gone_leads_to_everything_anew(code: int, reason: str):
    machine = watching()
    with pytest.raises(errors.Gone) as caught:
        machine.received(error_line(code, reason))
    machine.ended(caught.value, 0.0)
    assert isinstance(machine.step, StreamAll)


def test_another_error_event_resumes_after_a_while():
    machine = watching()
    with pytest.raises(errors.ServerError) as caught:
        machine.received(error_line(500, "InternalError"))
    machine.ended(caught.value, 0.0)
    assert machine.step == OpenWatch("10", 0.2)


@pytest.mark.parametrize(
    "junk",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":7}',
        b'{"type":"NEW","object":{}}',
        b'{"type":"ADDED","object":{"metadata":{}}}',
        b'{"type":"BOOKMARK","object":[]}',
    ],
)
def test_junk_ends_the_stream(junk: bytes):
    with pytest.raises(errors.MalformedAnswer):
        watching().received(junk)


def test_streams_that_bring_nothing_back_off_then_begin_anew():
    machine = watching()
    delays = []
    for _ in range(4):
        machine.opened(0.0)
        machine.ended(None, 0.1)
        delays.append(machine.step.delay)
    assert delays == [0.2, 0.4, 0.8, 1.6]
    assert isinstance(machine.step, StreamAll)


@pytest.mark.parametrize(
    ("error", "longest"),
    [(ConnectionError("refused"), 3.0), (errors.ServerSilent("slow"), 30.0), (errors.Forbidden(403, "", ""), 30.0)],
)
def test_a_server_that_is_not_there_is_soon_looked_for_again(error: Exception, longest: float):
    machine = ListWatch()
    for _ in range(20):
        machine.list_failed(error)
    assert machine.step == StreamAll(longest)


def test_a_list_does_not_forgive_failing_streams():
    machine = watching()
    for _ in range(4):
        machine.ended(ConnectionError("cut"), 0.0)
    machine.listed("50")
    assert machine.step == OpenWatch("50", 1.6)
    machine.opened(0.0)
    machine.received(line("ADDED", "p", 51))
    machine.ended(None, 0.0)
    assert machine.step == OpenWatch("51", 0.0)


def test_a_quiet_stream_that_ran_its_time_is_healthy():
    machine = watching()
    machine.ended(None, 300.0)
    assert machine.step == OpenWatch("10", 0.0)


def test_delays_have_a_limit():
    machine = ListWatch()
    for _ in range(50):
        machine.list_failed(errors.ServerSilent("down"))
    assert machine.step == StreamAll(30.0)
    assert isinstance(machine.last_error, ConnectionError)
    machine.listed("1")
    assert machine.last_error is None
