"""The leader's term: one higher than that of every leader before it, counted on a Lease of the manager cluster."""

import asyncio
import logging
from typing import Final

import msgspec

from hub.clusters.worker_lease import Superseded
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import LEASES
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from worker_agent.kube.events import micro_time

log = logging.getLogger(__name__)

LEASE_NAME: Final = "fedhub-dispatch-term"
RETRY_SECONDS: Final = 1.0


NEEDS = (need.of(LEASES, "get", "create", "update", place=Place.OWN_NAMESPACE),)


class DispatchTerm:
    """``value`` is 0 before ``take`` and where the manager allows no Lease: then nothing that is sent is fenced."""

    def __init__(self, client: Client, namespace: str, holder: str) -> None:
        self.value = 0
        self._client = client
        self._namespace = namespace
        self._holder = holder
        self._turn = asyncio.Lock()

    async def take(self) -> None:
        """Begin a new term; waits for the API server as long as it takes."""
        while True:
            try:
                if await self._count_up(at_least=1):
                    log.info("leading in term %d", self.value)
                    return
            except (Forbidden, NotFound) as error:
                log.warning("no term for this hub, what it sends is not fenced: %s", error)
                return
            except (ApiError, ConnectionError) as error:
                log.warning("term not taken yet: %s", error)
            await self._client.clock.sleep(RETRY_SECONDS)

    async def raise_above(self, term: int) -> None:
        """Make the term higher than ``term``, which a worker knows although the manager's count is behind: it was
        restored from a backup. Raises Superseded where the manager knows of a later leader."""
        async with self._turn:
            if self.value > term:
                return
            found = await self._read()
            stored = _term_of(found)
            if stored > self.value or (stored == self.value and _holder_of(found) != self._holder):
                raise Superseded(f"another leader of this hub is in term {stored}, this one was in {self.value}")
            if not await self._count_up(at_least=term + 1):
                raise Superseded("another leader of this hub takes a new term")

    async def _count_up(self, at_least: int) -> bool:
        """False when somebody else counted up in between."""
        found = await self._read()
        term = max(_term_of(found) + 1, at_least)
        now = micro_time(self._client.clock.now())
        spec = {"holderIdentity": self._holder, "acquireTime": now, "renewTime": now, "leaseTransitions": term}
        metadata = (found or {}).get("metadata") or {"name": LEASE_NAME}
        lease = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        try:
            if found is None:
                await self._client.create(LEASES, lease, self._namespace)
            else:
                await self._client.update(LEASES, lease, self._namespace)
        except (AlreadyExists, Conflict):
            return False
        self.value = term
        return True

    async def _read(self) -> Document | None:
        try:
            found: Document = msgspec.json.decode(await self._client.get(LEASES, LEASE_NAME, self._namespace))
        except NotFound:
            return None
        return found


def _holder_of(lease: Document | None) -> str:
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


def _term_of(lease: Document | None) -> int:
    return int(((lease or {}).get("spec") or {}).get("leaseTransitions") or 0)
