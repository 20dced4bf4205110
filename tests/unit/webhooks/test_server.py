"""The webhook server: which callers it speaks to."""

import asyncio
import ssl
from datetime import UTC, datetime

import pytest

from worker_agent.app import tls
from worker_agent.serving_settings import TransportSecurity
from worker_agent.webhooks import certificates
from worker_agent.webhooks.server import WebhookServer


async def _speaks(server, newest):
    caller = ssl.create_default_context()
    caller.check_hostname, caller.verify_mode, caller.maximum_version = False, ssl.CERT_NONE, newest
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=caller)
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
