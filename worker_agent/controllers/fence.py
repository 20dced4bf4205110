"""Keeps this cluster from running what its hub has given up: the worker's side of the fence (``engine.fencing``)."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Final

import msgspec

from worker_agent.api import names, need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import LEASES, WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import fencing
from worker_agent.engine.fencing import HubLease, Reading
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, NotFound
from worker_agent.kube.informer import Event, Informer, Keep, document

log = logging.getLogger(__name__)

STOP_INDEX: Final = "stops when its hub is lost"
"""Index of the copies that an agent stops, by the hub's origin."""

SHORTEST_POLL_SECONDS: Final = 0.5


NEEDS = (
    *need.followed([LEASES], Place.OWN_NAMESPACE),
    need.of(LEASES, "get", "patch", place=Place.OWN_NAMESPACE),
)


def stopped_by_origin(workload: Workload) -> Iterable[str]:
    metadata = workload.metadata
    if metadata.annotation(names.ON_CONTACT_LOST_ANNOTATION) == names.STOP_ON_CONTACT_LOST:
        yield metadata.label(names.MULTIKUEUE_ORIGIN_LABEL)


class Fence:
    """``refusal(job)`` is asked before a job is started; ``run`` stops work whose hub is lost.

    Renewals count only as read by ``GET``: what a watch shows may be as old as the watch is slow, so that it can make a
    lease older but never younger. A lease that was deleted counts on as it was read last. Nothing is asked of the
    server unless something is to be started or may have to be stopped, and what is read for the one serves the other.
    """

    def __init__(self, client: Client, known: KnownObjects, namespace: str, applier: Applier, clock: Clock) -> None:
        self._client = client
        self._known = known
        self._namespace = namespace
        self._applier = applier
        self._clock = clock
        self._read: dict[str, Reading] = {}
        self._found: dict[str, Reading] = {}
        """The last one that found a lease."""
        self._shown: dict[str, HubLease] = {}
        """By origin, as the watch shows it: no renewal is younger than the moment at which it was seen there."""
        self._watched_since: dict[str, float] = {}
        """The hubs of which something may have to be stopped."""
        self._reads_begun: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._wake = asyncio.Event()
        self.leases: Informer[Document] = Informer(
            client,
            LEASES,
            document,
            namespace=namespace,
            label_selector=names.HUB_LEASE_LABEL,
            keep=Keep.DECODED,
        )
        self.leases.add_handler(self._lease_changed)
        workloads = known.informer(WORKLOADS)
        workloads.add_index(STOP_INDEX, stopped_by_origin)
        workloads.add_handler(self._workload_changed)

    async def refusal(self, job: Document) -> str:
        """Why ``job`` may not be started now, by a lease read after this was called; empty when it may be.

        Raises ApiError and ConnectionError.
        """
        if not fencing.is_fenced(job):
            return ""
        lease = await self.read(fencing.origin_of(job))
        return fencing.why_not_start(job, lease, self._clock.monotonic())

    async def read(self, origin: str) -> HubLease | None:
        """The hub's lease as the server has it now; one request serves all who asked before it was sent."""
        asked = self._reads_begun.get(origin, 0)
        async with self._turns.setdefault(origin, asyncio.Lock()):
            if self._answered.get(origin, 0) <= asked:  # a read that failed or was given up serves nobody
                number = self._reads_begun[origin] = self._reads_begun.get(origin, 0) + 1
                self._read[origin] = reading = await self._get(origin)
                if reading.lease is not None:
                    self._found[origin] = reading
                self._answered[origin] = number
            return self._read[origin].lease

    async def run(self) -> None:
        """Follow the hubs' leases, confirm their terms, and stop what must not run on; until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.leases.run(), name="informer hub leases")
            while True:
                self._wake.clear()
                pause = await self._pass()
                try:
                    async with asyncio.timeout(pause):
                        await self._wake.wait()
                        pause = None
                except TimeoutError:
                    continue

    async def _pass(self) -> float | None:
        """Confirm and stop what is due; returns the seconds until the next look, None while nothing may lapse.

        What fails for one hub or one copy keeps nobody from the others.
        """
        pauses: list[float] = []
        for lease in list(self.leases.values()):
            if not await self._managed(self._confirm(lease), "confirming a hub's term"):
                pauses.append(fencing.DEFAULT_POLL_SECONDS)
        now, watched = self._clock.monotonic(), {fencing.origin_of(copy) for copy in self._watched()}
        self._watched_since = {origin: self._watched_since.get(origin, now) for origin in watched}
        for origin in watched:
            pauses.append(await self._enforce(origin))
        return min(pauses, default=None)

    async def _managed(self, work: Awaitable[object], what: str) -> bool:
        """Whether it was done; it is tried again with the next look otherwise."""
        try:
            await work
        except (ApiError, ConnectionError) as error:
            log.warning("%s: %s", what, error)
            return False
        return True

    async def _confirm(self, found: Document) -> None:
        """Tell the hub, once per term, that an agent here goes by its lease."""
        lease = fencing.read(found, self._clock.monotonic())
        if lease.acknowledged == lease.term or not lease.origin:
            return
        body = {"metadata": {"annotations": {names.ACKNOWLEDGED_TERM_ANNOTATION: str(lease.term)}}}
        name = found["metadata"]["name"]
        try:
            await self._client.patch(
                LEASES, name, self._namespace, body, patch_type=PatchType.MERGE, field_manager="fedhub-agent"
            )
        except NotFound:
            return
        log.info("hub %s leads here in term %d", lease.origin, lease.term)

    async def _enforce(self, origin: str) -> float:
        """Stop what is due; returns the seconds until the next look."""
        left = self._read_by(origin) - self._clock.monotonic()
        if left > 0:
            return left
        read = await self._managed(self.read(origin), f"reading the lease of hub {origin}")
        instant, lease = self._clock.monotonic(), self._known_lease(origin)
        for stop in fencing.stops(self._watched(origin), lease, instant):
            log.warning("workload %s: stopped, its hub is out of contact", stop.key)
            await self._managed(self._applier.apply([stop]), f"stopping workload {stop.key}")
        if lease.lapsed(instant):
            return lease.poll
        due = self._read_by(origin) if read else min(instant + lease.poll, lease.lapses_at)
        return max(SHORTEST_POLL_SECONDS, due - instant)

    def _read_by(self, origin: str) -> float:
        read = self._read.get(origin)
        asked_at = read.asked_at if read is not None else None
        return fencing.read_by(self._since(origin), asked_at, self._known_lease(origin), self._shown.get(origin))

    def _known_lease(self, origin: str) -> HubLease:
        since, found, shown = self._since(origin), self._found.get(origin), self._shown.get(origin)
        return fencing.known_lease(since, found, shown, self._watched(origin))

    def _since(self, origin: str) -> float:
        return self._watched_since.get(origin, self._clock.monotonic())

    async def _get(self, origin: str) -> Reading:
        # It counts from before it was asked for: the renewal may have been there all that time.
        asked_at = self._clock.monotonic()
        try:
            raw = await self._client.get(LEASES, fencing.lease_name(origin), self._namespace)
        except NotFound:
            return Reading(asked_at, None)
        last = self._found.get(origin)
        found = fencing.read(msgspec.json.decode(raw), asked_at).after(last.lease if last is not None else None)
        return Reading(asked_at, found.after(self._shown.get(origin)))

    def _watched(self, origin: str = "") -> list[Document]:
        """Copies that may have to be stopped, of one hub or of all."""
        origins = [origin] if origin else self._known.informer(WORKLOADS).index_values(STOP_INDEX)
        return [
            copy
            for each in origins
            for copy in self._known.documents(WORKLOADS, STOP_INDEX, each)
            if fencing.must_be_watched(copy)
        ]

    def _lease_changed(self, event: Event[Document]) -> None:
        if event.new is None:
            return
        lease = fencing.read(event.new, self._clock.monotonic())
        self._shown[lease.origin] = lease.after(self._shown.get(lease.origin))
        if lease.acknowledged != lease.term:
            self._wake.set()

    def _workload_changed(self, event: Event[Workload]) -> None:
        before, now = (set() if each is None else _held_for(each) for each in (event.old, event.new))
        for origin in now - before:
            self._watched_since.setdefault(origin, self._clock.monotonic())
            self._wake.set()


def _held_for(workload: Workload) -> set[str]:
    """The hub for which a copy holds quota that it must give up when that hub is lost."""
    return set(stopped_by_origin(workload)) if workload.is_true(names.QUOTA_RESERVED) else set()
