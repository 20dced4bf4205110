"""Watches that begin with the objects there are: when they are all there, and what a server that sends none costs."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.kube.fake_server import FakeServer, answer, clock, status, until
from tests.unit.kube.running import running
from tests.unit.kube.test_watch import error_line, line
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import PODS
from worker_agent.kube import errors
from worker_agent.kube.budget import RateBudget
from worker_agent.kube.client import Client
from worker_agent.kube.informer import Informer, document
from worker_agent.kube.initial_events import InitialEvents, NoInitialEvents, Support, Unfinished
from worker_agent.kube.transport import Request, Response

pytestmark = pytest.mark.looptime


def end(version: int, **annotations: str) -> bytes:
    meta = {"resourceVersion": str(version), "annotations": annotations or {"k8s.io/initial-events-end": "true"}}
    return json.dumps({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": meta}}).encode()


def names(items: list[bytes]) -> list[str]:
    return [json.loads(item)["metadata"]["name"] for item in items]


def informer(client: Client) -> tuple[Informer[Document], list[tuple[str, str]]]:
    follower: Informer[Document] = Informer(client, PODS, document, namespace="ns")
    told: list[tuple[str, str]] = []
    follower.add_handler(lambda event: told.append((event.type, event.key.name)))
    return follower, told


def kinds(server: FakeServer) -> list[str]:
    """What was asked for, request by request."""
    asked = [dict(request.query) for request in server.requests]
    return ["start" if "sendInitialEvents" in query else "watch" if "watch" in query else "list" for query in asked]


# The collector, and what is known of a server.


def test_objects_are_whole_at_the_bookmark_and_what_follows_it_is_kept():
    initial = InitialEvents()
    assert initial.take([line("ADDED", "a", 3), line("ADDED", "b", 1)]) is None
    later = line("MODIFIED", "a", 11)
    whole = initial.take([end(10), later])
    assert whole is not None
    page, rest = whole
    assert (names(page.items), page.resource_version, rest) == (["a", "b"], "10", [later])


def test_changes_before_the_bookmark_count():
    initial = InitialEvents()
    initial.take([line("ADDED", "a", 3), line("ADDED", "b", 4), line("MODIFIED", "a", 7, n=2)])
    whole = initial.take([line("DELETED", "b", 8), line("ADDED", "c", 9), end(9)])
    assert whole is not None
    assert [(item["metadata"]["name"], item.get("n")) for item in map(json.loads, whole[0].items)] == [
        ("a", 2),
        ("c", None),
    ]


@pytest.mark.parametrize("bookmark", [line("BOOKMARK", "", 9), end(9, other="true")])
def test_another_bookmark_ends_nothing(bookmark: bytes):
    assert InitialEvents().take([line("ADDED", "a", 3), bookmark]) is None


@pytest.mark.parametrize("junk", [b"no", b'{"type":"NEW","object":{}}', b'{"type":"BOOKMARK","object":[]}'])
def test_junk_ends_the_stream(junk: bytes):
    with pytest.raises(errors.MalformedAnswer):
        InitialEvents().take([junk])


def test_an_error_event_is_raised():
    with pytest.raises(errors.Gone):
        InitialEvents().take([error_line(410, "Expired")])


def test_many_objects_may_take_as_long_as_the_pages_of_their_list():
    initial = InitialEvents()
    assert initial.seconds(10.0) == 10.0
    initial.take([line("ADDED", f"p{number}", number) for number in range(1000)])
    assert initial.seconds(10.0) == 30.0


@pytest.mark.parametrize("error", [errors.Invalid(422), errors.BadRequest(400), Unfinished("silent")])
def test_a_server_that_refuses_or_never_ends_them_has_none(error: Exception):
    support = Support()
    assert support.failed(error)
    assert support.refused


@pytest.mark.parametrize("error", [ConnectionError("cut"), errors.ServerError(500), errors.NotFound(404)])
def test_other_failures_say_nothing_of_them(error: Exception):
    support = Support()
    assert not support.failed(error)
    assert support.known is None


def test_silence_of_a_server_that_has_sent_them_is_silence():
    support = Support()
    assert support.silence(30.0) == 5.0
    support.given()
    assert support.silence(30.0) == 30.0
    assert not support.failed(Unfinished("silent"))
    assert support.failed(errors.Invalid(422))  # it was replaced by an older one


# The client and the informer.


async def test_one_request_lists_and_follows():
    server = FakeServer()
    server.put("a")
    follower, told = informer(server.client())
    async with running(follower):
        await follower.synced.wait()
        server.put("b")
        await until(lambda: len(told) == 2)
    assert told == [("Added", "a"), ("Added", "b")]
    assert kinds(server) == ["start"]
    query = dict(server.requests[0].query)
    assert (query["resourceVersionMatch"], query["allowWatchBookmarks"]) == ("NotOlderThan", "true")
    assert "resourceVersion" not in query


async def test_a_refusal_costs_a_client_one_request():
    server = FakeServer()
    server.initial_events = "refused"
    server.put("a")
    client = server.client()
    followers = [informer(client)[0] for _ in range(4)]
    async with running(*followers):
        await until(lambda: server.streams == 4)
        assert all(Key("ns", "a") in follower for follower in followers)
    assert sorted(kinds(server)) == ["list"] * 4 + ["start"] + ["watch"] * 4
    assert kinds(server)[0] == "start"


async def test_others_ask_when_the_first_was_given_up():
    """Nobody waits for an answer that will not come."""
    server = FakeServer()
    client = server.client()

    held = asyncio.get_running_loop().create_future()

    async def hangs(request: Request) -> Response:
        await held
        raise AssertionError

    client.transport = type("Hanging", (), {"request": staticmethod(hangs)})()
    first = asyncio.create_task(client.watch_from_start(PODS, "ns"))
    await asyncio.sleep(0)
    second = asyncio.create_task(client.watch_from_start(PODS, "ns"))
    await asyncio.sleep(0)
    client.transport = server
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    _, stream = await second
    await stream.aclose()


async def test_a_server_that_passes_over_the_parameter_is_listed():
    server = FakeServer(bookmark_seconds=1.0)
    server.initial_events = "ignored"
    server.put("a")
    client = server.client()
    follower, told = informer(client)
    async with running(follower):
        await follower.synced.wait()
        assert asyncio.get_running_loop().time() == pytest.approx(5.0, abs=1.5)
        await until(lambda: server.streams == 1)
    assert told == [("Added", "a")]
    assert kinds(server) == ["start", "list", "watch"]
    with pytest.raises(NoInitialEvents):
        await client.watch_from_start(PODS, "ns")
    assert len(server.requests) == 3


def breaking_off(server: FakeServer, *pieces: bytes) -> Any:
    """Answers the next watch with these pieces and an end that is none."""

    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece + b"\n"
        raise ConnectionError("cut")

    def intercept(request: Request) -> Response:
        server.intercept = lambda request: None
        return Response(200, {}, stream())

    return intercept


async def test_a_stream_cut_before_its_bookmark_begins_again_and_shows_nothing():
    server = FakeServer()
    server.put("a")
    server.intercept = breaking_off(server, line("ADDED", "ghost", 5))
    follower, told = informer(server.client())
    health: list[object] = []
    follower.add_health_handler(health.append)
    async with running(follower):
        await follower.synced.wait()
    assert told == [("Added", "a")]
    assert kinds(server) == ["start", "start"]
    assert health == [None]
    assert asyncio.get_running_loop().time() >= 0.05


async def test_an_informer_stays_as_it_was_until_everything_has_come_again():
    server = FakeServer()
    server.put("a"), server.put("gone")
    follower, told = informer(server.client())
    async with running(follower):
        await until(lambda: server.streams == 1)
        server.intercept = breaking_off(server, line("ADDED", "ghost", 5))
        server.cut()
        server.remove("gone")
        server.compact()
        async with contextlib.aclosing(_states(follower)) as states:
            seen = [keys async for keys in states]
    assert seen[0] == ["a", "gone"]
    assert seen[-1] == ["a"]
    assert ("Added", "ghost") not in told


async def _states(follower: Informer[Document]) -> AsyncIterator[list[str]]:
    while True:
        known = follower.keys()
        keys = [key.name for key in known]
        yield keys
        if "gone" not in keys:
            return
        await asyncio.sleep(0.01)


async def test_gone_later_lists_again_in_one_stream():
    server = FakeServer()
    server.put("a")
    follower, told = informer(server.client())
    async with running(follower):
        await until(lambda: server.streams == 1)
        server.cut()
        server.put("b")
        server.compact()
        await until(lambda: len(told) == 2)
    assert told == [("Added", "a"), ("Added", "b")]
    assert kinds(server) == ["start", "watch", "start"]


async def test_a_kind_whose_cache_is_not_filled_yet_is_listed_and_nobody_else_held_back():
    """Kubernetes 1.36, of a definition just created: 429, retry after a second."""
    server = FakeServer()

    def filling(request: Request) -> Response | None:
        if ("sendInitialEvents", "true") not in request.query:
            return None
        return answer(429, status(429, "TooManyRequests", "storage is (re)initializing", retryAfterSeconds=1))

    server.intercept = filling
    budget = RateBudget(clock())
    client = server.client(budget=budget)
    follower, _ = informer(client)
    async with running(follower):
        await follower.synced.wait()
        await until(lambda: server.streams == 1)
        assert asyncio.get_running_loop().time() < 0.1
        assert budget.rate == 300.0
        server.intercept = lambda request: None
        server.cut()
        server.put("a")
        server.compact()
        await until(lambda: Key("ns", "a") in follower)
    assert kinds(server)[:3] == ["start", "list", "watch"]
    assert kinds(server)[-1] == "start"


async def test_who_may_not_watch_is_told_what_may_not_be_listed():
    server = FakeServer()

    def forbids(request: Request) -> Response:
        verb = "watch" if ("watch", "true") in request.query else "list"
        return answer(403, status(403, "Forbidden", f"may not {verb}"))

    server.intercept = forbids
    follower, _ = informer(server.client())
    async with running(follower):
        await until(lambda: follower.last_error is not None)
        assert str(follower.last_error) == "may not list"
        server.intercept = lambda request: None
        await follower.synced.wait()


async def test_a_kind_that_is_not_served_is_told_at_once():
    server = FakeServer()
    server.intercept = lambda request: answer(404, b"404 page not found\n")
    follower, _ = informer(server.client())
    async with running(follower):
        await until(lambda: isinstance(follower.last_error, errors.NotFound))
        assert asyncio.get_running_loop().time() < 0.1


async def test_a_stream_may_be_silent_for_longer_once_everything_has_come():
    server = FakeServer(bookmark_seconds=100.0)
    follower, _ = informer(server.client(timeout=10.0))
    async with running(follower):
        await follower.synced.wait()
        await asyncio.sleep(250)
    assert kinds(server) == ["start"]


async def test_a_stream_whose_bookmark_came_is_given_up_when_silent():
    server = FakeServer(bookmark_seconds=1e6)
    _, stream = await server.client().watch_from_start(PODS, "ns", silence=7.0)
    with pytest.raises(errors.ServerSilent, match="silent for 7 s"):
        await anext(stream)
    await stream.aclose()
    assert server.streams == 0
