"""The one seam to an API server: a request goes down, a status, headers and a stream of bytes come back.

Implementations: the official client (``kubernetes_transport``), the embedded server in process (``hub.local``), the
agent tunnel, and a wrapper that injects faults. Everything above sees only this.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """``query`` keeps the order of its pairs; ``body`` is empty for requests without one."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Whole:
    """The stream of a body that is there already."""

    __slots__ = ("_left", "body")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self._left = True

    def __aiter__(self) -> "Whole":
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        self._left = False
        return self.body


@dataclass(frozen=True, slots=True)
class Response:
    """Header names are lower case. ``stream`` yields the body in pieces of any size; its reader closes it."""

    status: int
    headers: Mapping[str, str]
    stream: AsyncIterator[bytes]

    async def read(self) -> bytes:
        """The whole body."""
        if isinstance(self.stream, Whole):
            return self.stream.body
        return b"".join([piece async for piece in self.stream])

    async def close(self) -> None:
        """Ends the stream early and frees what carries it; closing twice is fine."""
        aclose = getattr(self.stream, "aclose", None)
        if aclose is not None:
            await aclose()


class Transport(Protocol):
    """Carries requests to one API server. ``request`` raises ConnectionError (or a subclass) when it cannot."""

    async def request(self, request: Request) -> Response: ...

    async def close(self) -> None: ...


def host_of(transport: Transport) -> str:
    """``host:port`` that a transport leads to, or the agent that carries its requests; empty within one process."""
    return getattr(transport, "host", "")
