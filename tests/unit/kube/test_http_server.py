"""The end of an HTTPS server: what is under way is finished, and nothing stays open behind it."""

import asyncio
import ssl

import aiohttp
import pytest
import trustme
from aiohttp import web

from worker_agent.kube.http_server import HttpsServer

HOST = "127.0.0.1"
AUTHORITY = trustme.CA()
SOON_SECONDS = 30.0
"""Half of what asyncio gives a handshake."""


def shown(name=HOST):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(name).configure_cert(context)
    return context


def caller():
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


class Gate:
    """Answers once it is opened."""

    def __init__(self):
        self.asked, self.opened = asyncio.Event(), asyncio.Event()
        self.application = web.Application()
        self.application.router.add_get("/", self._answer)

    async def _answer(self, request):
        self.asked.set()
        await self.opened.wait()
        return web.Response(text="done")


async def asked(port):
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=caller())) as session,
        session.get(f"https://{HOST}:{port}/") as response,
    ):
        return await response.text()


async def test_a_request_under_way_is_finished():
    gate = Gate()
    server = HttpsServer(gate.application, shutdown_seconds=SOON_SECONDS)
    request = asyncio.create_task(asked(await server.listen(HOST, 0, shown())))
    await gate.asked.wait()
    ending = asyncio.create_task(server.end())
    gate.opened.set()
    assert await request == "done"
    await ending


@pytest.mark.parametrize("turns", range(6))
async def test_a_handshake_under_way_is_cut(turns):
    """At whatever turn of the loop the end comes after the connection."""
    server = HttpsServer(Gate().application, shutdown_seconds=1.0)
    reader, writer = await asyncio.open_connection(HOST, await server.listen(HOST, 0, shown()))
    for _ in range(turns):
        await asyncio.sleep(0)
    await server.end()
    async with asyncio.timeout(SOON_SECONDS):
        try:
            assert await reader.read() == b""
        except ConnectionResetError:  # it was not even accepted
            assert turns <= 1
    writer.close()


async def test_another_certificate_is_shown_while_who_is_connected_stays():
    gate = Gate()
    server = HttpsServer(gate.application, shutdown_seconds=1.0)
    port = await server.listen(HOST, 0, shown("old.example"))
    first = asyncio.create_task(asyncio.open_connection(HOST, port, ssl=caller(), server_hostname="old.example"))
    reader, writer = await first
    assert await server.listen(HOST, port, shown()) == port
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    gate.opened.set()
    assert (await reader.read()).endswith(b"done")
    assert await asked(port) == "done"
    writer.close()
    await server.end()


async def test_ending_twice_or_before_it_listens_is_fine():
    server = HttpsServer(Gate().application, shutdown_seconds=1.0)
    await server.end()
    await server.listen(HOST, 0, shown())
    await server.end()
    await server.end()
