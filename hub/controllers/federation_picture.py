"""The federation as the synchronisation reads it: which workers are in contact, since when others are not."""

from collections.abc import Set
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hub.clusters.remote_clients import RemoteClients
from hub.clusters.worker_connection import WorkerConnection
from hub.controllers.federation_objects import FederationObjects
from hub.engine.group_loading import Federation
from hub.engine.sync_owner import KindTable
from worker_agent.api import names
from worker_agent.kube.informer import Event

BEFORE: Final = datetime.fromtimestamp(0, UTC)

Standing = tuple[WorkerConnection, int, bool]
"""A connection with its term, and whether an agent of ours is there."""


class FederationPicture:
    """Made for every look at a Workload: it is kept while all workers are in contact and nothing about them changes."""

    def __init__(
        self,
        objects: FederationObjects,
        clients: RemoteClients[WorkerConnection],
        kinds: KindTable,
        worker_lost_timeout: timedelta,
    ) -> None:
        self._objects = objects
        self._clients = clients
        self._kinds = kinds
        self._worker_lost_timeout = worker_lost_timeout
        self._absent: dict[str, datetime] = {}
        self._kept: Federation | None = None
        self._kept_of: list[Standing] | None = None
        objects.clusters.add_handler(self._changed)
        objects.configs.add_handler(self._changed)

    def now(self) -> Federation:
        """How long a cluster is out of contact is counted steadily, and told by the machine's clock."""
        standing = self._standing()
        if self._kept is None or standing is None or standing != self._kept_of:
            self._kept = self._made()
            # What is told of a cluster out of contact goes on changing with time.
            self._kept_of = None if self._kept.disconnected_since or self._absent else standing
        return self._kept

    def _changed(self, event: Event[Any]) -> None:
        self._kept = None

    def _standing(self) -> list[Standing] | None:
        """All connections; None unless all of them stand."""
        found: list[Standing] = []
        for entry in self._clients.entries.values():
            if entry.link is None or not entry.contact.connected:
                return None
            found.append((entry.link, entry.link.term, entry.link.has_agent))
        return None if self._clients.leaving else found

    def _made(self) -> Federation:
        time = self._clients.time
        now = time.now()
        connected = self._clients.connected()
        clusters = {cluster.metadata.name: cluster for cluster in self._objects.clusters.values()}
        since = {
            name: contact.disconnected_since
            for name, contact in self._clients.contacts()
            if contact.disconnected_since is not None
        }
        since |= self._clients.leaving
        for name in clusters.keys() - self._clients.entries.keys():
            # After a start its connection is yet to come: no contact so far, which is not to say that it is gone.
            since[name] = self._clients.never_reached.get(name, now)
        terms = {name: term for name, link in connected.items() if (term := link.term)}
        declared = names.DECLARED_LOST_ANNOTATION
        lost = {name for name, cluster in clusters.items() if cluster.metadata.annotation(declared)}
        gone = self._removed(clusters.keys(), now)
        lost |= {name for name, left in gone.items() if now - left >= self._worker_lost_timeout}
        by_label = frozenset([name for name, link in connected.items() if not link.has_agent])
        told = {name: time.on_the_wall(instant) for name, instant in (gone | since).items()}
        return Federation(self._objects, connected, told, self._kinds, terms, frozenset(lost), by_label)

    def _removed(self, present: Set[str], now: datetime) -> dict[str, datetime]:
        """Configured clusters whose MultiKueueCluster is gone, and since when: there will be no contact to wait for.

        Where our objects were taken off before, nothing is waited for either.
        """
        configured = {name for config in self._objects.configs.values() for name in config.spec.clusters}
        absent = configured - present - self._clients.leaving.keys()
        self._absent = {name: self._absent.get(name, now) for name in absent}
        return {name: BEFORE if name in self._clients.cleared else left for name, left in self._absent.items()}
