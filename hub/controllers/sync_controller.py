"""Carries each Workload through MultiKueue's state machine: load the group, decide, apply (spec sections 7 and 8)."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from hub.clusters.remote_clients import RemoteClients
from hub.clusters.worker_connection import WorkerConnection
from hub.controllers.federation_objects import FederationObjects, document_of
from hub.controllers.federation_picture import FederationPicture
from hub.controllers.hub_applier import HubApplier
from hub.controllers.managed_by_field import ManagedByField
from hub.engine import fencing, group_loading, remote_objects, sync, sync_check, sync_folding, sync_owner
from hub.engine.group_loading import Federation
from hub.engine.intents import ForgetDeleted
from hub.engine.remote_group import CAPACITY_AWARE, RemoteGroup, SyncPolicy
from hub.engine.sync_owner import KindTable
from worker_agent import log_context
from worker_agent.api import names, need
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig
from worker_agent.api.resource_type import JOBS
from worker_agent.api.workload import Workload
from worker_agent.engine import workload_status
from worker_agent.engine.intents import ApplyStatus
from worker_agent.engine.reservation import Observability
from worker_agent.jobs import KINDS
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import NotFound, ReconcileError
from worker_agent.kube.informer import Event

KEEP: Final = "Keep"
UNREAD_SECONDS: Final = 0.5
"""When to look again at a Workload whose kind of job has not been read yet."""

FOREIGN_SECONDS: Final = 15.0
"""When to look again where somebody else's job stands on the worker in the place of ours."""

WORKERS: Final = 64
"""Workloads looked after at a time; most wait for an API server, and a slow worker must not use up all of them."""


NEEDS = tuple(
    found
    for kind in KINDS.values()
    if kind.is_dispatched
    for found in (
        need.of_kind(kind.resource, "patch", by_default=kind.resource == JOBS),
        need.of_kind(kind.resource, "patch", subresource="status", by_default=kind.resource == JOBS),
    )
)
"""What a job does elsewhere is told in its own status here."""


