"""The store follows the server; handlers and indexes follow the store."""

import asyncio
import json
from typing import Any

import pytest

from tests.unit.kube.fake_server import FakeServer, until
from tests.unit.kube.running import running
from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import PODS
from worker_agent.kube.informer import Event, EventType, Informer, Keep, document

import msgspec  # isort: skip

pytestmark = pytest.mark.looptime


def informer(server: FakeServer, **options: Any) -> tuple[Informer[Any], list[tuple[str, str]]]:
    follower: Informer[Any] = Informer(server.client(), PODS, document, namespace="ns", **options)
    told: list[tuple[str, str]] = []
    follower.add_handler(lambda event: told.append((event.type, event.key.name)))
    return follower, told


async def test_lists_then_follows():
    server = FakeServer()
    server.put("a")
    follower, told = informer(server)
    async with running(follower):
        await follower.synced.wait()
        server.put("b")
        server.put("a", status={"phase": "Running"})
        server.remove("b")
        await until(lambda: len(told) == 4)
    assert told == [("Added", "a"), ("Added", "b"), ("Modified", "a"), ("Deleted", "b")]
    assert follower.get(Key("ns", "a"))["status"] == {"phase": "Running"}
    assert follower.get(Key("ns", "b")) is None


@pytest.mark.parametrize(
    ("verb", "initial_events"), [("watch_from_start", "given"), ("list", "refused"), ("watch", "refused")]
)
async def test_what_was_cancelled_under_a_request_ends_no_watch(verb: str, initial_events: str):
    """Closing a session cancels what waits for its connections."""
    server = FakeServer()
    server.initial_events = initial_events
    follower, told = informer(server)
    client = follower._reflector._client
    whole = getattr(client, verb)

    def cancelled(*args: Any, **options: Any) -> Any:
        setattr(client, verb, whole)
        raise asyncio.CancelledError

    setattr(client, verb, cancelled)
    async with running(follower):
        await follower.synced.wait()
        server.put("a")
        await until(lambda: told == [("Added", "a")])


async def test_events_carry_old_and_new():
    server = FakeServer()
    server.put("a", n=1)
    follower, _ = informer(server)
    events: list[Event[Any]] = []
    follower.add_handler(events.append)
    async with running(follower):
        await follower.synced.wait()
        server.put("a", n=2)
        server.remove("a")
        await until(lambda: len(events) == 3)
    assert [(event.old and event.old["n"], event.new and event.new["n"]) for event in events] == [
        (None, 1),
        (1, 2),
        (2, None),
    ]


async def test_changes_during_a_cut_are_caught_up_without_a_list():
    server = FakeServer()
    follower, told = informer(server)
    async with running(follower):
        await until(lambda: server.streams == 1)
        server.put("z")
        await until(lambda: len(told) == 1)
        server.cut()
        server.put("a")
        await until(lambda: len(told) == 2)
    starts = [request for request in server.requests if ("sendInitialEvents", "true") in request.query]
    assert (len(starts), len(server.requests)) == (1, 2)


async def test_after_compaction_the_difference_is_told():
    server = FakeServer()
    server.put("a"), server.put("gone")
    follower, told = informer(server)
    async with running(follower):
        await until(lambda: server.streams == 1)
        server.cut()
        server.remove("gone")
        server.put("new")
        server.compact()
        await until(lambda: len(told) == 4)
    assert told[2:] == [("Added", "new"), ("Deleted", "gone")]


async def test_an_object_made_anew_is_told_as_deleted_and_added():
    server = FakeServer()
    server.put("a")
    follower, told = informer(server)
    async with running(follower):
        await until(lambda: server.streams == 1)
        server.cut()
        server.remove("a")
        server.put("a")
        server.compact()
        await until(lambda: len(told) == 3)
    assert told == [("Added", "a"), ("Deleted", "a"), ("Added", "a")]


async def test_a_late_handler_sees_what_is_there():
    server = FakeServer()
    server.put("a")
    follower, _ = informer(server)
    async with running(follower):
        await follower.synced.wait()
        seen: list[Event[Any]] = []
        follower.add_handler(seen.append)
    assert [(event.type, event.key) for event in seen] == [(EventType.ADDED, Key("ns", "a"))]


