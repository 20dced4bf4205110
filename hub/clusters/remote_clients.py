"""The workers the hub knows: one entry per MultiKueueCluster, and the reconcile that keeps each in contact (spec 6).

Nothing here waits for more than its own cluster: every entry has its own attempt under way, and a worker that does not
answer costs its own patience only.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Generic, Protocol, TypeVar

from hub.clusters import credentials
from hub.clusters.credentials import Credential, CredentialError, CredentialSources
from hub.engine import contact
from hub.engine.condition import Stand
from hub.engine.contact import IN_PROGRESS_SECONDS, Contact
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.kube.clock import Clock, SteadyTime

CONNECTED: Final = Stand("True", "Active", "Connected")


class Link(Protocol):
    """An open connection: watches run until it is closed."""

    async def close(self) -> None: ...


L = TypeVar("L", bound=Link)
L_co = TypeVar("L_co", bound=Link, covariant=True)


class Connector(Protocol[L_co]):
    """Makes a connection and opens its watches within ``patience`` seconds. ``lost`` is to be called when a stream ends
    later. Raises ConnectionFailed."""

    async def __call__(
        self, cluster: str, credential: Credential, patience: float, lost: Callable[[], None]
    ) -> L_co: ...


class ConnectionFailed(Exception):
    """The worker cannot be reached or watched; text and ``reason`` go into the Active condition."""

    def __init__(self, message: str, reason: str = "ClientConnectionFailed") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass
class Entry(Generic[L]):
    """What is known of one worker; ``link`` is there while its watches run."""

    contact: Contact
    credential: Credential = field(default_factory=Credential)
    link: L | None = None
    opening: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """``stand`` is None where the status is to be left alone; ``error`` is reported and tried again with back-off."""

    stand: Stand | None = None
    requeue: float | None = None
    error: str = ""


class RemoteClients(Generic[L]):
    """The registry. ``on_lost(name)`` hears of the first drop of a connection; ``on_reset(name)`` before
    and after the life of each: what was learnt through it no longer holds. ``replica`` is the name of this one."""

    def __init__(
        self,
        connect: Connector[L],
        clock: Clock,
        *,
        on_lost: Callable[[str], None] = lambda name: None,
        on_reset: Callable[[str], None] = lambda name: None,
        replica: str = "",
    ) -> None:
        self._connect = connect
        self._replica = replica
        self.time = SteadyTime(clock)
        """By which contacts are counted: no outage gets longer or shorter because a clock was set."""
        self._on_lost = on_lost
        self._on_reset = on_reset
        self.entries: dict[str, Entry[L]] = {}
        self.leaving: dict[str, datetime] = {}
        """Clusters that are being forgotten, and since when by ``time``."""
        self.never_reached: dict[str, datetime] = {}
        """Clusters that had no usable credential since this program began, and since when by ``time`` it knows."""
        self.cleared: set[str] = set()
        """Clusters that were forgotten with nothing of ours left there."""

    def connected(self) -> Mapping[str, L]:
        """Links of the workers in contact, by cluster name."""
        return {
            name: entry.link
            for name, entry in self.entries.items()
            if entry.link is not None and entry.contact.connected
        }

    def link(self, name: str) -> L | None:
        entry = self.entries.get(name)
        return entry.link if entry is not None and entry.contact.connected else None

    def is_first_tried(self, name: str) -> bool:
        """Whether it will be known in a moment how a cluster's contact stands: the first attempt goes on since this
        program began or the contact was lost, or has not begun."""
        entry = self.entries.get(name)
        if entry is None:
            return name not in self.never_reached
        return entry.opening and entry.link is None and not entry.contact.failures

    def contacts(self) -> Iterator[tuple[str, Contact]]:
        """Their times are those of ``time``."""
        return ((name, entry.contact) for name, entry in self.entries.items())

    async def forget(self, name: str, farewell: Callable[[L], Awaitable[bool]] | None = None) -> None:
        """The MultiKueueCluster is gone: end its watches. ``farewell`` is done first where the worker is in contact;
        until it is over the cluster counts as out of contact."""
        self.never_reached.pop(name, None)
        entry = self.entries.pop(name, None)
        if entry is None:
            return
        link = entry.link if entry.contact.connected else None
        if farewell is not None and link is not None:
            self.leaving[name] = self.time.now()
            try:
                if await farewell(link):
                    self.cleared.add(name)
            finally:
                self.leaving.pop(name, None)
        await self._stop(name, entry)

    async def reconcile(self, cluster: MultiKueueCluster, sources: CredentialSources) -> Outcome:
        """Bring the entry of ``cluster`` in line with what its spec names now."""
        name = cluster.metadata.name
        try:
            credential = credentials.load(cluster, sources)
        except CredentialError as error:
            return await self._without_credential(name, error)
        entry = self.entries.get(name)
        if entry is None:
            self.cleared.discard(name)
            self.never_reached.pop(name, None)
            entry = self.entries[name] = Entry(Contact(self.time.now()))
        if entry.opening:
            return Outcome(requeue=IN_PROGRESS_SECONDS)
        return await self._apply(name, entry, credential)

    async def close(self) -> None:
        for name in list(self.entries):
            await self.forget(name)

    async def _without_credential(self, name: str, error: CredentialError) -> Outcome:
        entry = self.entries.get(name)
        message = f"load client config failed: {error.message}"
        if entry is not None:
            await self._stop(name, entry)
            entry.contact = entry.contact.lost(self.time.now())
            message = self._explained(entry, message)
        else:
            self.never_reached.setdefault(name, self.time.now())
        stand = Stand("False", error.reason, message)
        if error.missing:
            return Outcome(stand)
        return Outcome(stand, error=f"failed to load client config, reason: {error.reason}, error: {error.message}")

    async def _apply(self, name: str, entry: Entry[L], credential: Credential) -> Outcome:
        changed = credential != entry.credential
        if not changed and entry.contact.connected:
            return Outcome(self._in_contact(entry))
        await self._stop(name, entry)
        if changed:
            entry.credential = credential
            entry.contact = entry.contact.lost(self.time.now()).with_new_configuration()
        wait = entry.contact.wait(self.time.now())
        if wait:
            return Outcome(requeue=wait.total_seconds())
        return await self._open(name, entry)

    async def _open(self, name: str, entry: Entry[L]) -> Outcome:
        entry.opening = True
        patience = contact.patience(entry.contact.failures).total_seconds()
        self._on_reset(name)
        try:
            link = await self._connect(name, entry.credential, patience, lambda: self._lost(name, entry))
        except ConnectionFailed as failure:
            entry.contact = entry.contact.failed(self.time.now())
            wait = entry.contact.wait(self.time.now()).total_seconds()
            if not entry.contact.failures:
                return Outcome(requeue=wait)
            stand = Stand("False", failure.reason, self._explained(entry, str(failure)))
            return Outcome(stand, requeue=wait)
        finally:
            entry.opening = False
        if self.entries.get(name) is not entry:
            # The cluster was removed while we waited for it.
            await link.close()
            return Outcome()
        entry.link = link
        entry.contact = entry.contact.made()
        return Outcome(self._in_contact(entry))

    def _in_contact(self, entry: Entry[L]) -> Stand:
        """Who dials in holds links to several replicas; which of them is used is worth a word."""
        if not entry.credential.agent:
            return CONNECTED
        agent = entry.credential.agent
        return replace(CONNECTED, message=f'Connected by the link that agent "{agent}" holds to {self._replica}')

    def _explained(self, entry: Entry[L], message: str) -> str:
        due = entry.contact.next_attempt
        told = entry.contact if due is None else replace(entry.contact, next_attempt=self.time.on_the_wall(due))
        return told.explained(message)

    def _lost(self, name: str, entry: Entry[L]) -> None:
        if self.entries.get(name) is entry and entry.contact.connected:
            entry.contact = entry.contact.lost(self.time.now())
            self._on_lost(name)

    async def _stop(self, name: str, entry: Entry[L]) -> None:
        link, entry.link = entry.link, None
        if link is not None:
            await link.close()
            self._on_reset(name)
