"""The shell around the core that all transports share: it waits for webhooks, disk and changes."""

import asyncio
import logging
import math
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache
from typing import Protocol

from hub.local.apiserver import failure
from hub.local.apiserver.aggregation import Relay
from hub.local.apiserver.answer import Answer, failed
from hub.local.apiserver.call import Steps
from hub.local.apiserver.core import Core
from hub.local.apiserver.garbage import COLLECTOR, Cleaner
from hub.local.apiserver.identity import Identity
from hub.local.apiserver.pod_logs import LogRead
from hub.local.apiserver.store import Event
from hub.local.apiserver.watching import Watch
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from worker_agent.kube.clock import Clock
from worker_agent.kube.transport import Request

_logger = logging.getLogger(__name__)
_BOOKMARK_SECONDS = 60.0
_SHORTEST_WAIT_SECONDS = 0.001
_WATCH_SECONDS = 1800.0
"""A watch without timeoutSeconds ends after this and up to as much again (apiserver: minRequestTimeout)."""
_ALIVE_SECONDS = 15.0
_FEW_WATCHES = 16
_GATHER_SECONDS = 0.01
"""A hundred watches woken for each of a thousand writes a second would leave no time for the writes."""
_READS = frozenset({"GET", "HEAD"})


class WebhookCaller(Protocol):
    async def call(self, call: WebhookCall) -> WebhookAnswer: ...


class Relays(Protocol):
    async def open(self, relay: Relay) -> Answer:
        """Send a request on to another server; what it says."""
        ...


class Log(Protocol):
    """Durable storage of commits."""

    def append(self, events: Sequence[Event]) -> "asyncio.Future[None]":
        """Done when the events, and all before them, are safe."""
        ...

    async def close(self) -> None: ...


_NO_RELAYS = failure.Failure(503, "ServiceUnavailable", "this server reaches no other API servers")


class NoWebhooks:
    """Answers every call with a failure; for servers on which no webhook is reachable."""

    async def call(self, call: WebhookCall) -> WebhookAnswer:
        return WebhookAnswer(None, "this server reaches no webhooks")


