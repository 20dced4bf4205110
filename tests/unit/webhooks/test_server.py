"""The webhook server: which callers it speaks to."""

import asyncio
import contextlib
import ssl
from datetime import UTC, datetime
from functools import partial

import aiohttp
import pytest

from tests.unit.kube.line import line_to
from worker_agent.app import tls
from worker_agent.serving_settings import TransportSecurity
from worker_agent.webhooks import certificates
from worker_agent.webhooks.review import Verdict
from worker_agent.webhooks.server import WebhookServer
from worker_agent.webhooks.shown_certificate import ShownCertificate


def made():
    return certificates.create(["localhost"], datetime.now(UTC))


def showing(bundle):
    shown = ShownCertificate()
    shown.use(bundle)
    return shown


def _caller(newest=ssl.TLSVersion.TLSv1_3):
    caller = ssl.create_default_context()
    caller.check_hostname, caller.verify_mode, caller.maximum_version = False, ssl.CERT_NONE, newest
    return caller


async def _speaks(server, newest):
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=_caller(newest))
    writer.close()
    await writer.wait_closed()


async def test_callers_with_too_old_a_tls_are_turned_away():
    shown = ShownCertificate(partial(tls.server_context, TransportSecurity(min_version="VersionTLS13")))
    shown.use(made())
    server = WebhookServer({}, "127.0.0.1", 0, shown)
    await server.start()
    try:
        await _speaks(server, ssl.TLSVersion.TLSv1_3)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await _speaks(server, ssl.TLSVersion.TLSv1_2)
    finally:
        await server.stop()


async def test_it_stops_without_waiting_for_a_caller_that_hangs():
    server = WebhookServer({}, "127.0.0.1", 0, showing(made()))
    await server.start()
    async with line_to(server.port) as (line, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=_caller())
        writer.write(b"POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        await reader.readuntil(b"no webhook at /none\n")
        line.stalled = True
        await server.stop()
        await asyncio.wait_for(line.cut.wait(), 20)
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _shown_by(server):
    caller = ssl.create_default_context()
    caller.check_hostname, caller.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=caller)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return ssl.DER_cert_to_PEM_cert(shown).encode()


async def test_a_new_certificate_is_shown_from_the_next_connection_on():
    first, second = made(), made()
    shown = showing(first)
    server = WebhookServer({}, "127.0.0.1", 0, shown)
    await server.start()
    try:
        assert await _shown_by(server) == first.certificate
        shown.use(second)
        assert await _shown_by(server) == second.certificate
    finally:
        await server.stop()


def write(folder, certificate, key):
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)


async def test_files_of_somebody_else_are_taken_up_as_a_whole_pair(tmp_path):
    first, second = made(), made()
    shown = ShownCertificate()
    write(tmp_path, first.certificate, first.key)
    assert shown.use_files(tmp_path)
    server = WebhookServer({}, "127.0.0.1", 0, shown)
    await server.start()
    try:
        assert not shown.use_files(tmp_path)
        write(tmp_path, second.certificate, first.key)
        with pytest.raises(ssl.SSLError):
            shown.use_files(tmp_path)
        assert await _shown_by(server) == first.certificate
        write(tmp_path, second.certificate, second.key)
        assert shown.use_files(tmp_path)
        assert await _shown_by(server) == second.certificate
    finally:
        await server.stop()


async def test_no_handshake_fails_while_certificates_change():
    bundles = [made(), made()]
    shown = showing(bundles[0])
    server = WebhookServer({}, "127.0.0.1", 0, shown)
    await server.start()
    over = asyncio.Event()

    async def change():
        while not over.is_set():
            for bundle in bundles:
                await asyncio.to_thread(shown.use, bundle)

    changing = asyncio.create_task(change())
    try:
        for _ in range(40):
            assert await _shown_by(server) in [bundle.certificate for bundle in bundles]
    finally:
        over.set()
        await changing
        await server.stop()


async def _posted(port, path, body):
    connector = aiohttp.TCPConnector(ssl=_caller())
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"https://127.0.0.1:{port}{path}", data=body) as response,
    ):
        return response.status


async def test_requests_are_counted_by_webhook_and_status():
    async def hook(question):
        return Verdict()

    server = WebhookServer({"/validate": hook}, "127.0.0.1", 0, showing(made()))
    await server.start()
    try:
        told = [await _posted(server.port, path, b"nonsense") for path in ("/validate", "/none")]
        server.admit()
        told.append(await _posted(server.port, "/validate", b"nonsense"))
    finally:
        await server.stop()
    assert told == [503, 404, 400]
    assert server.tally.requests == {("/validate", 503): 1, ("/validate", 400): 1}
    assert server.tally.in_flight == {"/validate": 0}
    assert sum(server.tally.seconds["/validate"].counts) == 2
