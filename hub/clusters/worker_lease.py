"""The lease that the hub holds in a worker cluster: its term there, and the sign of life that the agent goes by."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from hub.engine.condition import Stand
from hub.engine.fencing import FenceTiming
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import LEASES
from worker_agent.engine import fencing
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, ServerError
from worker_agent.kube.events import micro_time

log = logging.getLogger(__name__)

ATTEMPTS: Final = 5
FIELD_MANAGER: Final = "fedhub-hub"


class Superseded(Exception):
    """A later leader of this hub has taken the cluster."""


@dataclass(frozen=True, slots=True)
class HubIdentity:
    """Who holds the leases: ``term`` is the leader's own, ``raise_above(term)`` makes it higher than one that a worker
    knows, or raises Superseded where that one is a later leader's."""

    origin: str
    holder: str
    namespace: str
    timing: FenceTiming
    term: Callable[[], int]
    raise_above: Callable[[int], Awaitable[None]]
    changed: Callable[[str], None] = lambda cluster: None
    """Hears of clusters whose ``stand`` may differ now."""


FENCED: Final = Stand(
    "True",
    "AgentWatches",
    "An agent there starts nothing that an earlier leader of this hub sent, and stops what may be started elsewhere",
)
_AS_WITH_KUEUE: Final = "as with Kueue, the job of a lost worker may run twice until contact returns"
NO_AGENT: Final = Stand("False", "NoAgent", f"No agent there has confirmed the hub's lease: {_AS_WITH_KUEUE}")


class WorkerLease:
    """Taken when contact is made, then renewed for as long as it lasts. ``term`` is 0 where no lease can be had (no
    rights, no namespace): what is sent there is not fenced."""

    def __init__(self, client: Client, hub: HubIdentity, cluster: str) -> None:
        self.term = 0
        self._cluster = cluster
        self._renewals = 0
        self.acknowledged = 0
        """The last term that an agent there has confirmed."""
        self.why_unfenced = ""
        self._client = client
        self._hub = hub
        self._renewed_at = float("-inf")
        self._written: Document | None = None
        """As the server answered our last write, while nothing has failed since."""

    @property
    def fenced(self) -> bool:
        """An agent there goes by this lease."""
        return bool(self.term) and self.acknowledged == self.term

    @property
    def stand(self) -> Stand | None:
        """What the cluster's condition says of the fence; None while the agent has not had the time to answer."""
        if self.fenced:
            return FENCED
        if not self.term:
            return Stand("False", "NoLease", f"The hub holds no lease there ({self.why_unfenced}): {_AS_WITH_KUEUE}")
        return NO_AGENT if self._renewals else None

    @property
    def held(self) -> bool:
        """Whether work may be sent: the last renewal that was acknowledged has not run out, counted from before it."""
        age = self._client.clock.monotonic() - self._renewed_at
        return not self.term or age < self._hub.timing.lease.total_seconds()

    async def take(self) -> None:
        """Write this leader's term, and know that no earlier leader's work starts there from now on.

        Raises Superseded, ApiError and ConnectionError.
        """
        if not self._hub.term():
            self.why_unfenced = "the hub has no term of its own"
            return
        try:
            for _ in range(ATTEMPTS):
                if await self._write():
                    return
        except (Forbidden, NotFound) as error:
            self.term = 0
            self.why_unfenced = error.message
            return
        raise Superseded(f"lease {fencing.lease_name(self._hub.origin)} changes hands all the time")

    async def keep(self) -> None:
        """Renew until cancelled. Raises Superseded when a later leader took the cluster."""
        while self.term:
            await self._client.clock.sleep(self._hub.timing.renewal)
            before = self.stand
            try:
                if await self._write():
                    self._renewals += 1
                if self.stand != before:
                    self._hub.changed(self._cluster)
            except (ApiError, ConnectionError) as error:
                # The watches tell of lost contact; a lease that runs out keeps new work back.
                log.warning("hub lease not renewed: %s", error)

    async def _write(self) -> bool:
        """One renewal; False when somebody else wrote in between.

        What we wrote last is renewed unread: its version tells the server whether anybody (an agent that confirms, a
        later leader) has written since. It is read after whatever failed, as an answer may have been lost; and by each
        connection anew, as a server that goes back to a backup, and so to versions it has given before, ends them.
        """
        written, self._written = self._written, None
        if written is not None:
            try:
                if await self._put(written):
                    return True
            except (NotFound, ServerError) as error:
                # So is told of one that was deleted: a lease may be created by PUT, and then must name no version.
                log.warning("hub lease on %s is read again: %s", self._cluster, error)
        return await self._put(await self._read())

    async def _put(self, found: Document | None) -> bool:
        """Renews ``found`` unless somebody else has written since."""
        # It counts from before it was asked for: the agent may have seen it at any moment since.
        asked_at = self._client.clock.monotonic()
        lease = await self._renewed(found)
        try:
            if found is None:
                raw = await self._client.create(LEASES, lease, self._hub.namespace, field_manager=FIELD_MANAGER)
            else:
                raw = await self._client.update(LEASES, lease, self._hub.namespace)
        except (AlreadyExists, Conflict):
            return False
        self._renewed_at = asked_at
        written: Document = msgspec.json.decode(raw)
        self._written = written
        self.term = int(value_at(written, "spec.leaseTransitions", 0))
        self.acknowledged = fencing.read(written, asked_at).acknowledged
        return True

    async def _read(self) -> Document | None:
        try:
            raw = await self._client.get(LEASES, fencing.lease_name(self._hub.origin), self._hub.namespace)
        except NotFound:
            return None
        found: Document = msgspec.json.decode(raw)
        return found

    async def _renewed(self, found: Document | None) -> Document:
        """The lease as it is to be written. Raises Superseded."""
        hub = self._hub
        spec = dict((found or {}).get("spec") or {})
        there, holder = int(spec.get("leaseTransitions") or 0), spec.get("holderIdentity") or ""
        if there > hub.term() or (there == hub.term() and holder not in ("", hub.holder)):
            await hub.raise_above(there)
        now = micro_time(self._client.clock.now())
        if there != hub.term():
            spec["acquireTime"] = now
        spec |= {
            "holderIdentity": hub.holder,
            "leaseDurationSeconds": hub.timing.lease_seconds,
            "renewTime": now,
            "leaseTransitions": hub.term(),
        }
        metadata = dict((found or {}).get("metadata") or {"name": fencing.lease_name(hub.origin)})
        metadata["labels"] = {**(metadata.get("labels") or {}), names.HUB_LEASE_LABEL: hub.origin}
        poll = str(max(1, round(hub.timing.poll.total_seconds())))
        metadata["annotations"] = {**(metadata.get("annotations") or {}), names.FENCE_POLL_ANNOTATION: poll}
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
