"""Keeps a link to one address of the hub: dials, dials again with back-off, and changes over when the identity does."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from worker_agent.kube.clock import Clock
from worker_agent.kube.transport import Transport
from worker_agent.tunnel import hub_api
from worker_agent.tunnel.answerer import Answerer
from worker_agent.tunnel.hub_api import HubRefused
from worker_agent.tunnel.identity import Identity
from worker_agent.tunnel.protocol import Purpose
from worker_agent.tunnel.tls import UnusablePair

log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 30.0
"""A link that lived so long was a good one: the next pause is a short one again."""
HANDOVER_SECONDS: Final = 60.0
"""How long a superseded link may take to complete what is under way on it."""


@dataclass(frozen=True, slots=True)
class DialerMetrics:
    """``linked(address, up)``; ``traffic(address, sent, received)`` in bytes since the last call."""

    linked: Callable[[str, bool], None] = lambda address, up: None
    traffic: Callable[[str, int, int], None] = lambda address, sent, received: None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all dialers of an agent share. ``transport`` is the gatekeeper; ``heartbeat`` in seconds."""

    transport: Transport
    clock: Clock
    cluster_uid: str
    heartbeat: float = 10.0
    metrics: DialerMetrics = field(default_factory=DialerMetrics)


class Link:
    """The two connections of one dial; when one ends so does the other."""

    def __init__(self, address: str, surroundings: Surroundings) -> None:
        self._address = address
        self._surroundings = surroundings
        self._stack = AsyncExitStack()
        self._sessions: list[Answerer] = []
        self._counted = (0, 0)
        self._task: asyncio.Task[str] | None = None

    async def open(self, identity: Identity) -> None:
        """Raises ConnectionError, HubRefused, UnusablePair; then nothing is left open."""
        try:
            hub = await self._stack.enter_async_context(hub_api.of(identity, self._address))
            name = uuid4().hex
            for purpose in Purpose:
                pipe = await hub.tunnel(purpose, name, self._surroundings.cluster_uid)
                self._sessions.append(
                    Answerer(
                        pipe,
                        self._surroundings.clock,
                        self._surroundings.transport,
                        heartbeat=self._surroundings.heartbeat,
                    )
                )
        except BaseException:
            await self._stack.aclose()
            raise
        self._task = asyncio.create_task(self._serve(), name=f"link to {self._address}")

    async def ended(self) -> str:
        """Waits for the end and tells the reason."""
        assert self._task is not None, "opened first"
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._stack.aclose()  # a task that is cancelled before its first step closes nothing

    async def _serve(self) -> str:
        sessions = [asyncio.create_task(session.run()) for session in self._sessions]
        counting = asyncio.create_task(self._count())
        try:
            done, _ = await asyncio.wait([*sessions, counting], return_when=asyncio.FIRST_COMPLETED)
            return "; ".join(sorted({str(task.exception()) for task in done}))
        finally:
            for task in [*sessions, counting]:
                task.cancel()
            await asyncio.gather(*sessions, counting, return_exceptions=True)
            self._tell_traffic()
            await self._stack.aclose()

    async def _count(self) -> None:
        while True:
            await self._surroundings.clock.sleep(5.0)
            self._tell_traffic()

    def _tell_traffic(self) -> None:
        sent = sum(session.traffic.sent for session in self._sessions)
        received = sum(session.traffic.received for session in self._sessions)
        self._surroundings.metrics.traffic(self._address, sent - self._counted[0], received - self._counted[1])
        self._counted = (sent, received)


class Dialer:
    """``run`` works until cancelled. ``identity`` may be replaced at any time: a new link is opened beside the old one,
    which is given up only when the new one stands."""

    def __init__(self, address: str, identity: Identity, surroundings: Surroundings) -> None:
        self.address = address
        self.linked = False
        self._identity = identity
        self._changed = asyncio.Event()
        self._surroundings = surroundings
        self._link: Link | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._pause = FIRST_PAUSE_SECONDS

    def use(self, identity: Identity) -> None:
        if identity != self._identity:
            self._identity = identity
            self._changed.set()

    async def run(self) -> None:
        try:
            while True:
                await self._dial()
        finally:
            self._set_linked(False)
            for task in self._leaving:
                task.cancel()
            await asyncio.gather(*self._leaving, return_exceptions=True)
            if self._link is not None:
                await self._link.close()

    async def _dial(self) -> None:
        """One attempt, and the life of the link it makes."""
        self._changed.clear()
        link = Link(self.address, self._surroundings)
        try:
            await link.open(self._identity)
        except (ConnectionError, HubRefused, UnusablePair) as error:
            log.warning("no link to the hub at %s: %s", self.address, error)
            await self._wait()
            return
        log.info("linked to the hub at %s as %s", self.address, self._identity.agent)
        if self._link is not None:
            self._hand_over(self._link)
        self._link = link
        self._set_linked(True)
        await self._live(link)

    async def _live(self, link: Link) -> None:
        began = self._surroundings.clock.monotonic()
        ended = asyncio.ensure_future(link.ended())
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait([ended, changed], return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        if not ended.done():
            ended.cancel()
            return  # the identity changed: dial anew, with this link still in use
        self._link = None
        self._set_linked(False)
        log.warning("the link to the hub at %s ended: %s", self.address, ended.result())
        if self._surroundings.clock.monotonic() - began >= STEADY_SECONDS:
            self._pause = FIRST_PAUSE_SECONDS
        await self._wait()

    async def _wait(self) -> None:
        """A pause with jitter, so that a hub that comes back is not met by all agents at once; each twice the last.

        A new identity ends it: what was refused to the old one is none of its business.
        """
        clock = self._surroundings.clock
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        over = asyncio.ensure_future(clock.sleep(pause * (0.5 + clock.random())))
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait([over, changed], return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            changed.cancel()
        if self._changed.is_set():
            self._pause = FIRST_PAUSE_SECONDS

    def _hand_over(self, old: Link) -> None:
        """The hub sends nothing more on ``old``, completes what is under way, and closes it."""
        task = asyncio.create_task(self._leave(old), name=f"handover at {self.address}")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, old: Link) -> None:
        ended = asyncio.ensure_future(old.ended())
        limit = asyncio.ensure_future(self._surroundings.clock.sleep(HANDOVER_SECONDS))
        try:
            await asyncio.wait([ended, limit], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            limit.cancel()
            await old.close()

    def _set_linked(self, linked: bool) -> None:
        self.linked = linked
        self._surroundings.metrics.linked(self.address, linked)