async def test_a_failing_handler_does_not_stop_the_others(caplog: pytest.LogCaptureFixture):
    server = FakeServer()
    server.put("a")
    follower: Informer[Any] = Informer(server.client(), PODS, document, namespace="ns")
    follower.add_handler(lambda event: 1 / 0)
    seen: list[Event[Any]] = []
    follower.add_handler(seen.append)
    async with running(follower):
        await follower.synced.wait()
    assert len(seen) == 1
    assert "a handler failed" in caplog.text


async def test_indexes_follow_changes():
    server = FakeServer()
    server.put("a", spec={"nodeName": "n1"})
    follower, told = informer(server)
    follower.add_index("node", lambda pod: [pod["spec"]["nodeName"]])
    async with running(follower):
        await follower.synced.wait()
        assert [pod["metadata"]["name"] for pod in follower.by_index("node", "n1")] == ["a"]
        server.put("a", spec={"nodeName": "n2"})
        server.put("b", spec={"nodeName": "n2"})
        await until(lambda: len(told) == 3)
        assert follower.by_index("node", "n1") == []
        assert len(follower.by_index("node", "n2")) == 2
        server.remove("a")
        await until(lambda: len(told) == 4)
        assert [pod["metadata"]["name"] for pod in follower.by_index("node", "n2")] == ["b"]


@pytest.mark.parametrize("keep", list(Keep))
async def test_every_way_of_keeping_answers_the_same(keep: Keep):
    server = FakeServer()
    server.put("a", n=1)
    follower, told = informer(server, keep=keep)
    async with running(follower):
        await follower.synced.wait()
        server.put("a", n=2)
        await until(lambda: len(told) == 2)
    assert follower.get(Key("ns", "a"))["n"] == 2
    assert [item["n"] for item in follower.values()] == [2]


async def test_raw_is_what_the_server_sent():
    server = FakeServer()
    server.put("a", n=1)
    follower, _ = informer(server)
    async with running(follower):
        await follower.synced.wait()
    assert json.loads(follower.raw(Key("ns", "a")))["n"] == 1


async def test_raw_bytes_can_be_left_out():
    server = FakeServer()
    server.put("a")
    follower, _ = informer(server, keep=Keep.DECODED)
    async with running(follower):
        await follower.synced.wait()
    with pytest.raises(ValueError, match="keeps decoded objects only"):
        follower.raw(Key("ns", "a"))


async def test_an_unreadable_object_is_left_as_it_was_known(caplog: pytest.LogCaptureFixture):
    server = FakeServer()
    server.put("a", status={"phase": "Running"})
    decode = msgspec.json.Decoder(Pod).decode
    follower: Informer[Pod] = Informer(server.client(), PODS, decode, namespace="ns")
    async with running(follower):
        await follower.synced.wait()
        server.put("a", status={"phase": 7})
        await until(lambda: follower.undecodable == 1)
    pod = follower.get(Key("ns", "a"))
    assert pod is not None
    assert pod.status.phase == "Running"
    assert "Pod ns/a: cannot be read" in caplog.text


async def test_health_is_told_when_it_changes():
    server = FakeServer()
    follower, _ = informer(server)
    told: list[str] = []
    follower.add_health_handler(lambda error: told.append(str(error)))
    async with running(follower):
        await until(lambda: server.streams == 1)

        def down(request: object) -> None:
            raise ConnectionError("down")

        server.intercept = down
        server.cut()
        await until(lambda: len(told) == 2)
        server.intercept = lambda request: None
        await until(lambda: len(told) == 3)
    assert told == ["None", "down", "None"]
    assert follower.last_error is None


def test_documents_come_without_managed_fields():
    assert document(b'{"metadata":{"name":"a","managedFields":[{}]},"x":1}') == {"metadata": {"name": "a"}, "x": 1}


def test_an_object_that_is_read_again_as_it_was_is_decoded_once():
    raw = b'{"metadata":{"name":"a","managedFields":[{"manager":"m"}]}}'
    first = document(raw)
    assert first == {"metadata": {"name": "a"}}
    assert document(bytes(bytearray(raw))) is first
