"""Dials one address of the hub, again and again: each time it may lead to another replica, and links come and go."""

import asyncio
import logging
from contextlib import AsyncExitStack

from worker_agent.tunnel import hub_api
from worker_agent.tunnel.held_links import HeldLinks
from worker_agent.tunnel.hub_api import HubRefused
from worker_agent.tunnel.identity import Identity
from worker_agent.tunnel.link import Surroundings
from worker_agent.tunnel.pace import Dialled, Pace
from worker_agent.tunnel.protocol import Replica
from worker_agent.tunnel.tls import UnusablePair

log = logging.getLogger(__name__)


class Dialer:
    """``run`` works until cancelled. ``identity`` may be replaced at any time: new links are opened beside the old
    ones, each of which is given up only when its successor stands."""

    def __init__(self, address: str, identity: Identity, links: HeldLinks, surroundings: Surroundings) -> None:
        self.address = address
        self._identity = identity
        self._links = links
        self._surroundings = surroundings
        self._pace = Pace()
        self._news = asyncio.Event()

    def use(self, identity: Identity) -> None:
        if identity != self._identity:
            self._identity = identity
            self._pace.afresh()
            self._news.set()

    def link_ended(self, lived: float) -> None:
        """Whichever address had led to it: its successor may be found at this one."""
        self._pace.link_ended(lived, self._surroundings.clock.monotonic())
        self._news.set()

    async def run(self) -> None:
        clock = self._surroundings.clock
        while True:
            self._news.clear()
            outcome = await self._dial()
            self._surroundings.metrics.dialled(self.address, outcome)
            self._pace.dialled(outcome, clock.monotonic())
            await self._wait()

    async def _dial(self) -> Dialled:
        try:
            return await self._connected(self._identity)
        except (ConnectionError, HubRefused, UnusablePair) as error:
            log.warning("dialling the hub at %s: %s", self.address, error)
            return Dialled.FAILED

    async def _connected(self, identity: Identity) -> Dialled:
        """Goes where the address leads, and adds the connection that is missing there."""
        async with AsyncExitStack() as stack:
            hub = await stack.enter_async_context(hub_api.of(identity, self.address, self._surroundings.clock.random))
            met = await hub.replica()
            log.debug(
                "%s leads to replica %s, which says that %s leads", self.address, met.name, met.leader or "nobody"
            )
            # A hub that does not say is all that its address leads to.
            link = self._links.to(met if met.name else Replica(self.address, self.address), self.address, identity)
            if link is None:
                return Dialled.KNOWN
            with link.promised() as purpose:
                if purpose is None:
                    return Dialled.KNOWN
                pipe = await hub.tunnel(purpose, link.name, self._surroundings.cluster_uid, met.name)
                if link.over:
                    raise ConnectionError(f"the other connection to {link.replica} broke meanwhile")
                link.add(purpose, pipe, stack.pop_all())
            self._links.added(link)
        return Dialled.LINKED

    async def _wait(self) -> None:
        """Until it is time for the next dial, counted anew when there is news."""
        clock = self._surroundings.clock
        while True:
            pause = self._pace.pause(self._links.stand(self._identity), clock.random(), clock.monotonic())
            over = asyncio.ensure_future(clock.sleep(pause))
            news = asyncio.ensure_future(self._news.wait())
            try:
                await asyncio.wait([over, news], return_when=asyncio.FIRST_COMPLETED)
            finally:
                over.cancel()
                news.cancel()
            if not self._news.is_set():
                return
            self._news.clear()
