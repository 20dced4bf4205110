"""A Transport that misbehaves on purpose, by a seed: for tests that ask what is left standing.

Used on purpose only, by tests and ``tests/faults``; production never wires it.
"""

import random
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from worker_agent.kube.clock import Clock
from worker_agent.kube.transport import Request, Response, Transport


class Fault(StrEnum):
    """What can go wrong with one request."""

    DELAY = "delay"
    """It takes up to ``longest_delay`` seconds before anything is sent."""
    REFUSED = "refused"
    """ConnectionError, nothing was sent."""
    LOST_ANSWER = "lost-answer"
    """It is carried out, then ConnectionError: the caller cannot know."""
    CUT = "cut"
    """The body breaks off somewhere with ConnectionError."""
    CONFLICT = "conflict"
    GONE = "gone"
    TOO_MANY = "too-many"
    SERVER_ERROR = "server-error"
    DUPLICATE = "duplicate"
    """Writes are sent twice (the second answer counts); lines of watches come twice."""


_ANSWERS: Mapping[Fault, tuple[int, str]] = {
    Fault.CONFLICT: (409, "Conflict"),
    Fault.GONE: (410, "Expired"),
    Fault.TOO_MANY: (429, "TooManyRequests"),
    Fault.SERVER_ERROR: (500, "InternalError"),
}
_ONLY_WRITES = {Fault.CONFLICT, Fault.LOST_ANSWER}
_ONLY_READS = {Fault.GONE}


@dataclass(slots=True)
class FaultPlan:
    """Chance of each fault per request, 0..1; at most one happens to a request, DELAY beside it. ``enabled`` can be
    switched while requests run."""

    chances: Mapping[Fault, float] = field(default_factory=dict)
    longest_delay: float = 2.0
    seed: int = 0
    enabled: bool = True


class FaultyTransport:
    """Wraps a Transport. ``injected`` counts faults by kind; ``down`` refuses everything while it is True."""

    def __init__(self, transport: Transport, clock: Clock, plan: FaultPlan) -> None:
        self.plan = plan
        self.down = False
        self.injected: Counter[Fault] = Counter()
        self._transport = transport
        self._clock = clock
        self._random = random.Random(plan.seed)

    def use(self, plan: FaultPlan) -> None:
        """Go on by another plan, from its beginning."""
        self.plan = plan
        self._random = random.Random(plan.seed)

    async def request(self, request: Request) -> Response:
        if self.down:
            raise ConnectionError("injected: the server is down")
        if not self.plan.enabled:
            return await self._transport.request(request)
        if self._draw(Fault.DELAY):
            await self._clock.sleep(self._random.random() * self.plan.longest_delay)
        fault = self._choose(request)
        if fault is None:
            return await self._transport.request(request)
        self.injected[fault] += 1
        return await self._inject(fault, request)

    async def close(self) -> None:
        await self._transport.close()

    async def _inject(self, fault: Fault, request: Request) -> Response:
        if fault is Fault.REFUSED:
            raise ConnectionError("injected: connection refused")
        if fault in _ANSWERS:
            return _answer(*_ANSWERS[fault])
        response = await self._transport.request(request)
        if fault is Fault.LOST_ANSWER:
            await response.close()
            raise ConnectionError("injected: the answer was lost")
        if fault is Fault.CUT:
            return Response(response.status, response.headers, self._cut(response))
        if request.method != "GET":
            await response.close()
            return await self._transport.request(request)
        return Response(response.status, response.headers, _twice(response))

    def _choose(self, request: Request) -> Fault | None:
        for fault in self.plan.chances:
            if fault is Fault.DELAY or not _applies(fault, request):
                continue
            if self._random.random() < self.plan.chances[fault]:
                return fault
        return None

    def _draw(self, fault: Fault) -> bool:
        drawn = self._random.random() < self.plan.chances.get(fault, 0.0)
        if drawn:
            self.injected[fault] += 1
        return drawn

    async def _cut(self, response: Response) -> AsyncGenerator[bytes, None]:
        pieces_left = self._random.randrange(4)
        try:
            async for piece in response.stream:
                if pieces_left == 0:
                    yield piece[: self._random.randrange(len(piece) + 1)]
                    break
                pieces_left -= 1
                yield piece
            raise ConnectionError("injected: the stream was cut")
        finally:
            await response.close()


def _applies(fault: Fault, request: Request) -> bool:
    write = request.method != "GET"
    if fault is Fault.DUPLICATE:
        return write or ("watch", "true") in request.query
    return not (write and fault in _ONLY_READS) and not (not write and fault in _ONLY_WRITES)


async def _twice(response: Response) -> AsyncGenerator[bytes, None]:
    """Every whole line of a stream two times."""
    rest = b""
    try:
        async for piece in response.stream:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line + b"\n" + line + b"\n"
        yield rest
    finally:
        await response.close()


def _answer(status: int, reason: str) -> Response:
    body = msgspec.json.encode(
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": f"injected: {reason}", "reason": reason}
        | {"code": status}
    )

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    headers = {"content-type": "application/json"} | ({"retry-after": "1"} if status == 429 else {})
    return Response(status, headers, stream())
