"""Publishes the ClusterCapacity named ``this``: what the hub knows of this cluster beyond its Kueue objects.

Written when it says something new, at most every five seconds but for new flavors, and where only the use of quotas is
new at most every half minute; an idle cluster costs no writes.
"""

from collections.abc import Sequence
from functools import partial

from worker_agent.api import names, need
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_CAPACITIES, RESOURCE_FLAVORS
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.engine_thread import Engine
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import capacity
from worker_agent.engine.intents import ApplyStatus, CreateObject
from worker_agent.engine.view import EngineView
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller

INTERVAL_SECONDS = 5.0
SOON_SECONDS = 0.2
"""After flavors came or went: a hub sends nothing to a flavor whose nodes it has not been told of."""
USE_SECONDS = 30.0
"""Between two reports that differ in the use of quotas alone: people read it there, while hubs follow the Workloads
themselves, and a ClusterQueue's own status tells it at once."""

FIELD_MANAGER = "fedhub-agent"
KEY = Key("", names.CLUSTER_CAPACITY_NAME)
_TOLD_ALWAYS = "reportedAt"
"""The one field that is new in every report and no reason to write one."""
_USE = frozenset({"used", "reserved", "borrowable"})
"""What of a quota is new with every workload."""


NEEDS = (
    need.of(CLUSTER_CAPACITIES, "create"),
    need.of(CLUSTER_CAPACITIES, "patch", subresource="status"),
)


class CapacityPublisher:
    """Make it once ClusterCapacity is followed in ``known``; ``integrations`` are the job kinds served here."""

    def __init__(
        self, known: KnownObjects, engine: Engine, applier: Applier, clock: Clock, integrations: Sequence[str]
    ) -> None:
        self._known = known
        self._engine = engine
        self._applier = applier
        self._clock = clock
        self._integrations = tuple(integrations)
        self._written_at = float("-inf")
        self._looked_at = float("-inf")
        """When there was something new last, written or not."""
        self._told_room = False
        """The last report told of other room. A hub takes pods for counted by the report after the one that may count
        them: the use that follows from them is told without the long wait."""
        self._told_flavors: frozenset[str] = frozenset()
        self.controller: Controller[Key] = Controller("clustercapacity", self._publish, clock=clock)
        engine.add_view_handler(self._view_changed)
        self.controller.enqueue(KEY)

    async def run(self) -> None:
        await self.controller.run()

    def _view_changed(self, view: EngineView) -> None:
        wait = self._looked_at + INTERVAL_SECONDS - self._clock.monotonic()
        if self._flavors() != self._told_flavors:
            wait = min(wait, SOON_SECONDS)
        self.controller.enqueue(KEY, max(0.0, wait))

    def _flavors(self) -> frozenset[str]:
        return frozenset(key.name for key in self._known.informer(RESOURCE_FLAVORS).keys())  # noqa: SIM118 - no dict

    async def _publish(self, key: Key) -> float | None:
        self._told_flavors = self._flavors()
        status: Document = await self._engine.ask(partial(capacity.report, integrations=self._integrations))
        present = self._known.document(CLUSTER_CAPACITIES, key)
        told, news = _news((present or {}).get("status") or {}), _news(status)
        if present is not None and told == news:
            return None
        now = self._looked_at = self._clock.monotonic()
        left = self._written_at + USE_SECONDS - now
        only_use = present is not None and _without_use(told) == _without_use(news)
        if only_use and left > 0 and not self._told_room:
            return left
        self._told_room = present is not None and not only_use
        self._written_at = now
        if present is None:
            document: Document = {
                "apiVersion": CLUSTER_CAPACITIES.api_version,
                "kind": CLUSTER_CAPACITIES.kind,
                "metadata": {"name": key.name},
            }
            create = CreateObject(
                resource=CLUSTER_CAPACITIES, document=document, field_manager=FIELD_MANAGER, may_exist=True
            )
            await self._applier.apply([create])
        gone = {name: None for name in ((present or {}).get("status") or {}) if name not in status}
        change = ApplyStatus(
            resource=CLUSTER_CAPACITIES, key=key, field_manager=FIELD_MANAGER, fields={**gone, **status}, strict=False
        )
        return await self._applier.apply([change])


def _news(status: Document) -> Document:
    return {name: value for name, value in status.items() if name != _TOLD_ALWAYS}


def _without_use(news: Document) -> Document:
    queues = [
        {**queue, "quotas": [{n: v for n, v in quota.items() if n not in _USE} for quota in queue.get("quotas") or ()]}
        for queue in news.get("clusterQueues") or ()
    ]
    return {**news, "clusterQueues": queues}
