"""Many exchanges on one connection: answers, flow control, ends of every kind."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.unit.tunnel.pipes import pair, sessions
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Response
from worker_agent.tunnel.answerer import LARGEST_BODY, Answerer
from worker_agent.tunnel.caller import NotSent
from worker_agent.tunnel.session import STREAM_WINDOW


class Server:
    """Answers with what the test says."""

    def __init__(self, answer: Callable[[Request], Awaitable[Response]]) -> None:
        self.seen: list[Request] = []
        self._answer = answer

    async def request(self, request: Request) -> Response:
        self.seen.append(request)
        return await self._answer(request)

    async def close(self) -> None: ...


async def body(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def echo(request: Request) -> Response:
    return Response(200, {"content-type": "application/json", "set-cookie": "a=b"}, body(request.body))


async def test_request_arrives_as_it_was_sent():
    server = Server(echo)
    sent = Request("PATCH", "/apis/g/v1/x%2fy", (("a", "b c&="), ("a", "")), {"Content-Type": "text/x"}, b"content")
    async with sessions(server) as (caller, _):
        answer = await caller.request(sent)
        assert (answer.status, await answer.read()) == (200, b"content")
    (seen,) = server.seen
    assert (seen.method, seen.path, seen.query, seen.body) == (sent.method, sent.path, sent.query, sent.body)
    assert seen.headers == {"content-type": "text/x"}


async def test_only_known_headers_leave_the_worker():
    async with sessions(Server(echo)) as (caller, _):
        answer = await caller.request(Request("GET", "/a"))
    assert answer.headers == {"content-type": "application/json"}


async def test_large_bodies_pass_in_both_directions():
    content = b"x" * (3 * STREAM_WINDOW)
    async with sessions(Server(echo)) as (caller, _):
        answers = await asyncio.gather(*(caller.request(Request("POST", "/a", body=content)) for _ in range(3)))
        assert [await answer.read() == content for answer in answers] == [True] * 3


async def test_an_answer_nobody_reads_holds_up_no_other():
    async def answer(request: Request) -> Response:
        return Response(200, {}, body(*[b"x" * 60_000] * 100) if request.path == "/big" else body(b"small"))

    async with sessions(Server(answer)) as (caller, _):
        unread = [await caller.request(Request("GET", "/big")) for _ in range(20)]
        async with asyncio.timeout(10):
            assert await (await caller.request(Request("GET", "/small"))).read() == b"small"
        assert sum([len(await each.read()) for each in unread]) == 20 * 6_000_000


async def test_body_beyond_the_limit_is_refused():
    async with sessions(Server(echo)) as (caller, _):
        answer = await caller.request(Request("POST", "/a", body=b"x" * (LARGEST_BODY + 1)))
        assert answer.status == 413
        assert b"exceeds" in await answer.read()
        assert (await caller.request(Request("GET", "/a"))).status == 200


async def test_more_requests_than_streams_wait_for_their_turn():
    async with sessions(Server(echo)) as (caller, _):

        async def one(number: int) -> bytes:
            return await (await caller.request(Request("POST", "/a", body=b"%d" % number))).read()

        found = await asyncio.gather(*(one(number) for number in range(600)))
    assert found == [b"%d" % number for number in range(600)]


async def test_unreachable_server_is_a_connection_error():
    async def answer(request: Request) -> Response:
        raise ConnectionError("https://10.0.0.1: cannot connect")

    async with sessions(Server(answer)) as (caller, _):
        with pytest.raises(ConnectionError, match=r"10\.0\.0\.1: cannot connect"):
            await caller.request(Request("GET", "/a"))


async def test_a_stream_that_breaks_off_breaks_off_here():
    async def answer(request: Request) -> Response:
        async def broken() -> AsyncIterator[bytes]:
            yield b"half"
            raise ConnectionError("cut")

        return Response(200, {}, broken())

    async with sessions(Server(answer)) as (caller, _):
        pieces = (await caller.request(Request("GET", "/a"))).stream
        assert await anext(pieces) == b"half"
        with pytest.raises(ConnectionError, match="broke the exchange off"):
            await anext(pieces)


async def test_closing_an_answer_ends_the_request_on_the_other_side():
    ended = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def answer(request: Request) -> Response:
        return Response(200, {}, endless())

    async with sessions(Server(answer)) as (caller, _):
        found = await caller.request(Request("GET", "/a", (("watch", "true"),)))
        assert await anext(found.stream) == b"first"
        await found.close()
        async with asyncio.timeout(10):
            await ended.wait()
        assert caller.under_way == 0


async def test_retiring_ends_watches_in_good_order_and_completes_the_rest():
    go = asyncio.Event()

    async def watched() -> AsyncIterator[bytes]:
        yield b"event"
        await asyncio.Event().wait()

    async def answer(request: Request) -> Response:
        if request.query:
            return Response(200, {}, watched())
        await go.wait()
        return Response(200, {}, body(b"done"))

    async with sessions(Server(answer)) as (caller, _):
        watch = await caller.request(Request("GET", "/a", (("watch", "true"),)))
        assert await anext(watch.stream) == b"event"
        write = asyncio.create_task(caller.request(Request("GET", "/b")))
        await asyncio.sleep(0)
        assert caller.under_way == 2
        caller.retire()
        with pytest.raises(StopAsyncIteration):
            await anext(watch.stream)
        with pytest.raises(NotSent):
            await caller.request(Request("GET", "/c"))
        go.set()
        assert await (await write).read() == b"done"


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 64, b"\xff" * 4096])
async def test_what_is_no_http2_ends_the_connection(garbage):
    hub, agent = pair()
    answerer = Answerer(agent, SystemClock(), Server(echo))
    await hub.send(garbage)
    with pytest.raises(ConnectionError, match="broke the protocol"):
        await asyncio.wait_for(answerer.run(), 10)


async def test_silence_ends_the_connection():
    async def answer(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with sessions(Server(answer), heartbeat=0.05) as (caller, answerer):
        waiting = asyncio.create_task(caller.request(Request("GET", "/a")))
        await asyncio.sleep(0)
        answerer._pipe.stalled = True
        with pytest.raises(ConnectionError, match="silent for"):
            await asyncio.wait_for(waiting, 20)


async def test_heartbeats_keep_an_idle_connection():
    async with sessions(Server(echo), heartbeat=0.02) as (caller, _):
        before = caller.traffic.received
        async with asyncio.timeout(20):
            while caller.traffic.received < before + 200:  # noqa: ASYNC110 - there is no event for a PING
                await asyncio.sleep(0.01)
        assert (await caller.request(Request("GET", "/a"))).status == 200
