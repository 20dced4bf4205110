"""Keeps the hub in contact with every worker, and says in each MultiKueueCluster how it stands (spec 5 and 6)."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from hub.clusters import credentials, kubeconfig_path
from hub.clusters.credentials import CredentialSources
from hub.clusters.kubeconfig_file_watch import KubeconfigFileWatch
from hub.clusters.remote_clients import RemoteClients
from hub.clusters.worker_connection import WorkerConnection
from hub.clusters.worker_watches import RemoteObject
from hub.controllers.federation_objects import FederationObjects
from hub.engine import condition, remote_objects, version_skew
from hub.engine.condition import Stand
from hub.metrics import HubMetrics
from worker_agent.api import names, need
from worker_agent.api.cluster_capacity import ClusterCapacity
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.resource_type import CLUSTER_CAPACITIES, MULTIKUEUE_CLUSTERS, WORKLOADS, ResourceType
from worker_agent.controllers.applier import Applier
from worker_agent.engine.intents import (
    MULTIKUEUE_MANAGER,
    ApplyStatus,
    DeleteObject,
    Intent,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    SetCondition,
)
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import ApiError, ReconcileError
from worker_agent.kube.informer import Event

log = logging.getLogger(__name__)

_report_decoder = msgspec.json.Decoder(ClusterCapacity)
WORKERS: Final = 128
"""Reconciles at a time: more than there can be clusters, so that one that does not answer holds up no other."""


NEEDS = (
    need.of(MULTIKUEUE_CLUSTERS, "patch", unseen="notes of a cluster that is new under its name"),
    need.of(MULTIKUEUE_CLUSTERS, "patch", subresource="status"),
)


class ClusterController:
    """Reconciles a MultiKueueCluster when its spec or credential changes, when contact is lost, and to try again."""

    def __init__(
        self,
        objects: FederationObjects,
        clients: RemoteClients[WorkerConnection],
        sources: CredentialSources,
        applier: Applier,
        metrics: HubMetrics,
        clock: Clock,
    ) -> None:
        self._objects = objects
        self._clients = clients
        self._sources = sources
        self._applier = applier
        self._metrics = metrics
        self._contact_handlers: list[Callable[[str], None]] = []
        self.controller: Controller[str] = Controller(
            "multikueue-cluster", self._reconcile, workers=WORKERS, clock=clock
        )
        self._kinds: tuple[JobKind, ...] = ()
        self._origin = ""
        self._versions: dict[str, str] = {}
        """Of agents, as last told."""
        self._files = KubeconfigFileWatch(clock, self._file_changed)
        objects.clusters.add_handler(self._cluster_changed)
        objects.secrets.add_handler(self._secret_changed)

    def clear_removed(self, kinds: Iterable[JobKind], origin: str) -> None:
        """Take objects with this origin off clusters that are removed."""
        self._kinds, self._origin = tuple(kinds), origin

    async def run(self) -> None:
        try:
            await self.controller.run()
        finally:
            await self._clients.close()

    async def watch_files(self) -> None:
        await self._files.run()

    def add_contact_handler(self, handler: Callable[[str], None]) -> None:
        """``handler(cluster)`` whenever contact was made or lost, or the cluster was removed."""
        self._contact_handlers.append(handler)

    def lost(self, name: str) -> None:
        """A stream of this worker ended by itself."""
        self._contact_changed(name)
        self.controller.enqueue(name)

    def agent_changed(self, agent: str) -> None:
        """An agent that dials in enrolled, connected, or left."""
        for cluster in self._objects.clusters.values():
            source = cluster.spec.cluster_source.agent
            if source is not None and source.name == agent:
                self.controller.enqueue(cluster.metadata.name)

    def _cluster_changed(self, event: Event[MultiKueueCluster]) -> None:
        if event.old is None or event.new is None or _version(event.old) != _version(event.new):
            self.controller.enqueue(event.key.name)
        if event.old is not None and event.new is not None and _declared_lost(event.old) != _declared_lost(event.new):
            self._contact_changed(event.key.name)

    def _secret_changed(self, event: Event[Document]) -> None:
        if event.old is not None and event.new is not None and event.old.get("data") == event.new.get("data"):
            return
        for cluster in self._objects.clusters.values():
            source = cluster.spec.cluster_source.kube_config
            if source is not None and not credentials.uses_path(cluster) and source.location == event.key.name:
                self.controller.enqueue(cluster.metadata.name)

    def profile_changed(self, event: Event[Document]) -> None:
        """A ClusterProfile came, went, or tells of something else."""
        if event.old is not None and event.new is not None and event.old.get("status") == event.new.get("status"):
            return
        for cluster in self._objects.clusters.values():
            source = cluster.spec.cluster_source.cluster_profile_ref
            if source is not None and source.name == event.key.name:
                self.controller.enqueue(cluster.metadata.name)

    def _file_changed(self, path: Path) -> None:
        for cluster in self._objects.clusters.values():
            source = cluster.spec.cluster_source.kube_config
            if source is not None and credentials.uses_path(cluster) and Path(source.location) == path:
                self.controller.enqueue(cluster.metadata.name)

    async def _reconcile(self, name: str) -> float | None:
        cluster = self._objects.clusters.get(Key("", name))
        before, known = self._clients.link(name), name in self._clients.never_reached
        if cluster is None or cluster.metadata.deletion_timestamp is not None:
            await self._clients.forget(name, self._clear)
            self._metrics.forget_worker(name)
            self._versions.pop(name, None)
            self._files.forget(name)
            self._contact_changed(name)
            return None
        self._follow_file(cluster)
        outcome = await self._clients.reconcile(cluster, self._sources)
        if self._clients.link(name) is not before or (name in self._clients.never_reached) != known:
            self._contact_changed(name)
        if outcome.stand is not None:
            await self._tell(cluster, outcome.stand)
            await self._take_back_lost(cluster)
        if outcome.error:
            raise ReconcileError(outcome.error)
        return outcome.requeue

    async def _clear(self, link: WorkerConnection) -> bool:
        """Take our objects off a cluster that is being removed: nobody would look after them there any more.

        Whether all are gone.
        """
        clear = True
        kinds = self._kinds
        removal: list[Intent] = [
            DeleteObject(resource=kind.resource, key=remote_objects.key_of(job), uid=job["metadata"].get("uid", ""))
            for kind, job in link.our_jobs(kinds)
        ]
        for copy in link.our_workloads(self._origin):
            key = remote_objects.key_of(copy)
            removal.append(RemoveFinalizer(resource=WORKLOADS, key=key, finalizer=names.IN_USE_FINALIZER))
            removal.append(DeleteObject(resource=WORKLOADS, key=key, uid=copy["metadata"].get("uid", "")))
        for intent in removal:
            try:
                await link.applier.apply([intent])
            except (ApiError, ConnectionError) as error:
                log.warning("worker %s is removed, an object of ours stays there: %s", link.name, error)
                clear = False
                if isinstance(error, ConnectionError):
                    break
        return clear

    def _follow_file(self, cluster: MultiKueueCluster) -> None:
        source = cluster.spec.cluster_source.kube_config
        if source is None or not credentials.uses_path(cluster):
            self._files.forget(cluster.metadata.name)
            return
        self._files.follow(cluster.metadata.name, Path(source.location))

    def _contact_changed(self, name: str) -> None:
        link = self._clients.link(name)
        if name in self._clients.entries:
            self._metrics.contact(name, link is not None)
        for handler in self._contact_handlers:
            handler(name)

    def _fence_stand(self, cluster: MultiKueueCluster) -> Stand | None:
        """How the cluster's fence stands; out of contact, as it stood when there was contact."""
        link = self._clients.link(cluster.metadata.name)
        stand = link.lease.stand if link is not None and link.lease is not None else None
        current = condition.find(cluster.status.conditions, names.FENCED)
        if stand is not None or current is None:
            return stand
        return Stand(current.status, current.reason, current.message)

    def report_changed(self, name: str, resource: ResourceType, event: Event[RemoteObject], raw: bytes) -> None:
        """An agent told of itself, perhaps as another version than before."""
        if resource == CLUSTER_CAPACITIES and agent_version(raw) != self._versions.get(name, ""):
            self.controller.enqueue(name)

    def _version_stand(self, cluster: MultiKueueCluster) -> Stand | None:
        """Whether hub and agent are too far apart; said only where they are, or were."""
        name = cluster.metadata.name
        link = self._clients.link(name)
        current = condition.find(cluster.status.conditions, names.VERSION_SUPPORTED)
        if link is None:
            return Stand(current.status, current.reason, current.message) if current is not None else None
        self._versions[name] = agent_version(link.report)
        found = version_skew.judge(self._versions[name])
        if found.supported and current is None:
            return None
        return Stand(str(found.supported), found.skew.value, found.message)

    async def _take_back_lost(self, cluster: MultiKueueCluster) -> None:
        """A cluster that answers is not lost: what its administrator said of it ends with the outage."""
        if self._clients.link(cluster.metadata.name) is None or not _declared_lost(cluster):
            return
        name = cluster.metadata.name
        annotations = {names.DECLARED_LOST_ANNOTATION: _declared_lost(cluster)}
        patch = PatchObject(
            resource=MULTIKUEUE_CLUSTERS,
            before={"metadata": {"name": name, "annotations": annotations}},
            after={"metadata": {"name": name, "annotations": {}}},
            field_manager=MULTIKUEUE_MANAGER,
            strict=False,
        )
        await self._applier.apply([patch])

    async def _tell(self, cluster: MultiKueueCluster, stand: Stand) -> None:
        key = cluster.metadata.key
        intents: list[ApplyStatus | RecordEvent] = []
        stands = {names.ACTIVE: stand, names.FENCED: self._fence_stand(cluster)}
        stands[names.VERSION_SUPPORTED] = self._version_stand(cluster)
        told = {type_: each for type_, each in stands.items() if each is not None}
        if any(each.differs_from(condition.find(cluster.status.conditions, type_)) for type_, each in told.items()):
            intents.append(
                ApplyStatus(
                    resource=MULTIKUEUE_CLUSTERS,
                    key=key,
                    field_manager=MULTIKUEUE_MANAGER,
                    conditions=tuple(
                        SetCondition(type_, each.status, each.reason, each.message) for type_, each in told.items()
                    ),
                    strict=False,
                )
            )
        if credentials.uses_path(cluster) and self._sources.path_prefix is None:
            intents.append(
                RecordEvent(
                    resource=MULTIKUEUE_CLUSTERS,
                    key=key,
                    reason="DeprecatedPathUsage",
                    message=kubeconfig_path.DEPRECATED_USAGE,
                    type="Warning",
                    uid=cluster.metadata.uid,
                )
            )
        await self._applier.apply(intents)


def agent_version(report: bytes) -> str:
    """Out of a ClusterCapacity as it came; empty where it says nothing, or nothing that can be read."""
    try:
        return _report_decoder.decode(report).status.agent_version if report else ""
    except msgspec.DecodeError:
        return ""


def _version(cluster: MultiKueueCluster) -> tuple[object, ...]:
    """What of a cluster matters here: its spec, whether it is going, and what it says of the contact.

    What it says may be an older word of ours that came late: it was no difference when the newer one was decided.
    """
    told = condition.find(cluster.status.conditions, names.ACTIVE)
    said = (told.status, told.reason, told.message) if told is not None else None
    fence = condition.find(cluster.status.conditions, names.FENCED)
    fenced = (fence.status, fence.reason) if fence is not None else None
    deleted = cluster.metadata.deletion_timestamp is not None
    return cluster.metadata.generation, deleted, said, fenced, _declared_lost(cluster)


def _declared_lost(cluster: MultiKueueCluster) -> str:
    return cluster.metadata.annotation(names.DECLARED_LOST_ANNOTATION)
