"""A Transport that adds headers to every request: what a user asks to be taken for, and how long a request may take."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from multidict import CIMultiDict

from worker_agent.kube.errors import ServerSilent
from worker_agent.kube.transport import Request, Response, Transport


class SentHeaders:
    """``headers`` may name one several times: each value goes on a line of its own, as the API server wants groups.

    ``timeout`` in seconds bounds the time until an answer begins; None leaves it to the caller.
    """

    def __init__(self, transport: Transport, headers: Sequence[tuple[str, str]], timeout: float | None = None) -> None:
        self._transport = transport
        self._headers = headers
        self._timeout = timeout

    async def request(self, request: Request) -> Response:
        headers = CIMultiDict(request.headers)
        headers.extend(self._headers)
        sent = replace(request, headers=headers)
        try:
            async with asyncio.timeout(self._timeout):
                return await self._transport.request(sent)
        except TimeoutError as error:
            raise ServerSilent(f"{request.method} {request.path}: no answer within {self._timeout:g} s") from error

    async def close(self) -> None:
        await self._transport.close()
