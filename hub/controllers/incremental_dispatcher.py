"""Kueue's incremental dispatcher as a controller: a few more clusters every five minutes (spec section 9)."""

from datetime import datetime
from typing import Final

from hub.controllers.federation_objects import FederationObjects
from hub.controllers.hub_applier import HubApplier
from hub.engine import group_loading, incremental, sync_nomination
from hub.engine.incremental import NoMoreWorkers
from hub.engine.remote_group import RemoteGroup, Sight, SyncPolicy
from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
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
        self.controller: Controller[Key] = Controller("multikueue-incremental-dispatcher", self._reconcile, clock=clock)
        objects.workloads.add_handler(self._changed)

    async def run(self) -> None:
        await self.controller.run()

    def _changed(self, event: Event[Workload]) -> None:
        self.controller.enqueue(event.key)

    async def _reconcile(self, key: Key) -> float | None:
        document = self._objects.workload(key)
        if document is None or document["metadata"].get("deletionTimestamp"):
            self._rounds.pop(key, None)
            return None
        local = Sight.of(document)
        group = RemoteGroup(local, self._policy, group_loading.multikueue_checks(local.view, self._objects))
        if not group.checks or sync_nomination.stopped(group):
            return None
        clusters = self._clusters(group)
        if local.is_true(names.FINISHED) or not group.has_quota:
            self._rounds.pop(key, None)
            return None
        now = self._clock.now()
        started = self._rounds.get(key)
        if started is not None and now - started <= incremental.ROUND_TIMEOUT:
            # The last instant belongs to the round: without a pause it would be looked at again and again.
            return (started + incremental.ROUND_TIMEOUT - now).total_seconds() + PAST_THE_ROUND_SECONDS
        listed = local.view.status.nominated_cluster_names or []
        try:
            wanted = incremental.next_round(clusters, listed, step_size=self._step_size, keep_order=self._keep_order)
        except NoMoreWorkers as error:
            raise ReconcileError(str(error)) from error
        await self._applier.apply([sync_nomination.nomination(group, wanted)])
        self._rounds[key] = now
        return None

    def _clusters(self, group: RemoteGroup) -> list[str]:
        check = self._objects.admission_check(group.check.name)
        clusters = group_loading.clusters_of(check, self._objects) if check is not None else []
        if not clusters:
            raise ReconcileError("no active clusters")
        return clusters
