"""Kueue's incremental dispatcher as a controller: a few more clusters every five minutes (spec section 9)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from hub.controllers.federation_objects import FederationObjects
from hub.controllers.hub_applier import HubApplier
from hub.engine import group_loading, incremental, sync_nomination
from hub.engine.admission_check import BadReference
from hub.engine.incremental import NoMoreWorkers
from hub.engine.remote_group import RemoteGroup, Sight, SyncPolicy
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine.intents import ApplyStatus
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import ReconcileError
from worker_agent.kube.informer import Event

PAST_THE_ROUND_SECONDS: Final = 0.01


class IncrementalDispatcher:
    """Nominates the next clusters of a Workload when its round is over. Round starts are kept in memory only, as
    Kueue's are: after a restart a new round starts at once."""

    def __init__(
        self,
        objects: FederationObjects,
        applier: HubApplier,
        policy: SyncPolicy,
        clock: Clock,
        *,
        step_size: int = incremental.STEP_SIZE,
        keep_order: bool = True,
    ) -> None:
        self._objects = objects
        self._applier = applier
        self._policy = policy
        self._clock = clock
        self._step_size = step_size
        self._keep_order = keep_order
        self._rounds: dict[Key, datetime] = {}
        self._announced: dict[Key, datetime] = {}
        """First rounds that go along with an admission, until that shows."""
        self.controller: Controller[Key] = Controller("multikueue-incremental-dispatcher", self._reconcile, clock=clock)
        objects.workloads.add_handler(self._changed)

    async def run(self) -> None:
        await self.controller.run()

    async def joined(self, workload: Document) -> Sequence[ApplyStatus]:
        """The first round of a Workload that is being admitted, to be written along with that; nothing where there is
        none to begin or something is amiss, which the usual way tells of."""
        group = self._group(workload)
        if not self.controller.runs or not group.checks or sync_nomination.stopped(group) or not group.has_quota:
            return ()
        if group.local.view.status.nominated_cluster_names or group.key in self._rounds:
            return ()
        try:
            wanted = self._next_round(group, self._clusters(group))
        except (ReconcileError, BadReference):
            return ()
        self._announced[group.key] = self._clock.now()
        return (sync_nomination.nomination(group, wanted),)

    def _changed(self, event: Event[Workload]) -> None:
        self.controller.enqueue(event.key)

    async def _reconcile(self, key: Key) -> float | None:
        document = self._objects.workload(key)
        if document is None or document["metadata"].get("deletionTimestamp"):
            self._rounds.pop(key, None)
            self._announced.pop(key, None)
            return None
        group = self._group(document)
        if not group.checks or sync_nomination.stopped(group):
            return None
        clusters = self._clusters(group)
        if group.local.is_true(names.FINISHED) or not group.has_quota:
            # An announced round may be on its way: it counts from what shows with the quota.
            self._rounds.pop(key, None)
            return None
        announced = self._announced.pop(key, None)
        if announced is not None and group.local.view.status.nominated_cluster_names:
            self._rounds[key] = announced
        now = self._clock.now()
        started = self._rounds.get(key)
        if started is not None and now - started <= incremental.ROUND_TIMEOUT:
            # The last instant belongs to the round: without a pause it would be looked at again and again.
            return (started + incremental.ROUND_TIMEOUT - now).total_seconds() + PAST_THE_ROUND_SECONDS
        await self._applier.apply([sync_nomination.nomination(group, self._next_round(group, clusters))])
        self._rounds[key] = now
        return None

    def _group(self, document: Document) -> RemoteGroup:
        local = Sight.of(document)
        return RemoteGroup(local, self._policy, group_loading.multikueue_checks(local.view, self._objects))

    def _next_round(self, group: RemoteGroup, clusters: Sequence[str]) -> list[str]:
        """Raises ReconcileError."""
        listed = group.local.view.status.nominated_cluster_names or []
        try:
            return incremental.next_round(clusters, listed, step_size=self._step_size, keep_order=self._keep_order)
        except NoMoreWorkers as error:
            raise ReconcileError(str(error)) from error

    def _clusters(self, group: RemoteGroup) -> list[str]:
        check = self._objects.admission_check(group.check.name)
        clusters = group_loading.clusters_of(check, self._objects) if check is not None else []
        if not clusters:
            raise ReconcileError("no active clusters")
        return clusters