class ApiServer:
    """One running server. ``writes`` counts by (user agent, user, method, resource path shape, status)."""

    def __init__(self, core: Core, clock: Clock, webhooks: WebhookCaller | None = None, log: Log | None = None) -> None:
        self.core = core
        self.clock = clock
        self.writes: Counter[tuple[str, str, str, str, int]] = Counter()
        self.cleaner = Cleaner()
        self.relays: Relays | None = None
        """Who sends requests for aggregated APIs on."""
        self.listeners: list[Callable[[Sequence[Event]], None]] = []
        """Told of everything that was stored."""
        self._webhooks = webhooks or NoWebhooks()
        self._log = log
        self._durable = core.state.version
        self._waiting: dict[str, dict[asyncio.Future[None], None]] = {}
        """Who waits for a commit to a collection, in the order in which they came and are woken."""
        self._rousing: set[str] = set()
        self._cleaning: asyncio.Task[None] | None = None
        self._stopping = False
        self._broken = ""
        self._saving: asyncio.Future[None] | None = None
        """The last commit on its way to the disk; those before it are there first."""

    async def answer(self, request: Request, identity: Identity) -> Answer:
        """Carry a request through the core; returns when what it wrote, or read, is safe and told to watches."""
        if self._broken:
            return self._out_of_service()
        try:
            answer = await self._carry(request, identity)
        except Exception as error:
            _logger.exception("%s %s failed", request.method, request.path)
            answer = failed(failure.internal(f"{type(error).__name__}: {error}"))
        if request.method not in _READS:
            try:
                await self.settle()
            except Exception as error:
                answer = failed(failure.internal(f"storage failed: {error}"))
            self._count(request, identity, answer.status)
        elif answer.watch is None or answer.watch.shows_state:
            await self._caught_up()
            if self._broken:
                return self._out_of_service()
        return answer

    def _out_of_service(self) -> Answer:
        why = f"storage failed ({self._broken}): mend the disk and restart the API server"
        return failed(failure.internal(why))

    async def _carry(self, request: Request, identity: Identity) -> Answer:
        answer = await self._carried(self.core.handle(request, identity, self.clock.now()))
        if answer.relay is not None:
            return await self.relays.open(answer.relay) if self.relays is not None else failed(_NO_RELAYS)
        if answer.log is not None:
            answer.stream = self._followed(answer.body, answer.log)
        return answer

    async def _carried(self, steps: Steps) -> Answer:
        """What the steps come to, with the webhooks asked that they want asked."""
        try:
            call = next(steps)
            while True:
                call = steps.send(await self._webhooks.call(call))
        except StopIteration as done:
            answer: Answer = done.value
        return answer

    async def settle(self) -> None:
        """Make the core's commits durable and known."""
        events = self.core.state.take_events()
        if not events:
            await self._caught_up()
            return
        if self._log is None:
            self._publish(events)
            return
        self._saving = saving = self._log.append(events)
        # Watches are told even if whoever wrote does not wait for the end.
        if saving.done():
            self._saved(events, saving)
        else:
            saving.add_done_callback(lambda done: self._saved(events, done))
        await asyncio.shield(saving)

    def _saved(self, events: Sequence[Event], saving: "asyncio.Future[None]") -> None:
        error = saving.exception()
        if error is None:
            self._publish(events)
            return
        # Memory is ahead of the disk now: going on would show what a restart takes back.
        _logger.critical("storage failed, no request is answered any more: %s", error)
        self._broken = str(error)

    async def _caught_up(self) -> None:
        """Wait until all that memory shows is on disk: nobody may build on what a kill would take back."""
        if self._saving is not None and not self._saving.done():
            await asyncio.wait([self._saving])

    def _publish(self, events: Sequence[Event]) -> None:
        state = self.core.state
        self._durable = max(self._durable, events[-1].version)
        for event in events:
            self.cleaner.note(state, event)
        for store in {event.store for event in events}:
            self._rouse(store)
        for listener in self.listeners:
            listener(events)
        self.clean()

    def _rouse(self, store: str) -> None:
        """Wake the watches of a collection: at once when they are few, else a moment later all writes together."""
        if len(self._waiting.get(store, ())) <= _FEW_WATCHES:
            self._wake(store)
        elif store not in self._rousing:
            self._rousing.add(store)
            asyncio.get_running_loop().call_later(_GATHER_SECONDS, self._wake, store)

    def _wake(self, store: str) -> None:
        self._rousing.discard(store)
        for future in self._waiting.pop(store, ()):
            _resolve(future)

    def clean(self) -> None:
        """Start cleaning up in the background when there is something to clean."""
        if not self.cleaner.idle and self._cleaning is None and not self._stopping:
            self._cleaning = asyncio.get_running_loop().create_task(self._clean())

    async def _clean(self) -> None:
        try:
            while not self.cleaner.idle:
                for request in self.cleaner.requests(self.core.state, self.clock.now()):
                    await self.answer(request, COLLECTOR)
                    await asyncio.sleep(0)
        finally:
            self._cleaning = None

    async def frames(self, watch: Watch, alive: Callable[[], bool] | None = None) -> AsyncIterator[bytes]:
        """The watch's frames as they come, several in one piece, until its time is over.

        ``alive`` says whether the reader is still there; it is asked now and then while nothing happens.
        """
        loop = asyncio.get_running_loop()
        seconds = watch.timeout or _WATCH_SECONDS * (1 + random.random())
        end = loop.time() + seconds
        bookmark = loop.time() + _BOOKMARK_SECONDS if watch.bookmarks else end
        with _Alarm(loop) as alarm:
            while True:
                if watch.converts:
                    await self._carried(watch.unconverted())
                frames = watch.read(self.clock.now, None if self._log is None else self._durable)
                if frames:
                    yield b"".join(frames)
                now = loop.time()
                if watch.ended or self._stopping or now >= end or (alive is not None and not alive()):
                    return
                if frames:
                    continue  # what was committed while the reader was busy woke nobody
                if now >= bookmark:
                    bookmark = now + _BOOKMARK_SECONDS
                    yield watch.bookmark()
                    continue
                until = min(end, bookmark, math.inf if alive is None else now + _ALIVE_SECONDS)
                # A timer may fire a hair too early; without a shortest wait that hair is spent in a busy loop.
                await self._change(watch.store, alarm, max(_SHORTEST_WAIT_SECONDS, until - now))

    async def _followed(self, first: bytes, log: LogRead) -> AsyncIterator[bytes]:
        """A log as it is written, until the container ends."""
        piece = first
        with _Alarm(asyncio.get_running_loop()) as alarm:
            while True:
                if piece:
                    yield piece
                if log.over or self._stopping:
                    return
                seconds = log.seconds_to_next(self.clock.now())
                await self._change(log.store, alarm, min(_ALIVE_SECONDS, max(_SHORTEST_WAIT_SECONDS, seconds)))
                piece = log.read(self.clock.now())

    async def _change(self, store: str, alarm: "_Alarm", seconds: float) -> None:
        """Wait for a commit to the collection, at most so long."""
        future = alarm.set(seconds)
        waiting = self._waiting.setdefault(store, {})
        waiting[future] = None
        try:
            await future
        finally:
            waiting.pop(future, None)

    def _count(self, request: Request, identity: Identity, status: int) -> None:
        agent = request.headers.get("user-agent", "")
        self.writes[agent, identity.user, request.method, shape(request.path), status] += 1

    async def stop(self) -> None:
        """End watches and background work; requests under way are finished by their transports."""
        self._stopping = True
        for futures in self._waiting.values():
            for future in futures:
                _resolve(future)
        if self._cleaning is not None:
            self._cleaning.cancel()
            await asyncio.gather(self._cleaning, return_exceptions=True)
        if self._log is not None:
            await self._log.close()


class _Alarm:
    """Bounds one wait after another. One timer serves them all: on a busy collection nearly every wait ends long before
    it would ring, and a timer for each costs more than the wait. It may ring early, never late."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._future: asyncio.Future[None] = loop.create_future()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> "_Alarm":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def set(self, seconds: float) -> "asyncio.Future[None]":
        """What to wait for; done after ``seconds`` at the latest."""
        self._future = self._loop.create_future()
        due = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > due:
            self._stop()
            self._timer = self._loop.call_at(due, self._ring)
        return self._future

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        _resolve(self._future)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@lru_cache(1024)
def shape(path: str) -> str:
    """The resource and subresource of a path without namespace and name: ``batch/v1/jobs/status``."""
    parts = [part for part in path.split("/") if part]
    prefix, rest = (parts[1:2], parts[2:]) if parts[:1] == ["api"] else (parts[1:3], parts[3:])
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    return "/".join([*prefix, *rest[:1], *rest[2:3]])
