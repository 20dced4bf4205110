"""The webhook server: which callers it speaks to."""

import asyncio
import contextlib
import ssl
from datetime import UTC, datetime

import pytest

from tests.unit.kube.line import line_to
from worker_agent.app import tls
from worker_agent.serving_settings import TransportSecurity
from worker_agent.webhooks import certificates
from worker_agent.webhooks.server import WebhookServer


def _caller(newest=ssl.TLSVersion.TLSv1_3):
    caller = ssl.create_default_context()
    caller.check_hostname, caller.verify_mode, caller.maximum_version = False, ssl.CERT_NONE, newest
    return caller


async def _speaks(server, newest):
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=_caller(newest))
    writer.close()
    await writer.wait_closed()


async def test_callers_with_too_old_a_tls_are_turned_away():
    context = tls.server_context(TransportSecurity(min_version="VersionTLS13"))
    server = WebhookServer({}, "127.0.0.1", 0, context)
    server.use(certificates.create(["localhost"], datetime.now(UTC)))
    await server.start()
    try:
        await _speaks(server, ssl.TLSVersion.TLSv1_3)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await _speaks(server, ssl.TLSVersion.TLSv1_2)
    finally:
        await server.stop()


async def test_it_stops_without_waiting_for_a_caller_that_hangs():
    server = WebhookServer({}, "127.0.0.1", 0)
    server.use(certificates.create(["localhost"], datetime.now(UTC)))
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
