"""The network between a program and an API server: it can be cut and can fall silent, beside the faults per request."""

import asyncio
from collections.abc import AsyncIterator

from worker_agent.kube.clock import Clock
from worker_agent.kube.faults import FaultPlan, FaultyTransport
from worker_agent.kube.transport import Request, Response, Transport


class Line:
    """A Transport. ``cut`` breaks what is under way and refuses the rest, ``stall`` lets everything hang, ``slow`` lets
    all of it take long; ``heal`` ends all three: what hung goes on."""

    def __init__(self, transport: Transport, clock: Clock, plan: FaultPlan) -> None:
        self.faults = FaultyTransport(transport, clock, plan)
        self._cut = False
        self._late_seconds = 0.0
        self._late_watches = ""
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._streams: dict[asyncio.Queue[bytes | BaseException | None], None] = {}
        """In order: that of a set would differ between a history and its replay."""
        self._pumps: set[asyncio.Task[None]] = set()
        self.writes = 0
        """Requests other than GET that were sent."""

    def cut(self) -> None:
        self._cut = True
        self._flowing.set()
        for stream in self._streams:
            stream.put_nowait(ConnectionError("injected: the network was cut"))

    def stall(self) -> None:
        self._flowing.clear()

    def slow(self, seconds: float, watches_of: str = "") -> None:
        """Every request takes so long each way, and every piece of a watch; or the watches of one resource alone do,
        as where one of many streams has lost a packet."""
        self._late_seconds, self._late_watches = seconds, watches_of

    def end_watches(self) -> None:
        """Every stream ends without an error, as behind a proxy that closes what is silent."""
        for stream in self._streams:
            stream.put_nowait(None)

    def heal(self) -> None:
        self._cut = False
        self._late_seconds = 0.0
        self._flowing.set()

    async def request(self, request: Request) -> Response:
        self.writes += request.method != "GET"
        await self._pass()
        response = await self.faults.request(request)
        try:
            await self._pass()  # the answer needs the line as well
        except ConnectionError:
            await response.close()
            raise
        if ("watch", "true") in request.query:
            return Response(response.status, response.headers, self._watch(request.path, response))
        return response

    async def close(self) -> None:
        """The server is not this line's to close."""

    async def _pass(self) -> None:
        if self._late_seconds and not self._late_watches:
            await asyncio.sleep(self._late_seconds)
        await self._flowing.wait()
        if self._cut:
            raise ConnectionError("injected: the network is cut")

    async def _watch(self, path: str, response: Response) -> AsyncIterator[bytes]:
        pieces: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue()
        pump = asyncio.create_task(self._pump(path, response, pieces))
        self._streams[pieces] = None
        self._pumps.add(pump)
        try:
            while (piece := await pieces.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            self._streams.pop(pieces, None)
            self._pumps.discard(pump)
            pump.cancel()

    async def _pump(self, path: str, response: Response, pieces: asyncio.Queue[bytes | BaseException | None]) -> None:
        try:
            async for piece in response.stream:
                if self._late_seconds and path.endswith(self._late_watches):
                    await asyncio.sleep(self._late_seconds)
                await self._flowing.wait()
                pieces.put_nowait(piece)
            pieces.put_nowait(None)
        except (ConnectionError, asyncio.CancelledError) as error:
            pieces.put_nowait(ConnectionError(str(error)))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            await response.close()
