"""When a credential plugin is asked again, and what goes out with what it said."""

import asyncio
from datetime import timedelta

import pytest

from worker_agent.api.timestamps import parse
from worker_agent.kube import kubernetes_transport
from worker_agent.kube.exec_plugin import ExecCredential, ExecPlugin, PluginError
from worker_agent.kube.exec_transport import ExecTransport
from worker_agent.kube.kubeconfig import ClusterConfig
from worker_agent.kube.transport import Request, Response

NOON = parse("2026-01-01T12:00:00Z")
LIST = Request("GET", "/api")


class Clock:
    def __init__(self):
        self.instant = NOON

    def now(self):
        return self.instant


class Server:
    """Accepts the tokens it is told to, and remembers who came by which certificate."""

    def __init__(self, *accepted):
        self.accepted = set(accepted)
        self.seen = []
        self.closed = []

    def connect(self, config):
        return Connection(self, config)


class Connection:
    def __init__(self, server, config):
        self.server = server
        self.certificate = config.client_certificate

    async def request(self, request):
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.server.seen.append(token or self.certificate)
        known = (token or self.certificate) in self.server.accepted
        return Response(200 if known else 401, {}, _nothing())

    async def close(self):
        self.server.closed.append(self.certificate)


async def _nothing():
    return
    yield b""


class Plugin:
    """Says one credential after the other."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.runs = 0

    async def __call__(self, plugin):
        self.runs += 1
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def token(text, *, minutes=None):
    return ExecCredential(text, expires=None if minutes is None else NOON + timedelta(minutes=minutes))


def transport(server, plugin, clock=None):
    config, command = ClusterConfig("https://east.example"), ExecPlugin("login", "v1")
    return ExecTransport(config, command, clock or Clock(), run=plugin, connect=server.connect)


async def test_it_is_asked_once_and_again_when_the_token_expires():
    server, plugin, clock = Server("a", "b"), Plugin(token("a", minutes=10), token("b")), Clock()
    link = transport(server, plugin, clock)
    await link.request(LIST)
    await link.request(LIST)
    clock.instant += timedelta(minutes=10)
    assert (await link.request(LIST)).status == 200
    assert (server.seen, plugin.runs) == (["a", "a", "b"], 2)
    await link.close()


async def test_requests_that_wait_share_one_run():
    server, plugin = Server("a"), Plugin(token("a"))
    link = transport(server, plugin)
    await asyncio.gather(*(link.request(LIST) for _ in range(5)))
    assert plugin.runs == 1
    await link.close()


async def test_a_token_that_is_refused_is_replaced_once():
    server, plugin = Server("new"), Plugin(token("old"), token("new"))
    link = transport(server, plugin)
    assert (await link.request(LIST)).status == 200
    assert server.seen == ["old", "new"]
    await link.close()


async def test_a_refusal_that_stays_is_the_answer():
    server, plugin = Server(), Plugin(token("a"), token("b"))
    link = transport(server, plugin)
    assert (await link.request(LIST)).status == 401
    assert plugin.runs == 2
    await link.close()


async def test_a_new_certificate_gets_new_connections_and_streams_on_the_old_go_on():
    pairs = [ExecCredential(client_certificate=name, client_key=b"k", expires=NOON) for name in (b"1", b"2", b"3")]
    server, plugin = Server(b"1", b"2", b"3"), Plugin(*pairs)
    link = transport(server, plugin)
    await link.request(LIST)
    await link.request(LIST)
    assert (server.seen, server.closed) == ([b"1", b"2"], [])
    await link.request(LIST)
    assert server.closed == [b"1"]
    await link.close()
    assert sorted(server.closed) == [b"1", b"2", b"3"]


async def test_a_plugin_that_fails_is_asked_anew_by_the_next_request():
    server, plugin = Server("a"), Plugin(PluginError("no"), token("a"))
    link = transport(server, plugin)
    with pytest.raises(ConnectionError, match="no"):
        await link.request(LIST)
    assert (await link.request(LIST)).status == 200
    await link.close()


async def test_a_certificate_that_is_none_is_a_failure_of_the_plugin():
    plugin = Plugin(ExecCredential(client_certificate=b"no PEM", client_key=b"s3cret"), token("a"))
    link = transport(Server("a"), plugin)
    link._connect = kubernetes_transport.connect
    with pytest.raises(PluginError, match="no connection can be made with what the exec plugin returned") as caught:
        await link.request(LIST)
    assert "s3cret" not in str(caught.value)
    await link.close()


async def test_a_run_goes_on_when_the_request_gives_up():
    server, gate = Server("a"), asyncio.Event()

    async def slow(plugin):
        await gate.wait()
        return token("a")

    link = transport(server, slow)
    impatient = asyncio.create_task(link.request(LIST))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    gate.set()
    assert (await link.request(LIST)).status == 200
    await link.close()
