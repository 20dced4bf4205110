"""The agent's side of the tunnel: follows the identity in its Secret, dials the hub's addresses, renews in time."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import SECRETS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError
from worker_agent.kube.informer import Event, Informer, document
from worker_agent.tunnel import joining
from worker_agent.tunnel.dialer import Dialer
from worker_agent.tunnel.held_links import HeldLinks
from worker_agent.tunnel.hub_api import HubRefused
from worker_agent.tunnel.identity import SECRET_NAME, Identity, IdentityError, IdentityStore
from worker_agent.tunnel.link import Surroundings
from worker_agent.tunnel.tls import UnusablePair

log = logging.getLogger(__name__)

RETRY_SHARE: Final = 1 / 20
"""After a failed renewal: this share of what is left of the certificate's life."""
LONGEST_RETRY_SECONDS: Final = 3600.0
SHORTEST_RETRY_SECONDS: Final = 0.5
JITTER_SHARE: Final = 0.1
"""Agents that joined together do not renew together."""
UID_RETRY_SECONDS: Final = 2.0


NEEDS = need.followed([SECRETS], Place.OWN_NAMESPACE)


class TunnelService:
    """``run`` works until cancelled; without an identity it waits for one. The informer must run beside it."""

    def __init__(self, client: Client, namespace: str, surroundings: Surroundings) -> None:
        self.informer: Informer[Document] = Informer(
            client, SECRETS, document, namespace=namespace, field_selector=f"metadata.name={SECRET_NAME}"
        )
        self.informer.add_handler(self._secret_changed)
        self._client = client
        self._store = IdentityStore(client, namespace)
        self._surroundings = surroundings
        self._identity: Identity | None = None
        self._changed = asyncio.Event()
        self._dialers: dict[str, tuple[Dialer, asyncio.Task[None]]] = {}
        self._links = HeldLinks(surroundings, self._link_ended)

    @property
    def linked(self) -> list[str]:
        """Replicas of the hub to which a link stands."""
        return self._links.replicas

    @property
    def leader(self) -> str:
        """The replica that leads, as far as this agent was told."""
        return self._links.leader

    async def run(self) -> None:
        self._surroundings = replace(self._surroundings, cluster_uid=await self._cluster_uid())
        try:
            while True:
                self._changed.clear()
                await self._use(self._identity)
                await self._until_changed_or_renewed()
        finally:
            await self._use(None)

    def _secret_changed(self, event: Event[Document]) -> None:
        identity: Identity | None = None
        if event.new is not None:
            try:
                found = Identity.from_document(event.new)
                identity = found if found.certificate else None
            except IdentityError as error:
                log.error("no link to the hub: %s", error)
        if identity != self._identity:
            self._identity = identity
            self._changed.set()

    async def _cluster_uid(self) -> str:
        while True:
            try:
                return await joining.cluster_uid(self._client)
            except (ApiError, ConnectionError) as error:
                log.warning("the cluster's own identity cannot be read yet: %s", error)
            await self._surroundings.clock.sleep(UID_RETRY_SECONDS)

    async def _use(self, identity: Identity | None) -> None:
        """Bring the dialers in line with the identity."""
        wanted = identity.hubs if identity is not None else ()
        for address in [known for known in self._dialers if known not in wanted]:
            _, task = self._dialers.pop(address)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._links.give_up(address)
        if identity is None:
            await self._links.close()
            return
        for address in wanted:
            if address in self._dialers:
                self._dialers[address][0].use(identity)
                continue
            dialer = Dialer(address, identity, self._links, self._surroundings)
            self._dialers[address] = (dialer, asyncio.create_task(dialer.run(), name=f"dialer {address}"))

    def _link_ended(self, lived: float) -> None:
        for dialer, _ in self._dialers.values():
            dialer.link_ended(lived)

    async def _until_changed_or_renewed(self) -> None:
        identity = self._identity
        if identity is None:
            await self._changed.wait()
            return
        clock = self._surroundings.clock
        life = (identity.expires_at - clock.now()).total_seconds()
        due = (identity.renewal_at() - clock.now()).total_seconds()
        pause = max(0.0, due) + life * JITTER_SHARE * clock.random()
        while not await self._changes_within(pause):
            if await self._renew(identity):
                return
            pause = _retry_after((identity.expires_at - clock.now()).total_seconds())

    async def _changes_within(self, seconds: float) -> bool:
        waiting = asyncio.ensure_future(self._changed.wait())
        limit = asyncio.ensure_future(self._surroundings.clock.sleep(seconds))
        try:
            await asyncio.wait([waiting, limit], return_when=asyncio.FIRST_COMPLETED)
            return self._changed.is_set()
        finally:
            for task in (waiting, limit):
                task.cancel()
            await asyncio.gather(waiting, limit, return_exceptions=True)

    async def _renew(self, identity: Identity) -> bool:
        """True when the new certificate is stored; whoever watches the Secret then takes it up, this service too."""
        clock = self._surroundings.clock
        if clock.now() >= identity.expires_at:
            log.error(
                "the certificate for the hub expired at %s: join again with the token of a new `fedhub enroll %s`",
                identity.expires_at.isoformat(),
                identity.agent,
            )
            return False
        try:
            renewed = await joining.renewed(identity, self._surroundings.cluster_uid)
            await self._store.save(renewed)
        except (ApiError, ConnectionError, HubRefused, UnusablePair) as error:
            expiry = identity.expires_at.isoformat()
            log.warning("the certificate for the hub, which expires at %s, was not renewed: %s", expiry, error)
            return False
        log.info("the certificate for the hub was renewed; it expires at %s", renewed.expires_at.isoformat())
        if renewed != self._identity:
            self._identity = renewed
            self._changed.set()
        return True


def _retry_after(left: float) -> float:
    """Seconds until a failed renewal is tried again; with no life ``left`` only a new join helps."""
    if left <= 0:
        return LONGEST_RETRY_SECONDS
    return min(max(left * RETRY_SHARE, SHORTEST_RETRY_SECONDS), LONGEST_RETRY_SECONDS)
