"""The real transport against a real TLS server on loopback."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from tests.unit.kube.line import Line, line_to
from worker_agent.api.resource_type import PODS
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.kubeconfig import ClusterConfig, KubeconfigError
from worker_agent.kube.kubernetes_transport import connect
from worker_agent.kube.transport import Request


@dataclass
class Served:
    config: ClusterConfig
    authority: trustme.CA
    requests: list[web.Request]
    hold: asyncio.Event
    outdated: set[str]
    """Values of the header that are refused."""


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    authority = trustme.CA()
    requests: list[web.Request] = []
    hold = asyncio.Event()
    outdated: set[str] = set()

    async def handle(request: web.Request) -> web.StreamResponse:
        requests.append(request)
        if request.headers.get("authorization") in outdated:
            return web.json_response({"code": 401, "reason": "Unauthorized"}, status=401)
        if request.query.get("watch"):
            stream = web.StreamResponse()
            await stream.prepare(request)
            await stream.write(b'{"type":"BOOKMARK"')
            await stream.write(b',"object":{}}\n')
            await hold.wait()
            return stream
        if request.path.endswith("/elsewhere"):
            raise web.HTTPFound("https://elsewhere.invalid/")
        peer = request.transport.get_extra_info("peercert") if request.transport else None
        return web.json_response({"body": (await request.read()).decode(), "peer": bool(peer)})

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1", "inside.example").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    ca = authority.cert_pem.bytes()
    config = ClusterConfig(f"https://127.0.0.1:{port}", ca=ca, token="sesame")
    yield Served(config, authority, requests, hold, outdated)
    hold.set()
    await runner.cleanup()


async def read(config: ClusterConfig, request: Request) -> tuple[int, bytes]:
    transport = connect(config)
    try:
        response = await transport.request(request)
        return response.status, await response.read()
    finally:
        await transport.close()


async def test_bodies_query_and_token_arrive_as_they_are(served: Served):
    headers = {"content-type": "application/json-patch+json"}
    request = Request("PATCH", "/api/v1/x%2Fy", (("a", "b c"), ("labelSelector", "x in (1,2)")), headers, b'{"k":1}')
    status, body = await read(served.config, request)
    assert (status, b'{\\"k\\":1}' in body) == (200, True)
    seen = served.requests[0]
    assert seen.rel_url.raw_path == "/api/v1/x%2Fy"
    assert dict(seen.query) == {"a": "b c", "labelSelector": "x in (1,2)"}
    assert seen.headers["content-type"] == "application/json-patch+json"
    assert seen.headers["authorization"] == "Bearer sesame"


async def test_a_server_under_a_path(served: Served):
    await read(replace(served.config, server=served.config.server + "/k8s/c-1"), Request("GET", "/version"))
    assert served.requests[0].path == "/k8s/c-1/version"


async def test_client_certificates(served: Served):
    mine = served.authority.issue_cert("me@example.org")
    certificate = b"".join(blob.bytes() for blob in mine.cert_chain_pems)
    config = replace(served.config, token="", client_certificate=certificate, client_key=mine.private_key_pem.bytes())
    _, body = await read(config, Request("GET", "/version"))
    assert b'"peer": true' in body
    assert "authorization" not in served.requests[0].headers


async def test_an_unknown_authority_is_refused(served: Served):
    config = replace(served.config, ca=trustme.CA().cert_pem.bytes())
    with pytest.raises(ConnectionError, match="the server's certificate is not trusted"):
        await read(config, Request("GET", "/version"))


async def test_verification_can_be_skipped(served: Served):
    config = replace(served.config, ca=None, insecure_skip_tls_verify=True)
    assert (await read(config, Request("GET", "/version")))[0] == 200


async def test_the_name_to_verify_can_be_given(served: Served):
    config = replace(served.config, tls_server_name="inside.example")
    assert (await read(config, Request("GET", "/version")))[0] == 200
    with pytest.raises(ConnectionError, match="not trusted"):
        await read(replace(served.config, tls_server_name="other.example"), Request("GET", "/version"))


async def test_a_closed_port_is_a_connection_error():
    with pytest.raises(ConnectionError, match=r"https://127\.0\.0\.1:1: cannot connect"):
        await read(ClusterConfig("https://127.0.0.1:1"), Request("GET", "/version"))


async def test_a_password_in_the_address_is_not_told():
    transport = connect(ClusterConfig("https://user:s3cret@127.0.0.1:1"))
    with pytest.raises(ConnectionError, match=r"^https://127\.0\.0\.1:1: cannot connect"):
        await transport.request(Request("GET", "/version"))
    await transport.close()


async def test_a_redirect_is_not_followed(served: Served):
    status, _ = await read(served.config, Request("GET", "/elsewhere"))
    assert status == 302


async def test_a_watch_streams_and_is_left_cleanly(served: Served):
    client = Client(connect(served.config), SystemClock())
    stream = client.watch(PODS, resource_version="1")
    assert await anext(stream) == [b'{"type":"BOOKMARK","object":{}}']
    await stream.aclose()
    await client.close()


async def test_closing_ends_open_streams(served: Served):
    client = Client(connect(served.config), SystemClock())
    stream = client.watch(PODS, resource_version="1")
    await anext(stream)
    await client.close()
    with pytest.raises(ConnectionError):
        await anext(stream)


@pytest.fixture
async def line(served: Served) -> AsyncIterator[Line]:
    """The served configuration is led over it."""
    async with line_to(int(served.config.server.rpartition(":")[2])) as (found, port):
        served.config = replace(served.config, server=f"https://127.0.0.1:{port}")
        yield found


WATCH = Request("GET", "/api/v1/pods", (("watch", "1"),))


@pytest.mark.parametrize("begun", [True, False])
async def test_a_stream_is_left_without_waiting_for_a_server_that_hangs(served: Served, line: Line, begun: bool):
    transport = connect(served.config)
    response = await transport.request(WATCH)
    if begun:
        await anext(response.stream)
    line.stalled = True
    await response.close()
    await asyncio.wait_for(line.cut.wait(), 20)
    await transport.close()


async def test_a_request_is_cancelled_without_waiting_for_a_server_that_hangs(served: Served, line: Line):
    transport = connect(served.config)
    await (await transport.request(Request("GET", "/version"))).read()
    line.stalled = True
    asking = asyncio.create_task(transport.request(Request("GET", "/version")))
    await asyncio.wait_for(line.heard.wait(), 20)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(line.cut.wait(), 20)
    await transport.close()


async def test_a_token_file_is_read(served: Served, tmp_path: Path):
    path = tmp_path / "token"
    path.write_text("rotated\n")
    await read(replace(served.config, token="", token_file=str(path)), Request("GET", "/version"))
    assert served.requests[0].headers["authorization"] == "Bearer rotated"


async def test_a_request_refused_for_its_token_is_sent_again_with_the_one_that_replaced_it(
    served: Served, tmp_path: Path
):
    path = tmp_path / "token"
    path.write_text("good")
    transport = connect(replace(served.config, token="", token_file=str(path)))
    await (await transport.request(Request("GET", "/version"))).read()
    served.outdated.add("Bearer good")
    path.write_text("better")
    answers = [await transport.request(Request("POST", "/api", body=b"{}")) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    for answer in answers:
        await answer.read()
    shown = [seen.headers["authorization"].removeprefix("Bearer ") for seen in served.requests]
    assert shown == ["good", "good", "better", "better"]
    await transport.close()


async def test_a_refusal_stands_where_the_file_has_no_other_token(served: Served, tmp_path: Path):
    path = tmp_path / "token"
    path.write_text("good")
    served.outdated.add("Bearer good")
    config = replace(served.config, token="", token_file=str(path))
    assert (await read(config, Request("POST", "/api")))[0] == 401
    assert len(served.requests) == 1


async def test_a_refusal_stands_where_the_token_is_of_no_file(served: Served):
    served.outdated.add("Bearer sesame")
    assert (await read(served.config, Request("POST", "/api")))[0] == 401
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ca": b"-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n"}, "certificate-authority"),
        ({"client_certificate": b"-----BEGIN X-----", "client_key": b"-----BEGIN Y-----"}, "client-certificate"),
    ],
)
async def test_unusable_certificates_are_named(change: dict[str, bytes], message: str):
    with pytest.raises(KubeconfigError, match=message):
        connect(ClusterConfig("https://127.0.0.1:1", "kubeconfig x", **change))  # type: ignore[arg-type]


async def test_secrets_are_not_logged(served: Served, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    await read(served.config, Request("GET", "/version"))
    with pytest.raises(ConnectionError) as caught:
        await read(replace(served.config, server="https://127.0.0.1:1"), Request("GET", "/version"))
    assert "sesame" not in caplog.text
    assert "sesame" not in repr(caught.value)
