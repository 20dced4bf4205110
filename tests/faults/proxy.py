"""A proxy on loopback before an API server, whose network misbehaves by a seed: for programs that talk HTTP."""

import contextlib
from typing import Final

from aiohttp import web

from tests.faults.lines import Line
from worker_agent.kube.kubeconfig import ClusterConfig
from worker_agent.kube.transport import Request, Response

LARGEST_BODY: Final = 16 << 20
OF_ONE_HOP: Final = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})
"""Headers that belong to one connection, and what would make the server's answer unreadable here."""
_SILENCE_BEFORE_CLOSING: Final = 0.2


class Proxy:
    """Serves plain HTTP on a free port; what reaches ``line`` goes on to the server as whoever ``line`` is there.

    A request that its sender gives up is given up here too: what hung does not arrive later.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def config(self) -> ClusterConfig:
        """How a program reaches the server through this proxy."""
        return ClusterConfig(server=f"http://127.0.0.1:{self._port}", source="proxy")

    async def start(self) -> None:
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=_SILENCE_BEFORE_CLOSING
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, incoming: web.Request) -> web.StreamResponse:
        answer: web.StreamResponse = web.Response()
        try:
            response = await self.line.request(await _read(incoming))
            try:
                answer = await _pass_on(incoming, response)
            finally:
                await response.close()
        except ConnectionError:
            # The caller must see a broken connection, not an answer that says so.
            if incoming.transport is not None:
                incoming.transport.abort()
        return answer


async def _read(incoming: web.Request) -> Request:
    headers = {name.lower(): value for name, value in incoming.headers.items() if name.lower() not in OF_ONE_HOP}
    query = tuple((name, value) for name, value in incoming.query.items())
    return Request(incoming.method, incoming.path, query, headers, await incoming.read())


async def _pass_on(incoming: web.Request, response: Response) -> web.StreamResponse:
    headers = {name: value for name, value in response.headers.items() if name not in OF_ONE_HOP}
    answer = web.StreamResponse(status=response.status, headers=headers)
    await answer.prepare(incoming)
    async for piece in response.stream:
        await answer.write(piece)
    with contextlib.suppress(ConnectionError):
        await answer.write_eof()
    return answer
