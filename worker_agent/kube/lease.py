"""Leader election on coordination.k8s.io Leases.

No wall clocks are compared: a holder is taken for gone when its record has not changed for its own lease duration,
counted on our monotonic clock from the moment we saw the record change. After a restart everybody counts afresh. A
lease that was deleted is one that is not renewed: who has seen it waits until it lapses.

A holder knows its lease by when and in which term it was taken, not by the name in it: another process of that name
may have taken it while this one stood still.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import LEASES
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import AlreadyExists, ApiError, Conflict, NotFound, ServerError
from worker_agent.kube.events import micro_time

log = logging.getLogger(__name__)


NEEDS = (need.of(LEASES, "get", "create", "update", place=Place.OWN_NAMESPACE),)


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Seconds after the last renewal: others take over at ``duration``, the leader gives up at ``renew_deadline``."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period < self.renew_deadline < self.duration:
            raise ValueError(
                "leader election: need 0 < retryPeriod < renewDeadline < leaseDuration, "
                f"not {self.retry_period:g}, {self.renew_deadline:g}, {self.duration:g}"
            )


class LeaderElection:
    """``await run(work)``: waits for the lease, runs ``work`` while it is held, cancels it when it is lost, and waits
    again; cancelled, it stops the work, then releases the lease so that another starts at once.

    ``term`` counts the changes of leadership (leaseTransitions): a fencing number, higher every time somebody begins to
    lead, a restarted process with the same ``identity`` included: that one waits until its former lease lapses, as
    nobody knows whether the process that holds it has ended.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        identity: str,
        clock: Clock,
        timing: LeaseTiming = LeaseTiming(),
    ) -> None:
        self.identity = identity
        self.is_leader = False
        self.term = 0
        self._client = client
        self._name = name
        self._namespace = namespace
        self._clock = clock
        self._timing = timing
        self._acquired = ("", 0)
        """When and in which term we asked for the lease last: a record that says so is our own."""
        self._highest = 0
        """Of the terms that we have seen."""
        self._holder = ""
        self._seen: bytes = b""
        self._seen_at = 0.0
        self._lapses_at = 0.0
        self._renewed_at = 0.0
        self._taken = False
        self._written: Document | None = None
        """As the server answered our last write, while nothing has failed since."""

    @property
    def leader(self) -> str:
        """Who leads as far as is known here: no more is asked than the election asks. Empty where nobody does."""
        if self.is_leader:
            return self.identity
        # A record of ours may still stand when we have stopped: nobody leads by it.
        return self._holder if self._clock.monotonic() < self._lapses_at else ""

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Returns when ``work`` returns (the lease is released); raises what ``work`` raises."""
        try:
            while True:
                await self._acquire()
                if await self._lead(work):
                    return
        finally:
            await self._release()

    async def _acquire(self) -> None:
        while not await self._try():
            await self._clock.sleep(self._pause())
        self.is_leader = True
        log.info("%s leads %s/%s, term %d", self.identity, self._namespace, self._name, self.term)

    def _pause(self) -> float:
        """Seconds to the next try: no longer than the record we know can last, so that a dead leader is succeeded
        at once. Jitter keeps candidates from asking in step."""
        jitter = 1 + 0.2 * self._clock.random()
        left = self._lapses_at - self._clock.monotonic()
        soon = left + 0.05 * jitter if left > 0 else self._timing.retry_period
        return min(self._timing.retry_period * jitter, soon)

    async def _lead(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Whether ``work`` ended by itself; False when leadership was lost."""
        working = asyncio.ensure_future(work())
        renewing = asyncio.create_task(self._renew(), name=f"lease {self._name}")
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
                return True
            log.warning("%s lost the lease %s/%s; stopping its work", self.identity, self._namespace, self._name)
            return False
        finally:
            # The work stops first and while we still hold the lease, where that is up to us.
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def _renew(self) -> None:
        """Returns when the lease is lost: another holds it, or no renewal came through within the deadline."""
        while self._clock.monotonic() - self._renewed_at < self._timing.renew_deadline:
            await self._clock.sleep(self._timing.retry_period)
            left = self._timing.renew_deadline - (self._clock.monotonic() - self._renewed_at)
            try:
                async with asyncio.timeout(max(left, 0)):
                    if not await self._try() and self._taken:
                        break
            except TimeoutError:
                break
        self.is_leader = False

    async def _try(self) -> bool:
        """Takes or renews the lease; False if it is another's or the server did not agree."""
        # A renewal counts from before it was asked for: the server may have booked it at any moment since.
        asked_at = self._clock.monotonic()
        self._taken = False
        try:
            if not await self._write_record():
                self._taken = True
                return False
        except Conflict:
            return False  # somebody wrote between our read and our write; the next try sees who
        except (ApiError, ConnectionError) as error:
            log.warning("lease %s/%s: %s", self._namespace, self._name, error)
            return False
        self._renewed_at = asked_at
        return True

    async def _write_record(self) -> bool:
        """A leader renews what it wrote last unread: its version tells the server whether anybody has written since."""
        written, self._written = self._written, None
        if written is not None and self.is_leader:
            try:
                await self._write(written)
                return True
            except (Conflict, NotFound, ServerError) as error:
                # A lease that was deleted is an error of the server's: PUT may create one, but must name no version.
                log.info("lease %s/%s is read again: %s", self._namespace, self._name, error)
        try:
            raw = await self._client.get(LEASES, self._name, self._namespace)
        except NotFound:
            if not self.is_leader and self._holder and self._clock.monotonic() < self._lapses_at:
                return False
            return await self._create()
        lease: Document = msgspec.json.decode(raw)
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        self._observe(msgspec.json.encode([holder, spec.get("renewTime"), spec.get("leaseTransitions")]))
        self._highest = max(self._highest, int(spec.get("leaseTransitions") or 0))
        duration = float(spec.get("leaseDurationSeconds") or self._timing.duration)
        self._lapses_at = self._seen_at + duration
        ours = self._is_ours(spec)
        self._holder = "" if ours else holder
        if not ours and (self.is_leader or (holder and self._clock.monotonic() < self._lapses_at)):
            return False
        await self._write(lease)
        return True

    async def _write(self, lease: Document) -> None:
        """Takes or renews the lease if it still is as given (else Conflict)."""
        spec = dict(lease.get("spec") or {})
        now = micro_time(self._clock.now())
        if not self.is_leader:
            self._acquired = (now, self._highest + 1)
            spec["acquireTime"], spec["leaseTransitions"] = self._acquired
        spec.update(holderIdentity=self.identity, leaseDurationSeconds=round(self._timing.duration), renewTime=now)
        raw = await self._client.update(LEASES, {**lease, "spec": spec}, self._namespace)
        self._written = self._confirmed(raw)

    async def _create(self) -> bool:
        now = micro_time(self._clock.now())
        # A deleted lease must not set the term back, as far as we know it.
        term = self.term if self.is_leader else self._highest + 1 if self._seen else 0
        self._acquired = (now, term)
        lease: Document = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": round(self._timing.duration),
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": term,
            },
        }
        try:
            self._confirmed(await self._client.create(LEASES, lease, self._namespace))
        except AlreadyExists:
            return False
        return True

    def _confirmed(self, raw: bytes) -> Document:
        """Our write as the server has it."""
        lease: Document = msgspec.json.decode(raw)
        self._acquired = _acquisition(lease.get("spec") or {})
        self.term = self._acquired[1]
        self._highest = max(self._highest, self.term)
        return lease

    def _is_ours(self, spec: Mapping[str, Any]) -> bool:
        """Whether this very process took the lease that says so."""
        return spec.get("holderIdentity") == self.identity and _acquisition(spec) == self._acquired

    def _observe(self, record: bytes) -> None:
        if record != self._seen:
            self._seen = record
            self._seen_at = self._clock.monotonic()

    async def _release(self) -> None:
        """Gives the lease back if it is ours, so that a successor need not wait for it to lapse."""
        self.is_leader = False
        self._holder = ""
        try:
            lease: Document = msgspec.json.decode(await self._client.get(LEASES, self._name, self._namespace))
            spec = lease.get("spec") or {}
            if not self._is_ours(spec):
                return
            spec.update(holderIdentity="", leaseDurationSeconds=1, renewTime=micro_time(self._clock.now()))
            await self._client.update(LEASES, lease, self._namespace)
        except (ApiError, ConnectionError) as error:
            log.warning("lease %s/%s not released: %s", self._namespace, self._name, error)


def _acquisition(spec: Mapping[str, Any]) -> tuple[str, int]:
    return str(spec.get("acquireTime") or ""), int(spec.get("leaseTransitions") or 0)
