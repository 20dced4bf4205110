"""The links that an agent holds, by replica of its hub, whichever address led to it."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from worker_agent.tunnel.identity import Identity
from worker_agent.tunnel.link import Link, Surroundings
from worker_agent.tunnel.pace import Stand
from worker_agent.tunnel.protocol import Replica

log = logging.getLogger(__name__)

HANDOVER_SECONDS: Final = 60.0
"""How long a superseded link may take to complete what is under way on it."""
MOST_REPLICAS: Final = 16
"""Far more than a hub has: one that is hostile may name another at each dial, and each link holds memory here."""


class HeldLinks:
    """One owner, the event loop. ``on_end(lived)`` hears of links that ended by themselves, after so many seconds."""

    def __init__(self, surroundings: Surroundings, on_end: Callable[[float], None]) -> None:
        self.leader = ""
        """The replica that leads, as the last one that was met said; empty where it knew of none."""
        self._surroundings = surroundings
        self._on_end = on_end
        self._current: dict[str, Link] = {}
        self._begun: dict[str, Link] = {}
        self._watching: dict[Link, asyncio.Task[None]] = {}
        self._closing: set[Link] = set()

    @property
    def replicas(self) -> list[str]:
        """Those to which a link stands."""
        return list(self._current)

    def stand(self, identity: Identity) -> Stand:
        """Whether anything is urgent: the link to the leader, or one that is still of another certificate."""
        if not self.leader:
            return Stand.LEADERLESS
        if self.leader not in self._current:
            return Stand.SEARCHING
        renewed = all(link.certificate == identity.certificate for link in self._current.values())
        return Stand.SETTLED if renewed else Stand.RENEWING

    def to(self, met: Replica, address: str, identity: Identity) -> Link | None:
        """The link to this replica that waits for connections; None where one of this certificate is complete, and
        where there are too many others."""
        self.leader = met.leader
        self._surroundings.metrics.leads(self.leader in self._current)
        current, begun = self._current.get(met.name), self._begun.get(met.name)
        if current is not None and current.certificate == identity.certificate:
            return None
        if current is None and begun is None and len(self._current.keys() | self._begun.keys()) >= MOST_REPLICAS:
            return None
        if begun is None or begun.over or begun.certificate != identity.certificate:
            if begun is not None:
                self._leave(begun)
            begun = self._begun[met.name] = Link(met.name, address, identity, self._surroundings)
        return begun

    def added(self, link: Link) -> None:
        """A connection came to a link that was begun here. Complete, it takes the place of the one there was."""
        if link not in self._watching:
            self._watching[link] = asyncio.create_task(self._watch(link), name=f"link to {link.replica}")
        if not link.complete:
            return
        del self._begun[link.replica]
        before = self._current.get(link.replica)
        self._current[link.replica] = link
        if before is not None:
            # The hub sends nothing more on it, completes what is under way, and closes it.
            self._leave(before, HANDOVER_SECONDS)
        log.info("linked to the hub's replica %s at %s as %s", link.replica, link.address, link.agent)
        self._tell(link.address)

    async def give_up(self, address: str) -> None:
        """Nothing of what this address led to is wanted any more."""
        for link in [each for each in (*self._current.values(), *self._begun.values()) if each.address == address]:
            self._forget(link)
            self._leave(link)
        self._tell(address)

    async def close(self) -> None:
        """Doing it twice is fine: what an interruption left open the first time is closed the second."""
        self._closing |= {*self._current.values(), *self._begun.values(), *self._watching}
        self._current.clear()
        self._begun.clear()
        tasks = list(self._watching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._watching.clear()
        while self._closing:
            link = next(iter(self._closing))
            await link.close()
            self._closing.discard(link)
            self._tell(link.address)

    async def _watch(self, link: Link) -> None:
        reason = await link.ended()
        if self._forget(link):
            log.warning("the link to the hub's replica %s at %s ended: %s", link.replica, link.address, reason)
            self._tell(link.address)
            self._on_end(self._surroundings.clock.monotonic() - link.began)
        await link.close()
        self._watching.pop(link, None)

    def _leave(self, link: Link, seconds: float = 0.0) -> None:
        """Close it when its work is complete, and after so many seconds anyhow."""
        if not seconds:
            link.give_up()  # a connection that is under way to it comes too late
        watching = self._watching.pop(link, None)
        if watching is not None:
            watching.cancel()
        self._watching[link] = asyncio.create_task(self._ended_within(link, seconds), name=f"leaving {link.replica}")

    async def _ended_within(self, link: Link, seconds: float) -> None:
        ended = asyncio.ensure_future(link.ended())
        limit = asyncio.ensure_future(self._surroundings.clock.sleep(seconds))
        try:
            await asyncio.wait([ended, limit], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            limit.cancel()
            await link.close()
            self._watching.pop(link, None)

    def _forget(self, link: Link) -> bool:
        """Whether it was one that is in use, or was to be."""
        for held in (self._current, self._begun):
            if held.get(link.replica) is link:
                del held[link.replica]
                return True
        return False

    def _tell(self, address: str) -> None:
        metrics = self._surroundings.metrics
        metrics.linked(address, sum(link.address == address for link in self._current.values()))
        metrics.leads(self.leader in self._current)