class SyncController:
    """Reconciles a Workload when it, its job, one of its copies, its check's configuration or a connection changes."""

    def __init__(
        self,
        objects: FederationObjects,
        clients: RemoteClients[WorkerConnection],
        kinds: KindTable,
        policy: SyncPolicy,
        clock: Clock,
        managed_by: ManagedByField,
    ) -> None:
        self._objects = objects
        self._clients = clients
        self._managed_by = managed_by
        self._policy = policy
        self._clock = clock
        self._applier: HubApplier | None = None
        self._deleted: dict[Key, Document] = {}
        self._look_at_job: Callable[[Workload], None] = lambda workload: None
        self._how = Observability()
        self._picture = FederationPicture(objects, clients, kinds, policy.worker_lost_timeout)
        self.controller: Controller[Key] = Controller(
            "multikueue-workload", self._reconcile, workers=WORKERS, clock=clock
        )
        objects.workloads.add_handler(self._workload_changed)
        objects.checks.add_handler(self._check_changed)
        objects.configs.add_handler(self._config_changed)

    def use(self, applier: HubApplier, look_at_job: Callable[[Workload], None], how: Observability) -> None:
        """The applier comes after the controller: it enqueues siblings here.

        ``look_at_job(workload)`` hears of evicted Workloads whose job is known to have stopped. ``how`` the manager's
        conditions are worded.
        """
        self._how = how
        self._applier = applier
        self._look_at_job = look_at_job

    async def run(self) -> None:
        await self.controller.run()

    async def joined(self, workload: Document) -> Sequence[ApplyStatus]:
        """The nomination of a Workload that is being admitted, where it goes to all clusters at once, to be written
        along with that; nothing where anything else comes first, which takes its usual way."""
        if not self.controller.runs:
            return ()
        group = group_loading.of_workload(workload, self.federation(), self._policy)
        return sync_folding.joined_nomination(sync.decide(self._with_policy(group), self._clock.now()))

    def enqueue(self, key: Key, after: float = 0.0) -> None:
        """Look at a Workload, if there is or was one of that key that is ours."""
        if key in self._objects.workloads or key in self._deleted:
            self.controller.enqueue(key, after)

    def contact_changed(self, cluster: str) -> None:
        """Every Workload that may go or be there is looked at again."""
        for config in self._objects.configs_with_cluster(cluster):
            self._enqueue_config(config)
        for workload in self._objects.workloads.values():
            if workload.status.cluster_name == cluster:
                self.controller.enqueue(workload.metadata.key)
        link = self._clients.link(cluster)
        if link is not None:
            # Copies may stand there although the configuration does not name the cluster any more.
            for copy in link.our_workloads(self._policy.origin):
                self.enqueue(remote_objects.key_of(copy))

    def policies_changed(self) -> None:
        """What becomes of the work of a lost worker may be said otherwise now."""
        for workload in self._objects.workloads.values():
            if workload.status.cluster_name:
                self.controller.enqueue(workload.metadata.key)

    def _workload_changed(self, event: Event[Workload]) -> None:
        if event.new is not None:
            if self._objects.is_ours(event.new):
                self.controller.enqueue(event.key)
            return
        assert event.old is not None
        if self._objects.is_ours(event.old):
            # Its copies are still to be removed; after a restart the collection of orphans does that.
            self._deleted[event.key] = document_of(event.old)
            self.controller.enqueue(event.key)

    def follow(self, kind: JobKind) -> None:
        """Jobs of the kind are followed here from now on; what their users change may have to be carried on."""
        if kind.forwards_changes:
            self._objects.known.informer(kind.resource).add_handler(self._job_changed)

    def _job_changed(self, event: Event[Document]) -> None:
        if event.old is None or event.new is None:
            return
        if event.old["metadata"].get("generation") != event.new["metadata"].get("generation"):
            for key in self._objects.workloads_of(event.new):
                self.enqueue(key)

    def _check_changed(self, event: Event[AdmissionCheck]) -> None:
        old, new = event.old, event.new
        if new is not None and (old is None or old.spec.parameters != new.spec.parameters):
            self._enqueue_check(event.key.name)

    def _config_changed(self, event: Event[MultiKueueConfig]) -> None:
        if event.old is None or event.new is None or event.old.spec.clusters != event.new.spec.clusters:
            self._enqueue_config(event.key.name)

    def _enqueue_config(self, config: str) -> None:
        for check in self._objects.checks_with_config(config):
            self._enqueue_check(check)

    def _enqueue_check(self, check: str) -> None:
        for key in self._objects.workloads_with_check(check):
            self.controller.enqueue(key)

    async def _reconcile(self, key: Key) -> float | None:
        log_context.about(key)
        now = self._clock.now()
        group = group_loading.load(key, self.federation(), self._policy, self._deleted.get(key))
        if group is None:
            return None
        cluster = sync.unseen_end(group)
        if cluster:
            await self._read_job(group, cluster)
            now = self._clock.now()
            group = group_loading.load(key, self.federation(), self._policy, self._deleted.get(key)) or group
        kind = group.owner.kind
        if kind is not None and group.job is None and not self._objects.knows_jobs(kind):
            return UNREAD_SECONDS
        assert self._applier is not None
        group = self._with_policy(await self._with_mark(group))
        intents = sync_folding.with_admission(sync.decide(group, now), group, self._how, now)
        try:
            requeue = await self._applier.apply(intents)
        except ReconcileError as error:
            if not remote_objects.tells_of_foreign(str(error)):
                raise
            # Nothing tells when it goes, as only our own jobs are followed; and its user should know.
            await self._applier.warn(sync_check.event(group, str(error), "Warning"))
            return FOREIGN_SECONDS
        if _is_leaving(group) and not self.may_still_run(group.local.document):
            self._look_at_job(group.local.view)
        if any(isinstance(intent, ForgetDeleted) for intent in intents):
            self._deleted.pop(key, None)
            self._applier.forget(key)
        return requeue

    async def _read_job(self, group: RemoteGroup, cluster: str) -> None:
        """Ask the worker for the job as it is now; its watch will tell the same a little later.

        One that is not known there bears the name of the manager's, if it is there at all.
        """
        link, kind = self._clients.link(cluster), group.owner.kind
        if link is None or kind is None:
            return
        job = group.connected[cluster].job or group.job
        for member in kind.members(job) if job is not None else ():
            key = remote_objects.key_of(member)
            with contextlib.suppress(NotFound):
                raw = await link.client.get(kind.resource, key.name, key.namespace)
                if remote_objects.is_ours(msgspec.json.decode(raw), self._policy.origin):
                    link.known.note(kind.resource, raw)

    async def _with_mark(self, group: RemoteGroup) -> RemoteGroup:
        """Whether a job without managedBy is so because the API server has no such field; decided once for each job."""
        kind, job = group.owner.kind, group.job
        if kind is None or job is None or group.deleted or not sync_owner.may_be_unmarked(kind, job):
            return group
        decided = bool(group.cluster_name) and group.check.state == names.CHECK_PENDING
        return replace(group, unmarked=decided or await self._managed_by.is_dropped(kind, job))

    def _with_policy(self, group: RemoteGroup) -> RemoteGroup:
        """Kueue's dispatchers give up a lost worker after a while; ours does as the queue's DispatchPolicy says."""
        policy = group.policy
        if policy.dispatcher != CAPACITY_AWARE:
            return group
        keep = self._objects.dispatch_policy(group.local.view).on_contact_lost == KEEP
        return group if keep == policy.keep_when_lost else replace(group, policy=replace(policy, keep_when_lost=keep))

    def federation(self) -> Federation:
        """As it is now."""
        return self._picture.now()

    def may_still_run(self, workload: Document) -> bool:
        """Whether another cluster may run the job of this Workload of the manager, which is being evicted here."""
        if not (workload.get("status") or {}).get("clusterName") or workload_status.is_true(workload, names.FINISHED):
            return False
        now = self._clock.now()
        key, federation = remote_objects.key_of(workload), self.federation()
        group = group_loading.load(key, federation, self._policy, None, own_cluster_only=True)
        return group is not None and fencing.may_still_run(self._with_policy(group), now)


def _is_leaving(group: RemoteGroup) -> bool:
    """Somebody waits on the manager for the job to have stopped elsewhere."""
    if group.local.view.metadata.deletion_timestamp is not None:
        return True
    return group.has_quota and group.local.is_true(names.EVICTED)
