"""Deletes remote objects whose Workload is gone from the manager (spec section 11)."""

import logging

from hub.clusters.remote_clients import RemoteClients
from hub.clusters.worker_connection import WorkerConnection
from hub.controllers.federation_objects import FederationObjects
from hub.engine import orphans
from hub.engine.orphans import Holdings
from hub.engine.sync_owner import KindTable
from hub.metrics import HubMetrics
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError

log = logging.getLogger(__name__)


class OrphanCollector:
    """Looks at every connected worker once per ``interval`` seconds; 0 never does."""

    def __init__(
        self,
        objects: FederationObjects,
        clients: RemoteClients[WorkerConnection],
        kinds: KindTable,
        origin: str,
        metrics: HubMetrics,
        clock: Clock,
    ) -> None:
        self._objects = objects
        self._clients = clients
        self._kinds = kinds
        self._origin = origin
        self._metrics = metrics
        self._clock = clock

    async def run(self, interval: float) -> None:
        while interval > 0:
            await self._clock.sleep(interval)
            for name, link in dict(self._clients.connected()).items():
                try:
                    await self._collect(name, link)
                except (ApiError, ConnectionError) as error:
                    log.warning("worker %s: orphans stay for now: %s", name, error)

    async def _collect(self, name: str, link: WorkerConnection) -> None:
        kinds = self._kinds.values()
        holdings = Holdings(name, link.our_workloads(self._origin), link.job, link.our_jobs(kinds))
        found = orphans.collect(holdings, self._origin, self._lives, self._kinds)
        for job in found.jobs:
            try:
                await link.applier.apply([job])
            except ApiError as error:
                log.error("worker %s: orphan %s %s: %s", name, job.resource.kind, job.key, error)
        await link.applier.apply(list(found.workloads))
        self._metrics.collected(name, len(found.workloads))

    def _lives(self, key: Key) -> bool:
        document: Document | None = self._objects.known.document(WORKLOADS, key)
        return document is not None and not document["metadata"].get("deletionTimestamp")
