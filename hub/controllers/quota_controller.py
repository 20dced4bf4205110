"""Keeps the quota of the manager's ClusterQueues at what the workers have for them (spec section 14).

Behind the gate MultiKueueManagerQuotaAutomation, and only for queues whose MultiKueueConfig asks for it.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from hub.clusters.worker_connection import WorkerConnection
from hub.clusters.worker_watches import RemoteObject
from hub.controllers.federation_objects import FederationObjects
from hub.engine import admission_check, condition, manager_quota
from hub.engine.manager_quota import Automation
from worker_agent.api import need
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, ResourceType
from worker_agent.controllers.applier import Applier
from worker_agent.engine.intents import MULTIKUEUE_MANAGER, ApplyStatus, Intent, PatchObject, SetCondition
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import ReconcileError
from worker_agent.kube.informer import Event, Informer

log = logging.getLogger(__name__)

BATCH_SECONDS: Final = 1.0
"""How long triggers are collected: a worker that comes into contact brings many."""


NEEDS = (
    need.of(CLUSTER_QUEUES, "patch"),
    need.of(CLUSTER_QUEUES, "patch", subresource="status"),
)


class QuotaController:
    """Reconciles a ClusterQueue when it, its LocalQueues, its check, the check's configuration, the contact with a
    worker, or a worker's queues change."""

    def __init__(self, objects: FederationObjects, applier: Applier, clock: Clock) -> None:
        self._objects = objects
        self._applier = applier
        self._local_queues: Informer[LocalQueue] = objects.known.informer(LOCAL_QUEUES)
        self._connected: Mapping[str, WorkerConnection] = {}
        self.controller: Controller[str] = Controller("multikueue-manager-quota", self._reconcile, clock=clock)
        objects.queues.add_handler(self._queue_changed)
        objects.checks.add_handler(self._check_changed)
        objects.configs.add_handler(self._config_changed)
        self._local_queues.add_handler(self._local_queue_changed)

    async def run(self) -> None:
        await self.controller.run()

    def contact_changed(self, cluster: str, connected: Mapping[str, WorkerConnection]) -> None:
        """``connected`` are the workers in contact now. One that is lost drops out of the sums."""
        self._connected = connected
        self._enqueue_cluster(cluster)

    def remote_changed(self, cluster: str, resource: ResourceType, event: Event[RemoteObject]) -> None:
        """Something changed on a worker; of interest are its queues, and not their status."""
        if resource in (CLUSTER_QUEUES, LOCAL_QUEUES) and _is_other(event):
            self._enqueue_cluster(cluster)

    def _queue_changed(self, event: Event[ClusterQueue]) -> None:
        if event.new is not None and _is_other(event):
            self._enqueue(event.key.name)

    def _check_changed(self, event: Event[AdmissionCheck]) -> None:
        if _is_other(event):
            self._enqueue_checks((event.key.name,))

    def _config_changed(self, event: Event[MultiKueueConfig]) -> None:
        if _is_other(event):
            self._enqueue_checks(self._objects.checks_with_config(event.key.name))

    def _local_queue_changed(self, event: Event[LocalQueue]) -> None:
        for queue in {each.spec.cluster_queue for each in (event.old, event.new) if each is not None}:
            if _is_other(event):
                self._enqueue(queue)

    def _enqueue_cluster(self, cluster: str) -> None:
        for config in self._objects.configs_with_cluster(cluster):
            self._enqueue_checks(self._objects.checks_with_config(config))

    def _enqueue_checks(self, checks: Iterable[str]) -> None:
        wanted = set(checks)
        for queue in self._objects.queues.values():
            if not wanted.isdisjoint(manager_quota.check_names(queue)):
                self._enqueue(queue.metadata.name)

    def _enqueue(self, queue: str) -> None:
        self.controller.enqueue(queue, BATCH_SECONDS)

    async def _reconcile(self, name: str) -> None:
        document = self._objects.known.document(CLUSTER_QUEUES, Key("", name))
        if document is None or document["metadata"].get("deletionTimestamp"):
            return
        queue = msgspec.convert(document, ClusterQueue, strict=False)
        try:
            automation = manager_quota.judge(queue, self._leading_to(name), self._objects, self._readable())
        except admission_check.BadReference as error:
            raise ReconcileError(f"quota of ClusterQueue {name}: {error}") from error
        await self._applier.apply([*_quota(document, automation), *_stand(queue, automation)])

    def _leading_to(self, queue: str) -> list[Key]:
        return [each.metadata.key for each in self._local_queues.values() if each.spec.cluster_queue == queue]

    def _readable(self) -> Mapping[str, WorkerConnection]:
        """Workers whose queues are known. Where the credential may not read them nothing is known to be there."""
        hidden = {CLUSTER_QUEUES.plural, LOCAL_QUEUES.plural}
        blind = {name for name, link in self._connected.items() if not hidden.isdisjoint(link.unknown)}
        for name in sorted(blind):
            log.warning("worker %s: its queues may not be read and do not count in the manager's quota", name)
        return {name: link for name, link in self._connected.items() if name not in blind}


def _quota(document: Document, automation: Automation | None) -> list[Intent]:
    if automation is None or automation.resource_groups is None:
        return []
    after = document | {"spec": document["spec"] | {"resourceGroups": automation.resource_groups}}
    return [PatchObject(resource=CLUSTER_QUEUES, before=document, after=after, field_manager=MULTIKUEUE_MANAGER)]


def _stand(queue: ClusterQueue, automation: Automation | None) -> list[Intent]:
    """The condition where it is news; without a MultiKueue check it goes."""
    current = condition.find(queue.status.conditions, manager_quota.CONDITION)
    stand = automation.stand if automation is not None else None
    if current is None if stand is None else not stand.differs_from(current):
        return []
    told = () if stand is None else (SetCondition(manager_quota.CONDITION, stand.status, stand.reason, stand.message),)
    return [
        ApplyStatus(
            resource=CLUSTER_QUEUES,
            key=queue.metadata.key,
            field_manager=MULTIKUEUE_MANAGER,
            conditions=told,
            removed_conditions=(manager_quota.CONDITION,) if stand is None else (),
            strict=False,
        )
    ]


def _is_other(event: Event[Any]) -> bool:
    """Whether the object came, went, or has another spec."""
    old, new = event.old, event.new
    return old is None or new is None or old.metadata.generation != new.metadata.generation
