"""Carries out the hub's decisions: each intent goes to the API server of its cluster, in the order decided."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from hub.clusters.worker_connection import WorkerConnection
from hub.engine import remote_objects
from hub.engine.intents import (
    CountAdmitted,
    CountDispatched,
    EachCluster,
    ForgetDeleted,
    HubIntent,
    OnCluster,
    Revisit,
)
from hub.metrics import HubMetrics
from worker_agent import log_context
from worker_agent.api.meta import Key
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.write_turns import Ref
from worker_agent.engine.intents import CreateObject, Intent, RecordEvent
from worker_agent.kube.errors import AlreadyExists, ApiError, Conflict, ReconcileError

log = logging.getLogger(__name__)

REMEMBERED_EVENTS: Final = 10_000

Failure = (ApiError, ConnectionError, ReconcileError)
"""What a step on a cluster may raise."""


class HubApplier:
    """``link(name)`` gives the connection of a worker in contact, ``revisit`` enqueues another Workload."""

    def __init__(
        self,
        manager: Applier,
        link: Callable[[str], WorkerConnection | None],
        origin: str,
        metrics: HubMetrics,
        revisit: Callable[[Key], None] = lambda key: None,
    ) -> None:
        self._manager = manager
        self._link = link
        self._origin = origin
        self._metrics = metrics
        self._revisit = revisit
        self._told: dict[tuple[Key, str], str] = {}

    async def apply(self, intents: Sequence[HubIntent]) -> float | None:
        """Returns the seconds after which to look again. Raises ApiError, ConnectionError or ReconcileError; what
        follows a failed intent is not done, except inside EachCluster."""
        groups = [(place, list(group)) for place, group in groupby(intents, _place)]
        if len(groups) < 2:  # nothing waits for anybody before it is written
            return await self._run(*groups[0]) if groups else None
        requeues: list[float] = []
        basis = dict(self._manager.versions(_own(intents)))
        for place, members in groups:
            self._still_stands(basis, members)
            seconds = await self._run(place, members)
            basis |= self._manager.versions(_own(members))
            if seconds is not None:
                requeues.append(seconds)
        return min(requeues, default=None)

    def _still_stands(self, basis: Mapping[Ref, str], intents: Sequence[HubIntent]) -> None:
        """Raises Conflict where the manager's object changed while an earlier step waited for a worker."""
        for ref, version in self._manager.versions(_own(intents)).items():
            if version != basis[ref]:
                raise Conflict(409, "Conflict", f"{ref[0].kind} {ref[1]} changed since this was decided")

    def forget(self, key: Key) -> None:
        """The Workload is gone; its events need not be remembered."""
        for told in [told for told in self._told if told[0] == key]:
            del self._told[told]

    async def warn(self, event: RecordEvent) -> None:
        """Tell of trouble that lasts, once per message, whatever other events the passes tell of meanwhile."""
        if self._unsaid((event.key, event.type), event.message):
            log.warning("workload %s: %s", event.key, event.message)
            await self._manager.apply([event])

    async def _run(self, place: str | None, intents: list[Any]) -> float | None:
        if place is None:
            for intent in intents:
                await self._own(intent)
            return None
        if not place:
            return await self._manager.apply([intent for intent in intents if self._is_news(intent)])
        with log_context.at_cluster(place):
            await self._remote(place, intents)
        return None

    async def _own(self, intent: HubIntent) -> None:
        if isinstance(intent, EachCluster):
            await self._each(intent)
        elif isinstance(intent, CountDispatched):
            self._metrics.dispatched(intent.cluster_queue, intent.cluster)
        elif isinstance(intent, CountAdmitted):
            self._metrics.admitted(intent.cluster_queue, intent.cluster)
        elif isinstance(intent, Revisit):
            for key in intent.keys:
                self._revisit(key)

    async def _each(self, intent: EachCluster) -> None:
        """All clusters at the same time: a slow one delays nobody but this Workload."""
        outcomes = await asyncio.gather(*(self._served(served) for served in intent.clusters), return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        unforeseen = next((failure for failure in failures if not isinstance(failure, Failure)), None)
        if unforeseen is not None:
            raise unforeseen
        if failures and all(isinstance(failure, Conflict) for failure in failures):
            raise failures[0]
        if failures:
            raise ReconcileError("\n".join(str(failure) for failure in failures))

    async def _served(self, served: OnCluster) -> None:
        if served.error:
            raise ReconcileError(served.error)
        await self.apply(served.steps)

    async def _remote(self, cluster: str, intents: list[Intent]) -> None:
        link = self._link(cluster)
        if link is None:
            raise ConnectionError(f"cluster {cluster}: contact was lost meanwhile")
        try:
            for intent in intents:
                if isinstance(intent, CreateObject):
                    await self._create(link, intent)
                else:
                    await link.applier.apply([intent])
        except ConnectionError as error:
            link.suspect(error)
            raise

    async def _create(self, link: WorkerConnection, intent: CreateObject) -> None:
        if link.lease is not None and not link.lease.held:
            raise ConnectionError(f"cluster {link.name}: the hub's lease there has run out, nothing new is sent")
        try:
            await link.applier.apply([intent])
        except AlreadyExists:
            raw = await link.client.get(intent.resource, intent.key.name, intent.key.namespace)
            found = msgspec.json.decode(raw)
            if not remote_objects.is_ours(found, self._origin):
                raise ReconcileError(remote_objects.foreign_object(intent.resource, intent.key, self._origin)) from None
            link.known.note(intent.resource, raw)

    def _is_news(self, intent: HubIntent) -> bool:
        """An event that says again what was said last is left out: the state machine tells of the same state often."""
        if not isinstance(intent, RecordEvent):
            return True
        return self._unsaid((intent.key, intent.reason), intent.message)

    def _unsaid(self, told: tuple[Key, str], message: str) -> bool:
        if self._told.get(told) == message:
            return False
        self._told.pop(told, None)
        self._told[told] = message
        while len(self._told) > REMEMBERED_EVENTS:
            del self._told[next(iter(self._told))]
        return True


def _own(intents: Iterable[HubIntent]) -> list[HubIntent]:
    """Those that are written on the manager."""
    return [intent for intent in intents if _place(intent) == ""]


def _place(intent: HubIntent) -> str | None:
    """The cluster an intent goes to, empty for the manager; None for what only concerns the hub itself."""
    if isinstance(intent, EachCluster | CountDispatched | CountAdmitted | Revisit | ForgetDeleted):
        return None
    return getattr(intent, "cluster", "")
