"""The end of an HTTPS server of ours, shared by webhooks, aggregated APIs and the door for agents."""

import asyncio

from aiohttp import web


async def end(runner: web.BaseRunner) -> None:
    """Requests under way are finished, then every connection is cut.

    aiohttp closes connections by asking the other end for the end of TLS. An API server keeps its connections to
    webhooks for long, and one that hangs never answers: whoever stops the loop next would leave them open behind it.
    """
    for site in list(runner.sites):
        await site.stop()
    server = runner.server
    carriers = [connection.transport for connection in server.connections] if isinstance(server, web.Server) else []
    await runner.cleanup()
    await asyncio.sleep(0)  # what was written last is on its way
    for carrier in carriers:
        if carrier is not None:
            carrier.abort()
