"""A Transport straight into a server in the same process: for tests, and for what runs beside the server."""

from collections.abc import AsyncIterator

from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.identity import ADMIN, Identity
from hub.local.apiserver.watching import Watch
from worker_agent.kube.transport import Request, Response, Whole


class InProcessTransport:
    """``identity`` is who the requests come from."""

    def __init__(self, server: ApiServer, identity: Identity = ADMIN) -> None:
        self._server = server
        self._identity = identity

    async def request(self, request: Request) -> Response:
        if not all(name.islower() for name in request.headers):
            lowered = {name.lower(): value for name, value in request.headers.items()}
            request = Request(request.method, request.path, request.query, lowered, request.body)
        answer = await self._server.answer(request, self._identity)
        headers = {"content-type": answer.content_type, **dict(answer.headers)}
        if answer.watch is not None:
            return Response(answer.status, headers, self._frames(answer.watch))
        if answer.stream is not None:
            return Response(answer.status, headers, answer.stream)
        return Response(answer.status, headers, Whole(answer.body))

    def _frames(self, watch: Watch) -> AsyncIterator[bytes]:
        return self._server.frames(watch)

    async def close(self) -> None:
        """Nothing to close: the server is not this transport's."""
