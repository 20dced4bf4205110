"""The hub, assembled: an agent on the manager cluster, and beside it the federation's controllers."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

import msgspec

from hub.app import agents, evaluators
from hub.app.agents import AgentDoor
from hub.app.configuration import FederationConfiguration
from hub.app.job_view_service import JobViewService
from hub.app.job_views import Workers
from hub.clusters.credentials import CLUSTER_PROFILES, Credential, CredentialSources
from hub.clusters.remote_clients import RemoteClients
from hub.clusters.worker_connection import ConnectionSettings, WorkerConnection, WorkerConnector, transport_of
from hub.clusters.worker_lease import HubIdentity
from hub.controllers import federation_changes, remote_events
from hub.controllers.check_controller import CheckController
from hub.controllers.cluster_controller import ClusterController
from hub.controllers.cohort_span_controller import CohortSpanController
from hub.controllers.dispatch_loop import DispatchLoop, DispatchSettings
from hub.controllers.dispatch_term import DispatchTerm
from hub.controllers.dispatch_turn import TurnMaker
from hub.controllers.federation_objects import FederationObjects
from hub.controllers.hub_applier import HubApplier
from hub.controllers.incremental_dispatcher import IncrementalDispatcher
from hub.controllers.managed_by_field import ManagedByField
from hub.controllers.orphan_collector import OrphanCollector
from hub.controllers.overdrawn_spans import OverdrawnSpans
from hub.controllers.paused_work import PausedWork
from hub.controllers.preflight import Preflight
from hub.controllers.quota_controller import QuotaController
from hub.controllers.remote_events import Listeners, RemoteEvents
from hub.controllers.sync_controller import SyncController
from hub.engine import condition, sync_owner
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.remote_group import ALL_AT_ONCE, CAPACITY_AWARE, INCREMENTAL
from hub.evaluation.evaluator import Evaluator
from hub.metrics import HubMetrics
from worker_agent.api import names, need, resource_type
from worker_agent.api.dispatch_policy import DispatchPolicy
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Object
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.need import Place
from worker_agent.api.resource_type import ResourceType
from worker_agent.app.agent import Agent
from worker_agent.engine.resources import Amounts
from worker_agent.kube.informer import Informer, Keep, document
from worker_agent.kube.transport import Transport

log = logging.getLogger(__name__)

FIRST_CONTACT_SECONDS: Final = 8.0
"""The longest wait for the workers before the first decision."""
LOST_CONTACT_SECONDS: Final = 1.0
"""The same for a worker that was out of reach when somebody led last: it most likely still is."""

REPORTING_CONTROLLER: Final = "multikueue"

FOLLOWED: Final[dict[ResourceType, type[Any]]] = {
    resource_type.MULTIKUEUE_CLUSTERS: MultiKueueCluster,
    resource_type.MULTIKUEUE_CONFIGS: MultiKueueConfig,
}
"""What the hub follows on the manager beside what its agent does, and must have read before it decides."""


NEEDS = (
    *need.followed([*FOLLOWED, resource_type.DISPATCH_POLICIES]),
    *need.followed([resource_type.SECRETS], Place.OWN_NAMESPACE),
    *need.followed([CLUSTER_PROFILES], Place.OWN_NAMESPACE, unseen="behind a gate, and with definitions of others"),
)


class Hub:
    """Adds the federation to ``agent``; nothing runs before the agent does. ``transport`` leads to workers."""

    def __init__(
        self,
        agent: Agent,
        configuration: FederationConfiguration,
        *,
        evaluator: Evaluator | None = None,
        metrics: HubMetrics | None = None,
        transport: Callable[[Credential], Transport] = transport_of,
    ) -> None:
        self.agent = agent
        self.configuration = configuration
        self.metrics = metrics or HubMetrics(agent.metrics.registry, lambda: agent.metrics.role)
        self.evaluator = evaluator or evaluators.make(
            configuration, agent.configuration.policy, agent.clock, self._replay
        )
        self._informers = [self._follow(resource, type_) for resource, type_ in FOLLOWED.items()]
        secrets = self._follow_secrets()
        self._informers.append(secrets)
        served = configuration.agents
        self.door = AgentDoor(agent, configuration, served, secrets, self.metrics) if served is not None else None
        # Dispatch works without policies, and a manager may lack their definition.
        self._follow(resource_type.DISPATCH_POLICIES, DispatchPolicy)
        for kind in configuration.external_kinds:
            # The kinds of integrations are followed by their own controllers.
            agent.follow_once_served(Informer(agent.client, kind.resource, document, keep=Keep.DECODED))
        self._wire(agents.transport_of(self.door, transport))

    def _follow(self, resource: ResourceType, type_: type[Object]) -> Informer[Any]:
        decode = msgspec.json.Decoder(type_, strict=False).decode
        return self._informer(Informer(self.agent.client, resource, decode))

    def _follow_secrets(self) -> Informer[Any]:
        """Of Secrets only the hub's own namespace: its rights reach no further."""
        namespace = self.configuration.namespace
        return self._informer(Informer(self.agent.client, resource_type.SECRETS, document, namespace=namespace))

    def _follow_profiles(self) -> None:
        """In the hub's own namespace, once they are defined; until then no cluster has one."""
        namespace = self.configuration.namespace
        profiles = Informer(self.agent.client, CLUSTER_PROFILES, document, namespace=namespace)
        self.agent.follow_once_served(profiles)
        profiles.add_handler(self.clusters.profile_changed)

    def _informer(self, informer: Informer[Any]) -> Informer[Any]:
        self.agent.known.follow(informer.resource, informer)
        self.agent.add_always(informer.run)
        return informer

    def _wire(self, transport: Callable[[Credential], Transport]) -> None:
        agent, configuration, clock = self.agent, self.configuration, self.agent.clock
        kinds = self._kinds()
        table = sync_owner.table(kinds)
        applier = agent.applier(REPORTING_CONTROLLER)
        self.objects = FederationObjects(agent.known)
        settings = ConnectionSettings(
            configuration.sync.origin,
            tuple(kinds),
            watch_silence=configuration.watch_silence,
            request_timeout=configuration.request_timeout,
            requests=agent.runtime.requests,
            hub=self._identity(),
        )
        connector = WorkerConnector(
            settings,
            clock,
            [self._remote_event],
            transport=transport,
            unknown_changed=self._unknown_changed,
        )
        self.clients: RemoteClients[WorkerConnection] = RemoteClients(
            connector, clock, on_lost=self._lost, on_reset=self._reset, replica=agent.surroundings.identity
        )
        field = ManagedByField(agent.client)
        self.sync = SyncController(self.objects, self.clients, table, configuration.sync, clock, field)
        self.applier = HubApplier(
            applier, self.clients.link, configuration.sync.origin, self.metrics, self.sync.enqueue
        )
        self.sync.use(self.applier, agent.look_at_job, agent.configuration.rules.observability)
        agent.tells = self.objects.tells
        agent.elsewhere = self.sync.may_still_run
        agent.kinds.on_followed = self.sync.follow
        turns = TurnMaker(self.objects, self.sync, table, configuration.sync, clock)
        dispatch = DispatchSettings(configuration.round_timeout)
        self.dispatch = DispatchLoop(turns, self.evaluator, self.applier, dispatch, self.metrics, clock)
        preflight = Preflight(self.clients.link, clock, configuration.sync.origin)
        self.dispatch.use(preflight)
        self.paused = PausedWork(turns, preflight.checked, self.dispatch.judged, self.applier, clock)
        if configuration.sync.dispatcher == CAPACITY_AWARE:
            agent.plan_writer.joined = self.dispatch.joined
        elif configuration.sync.dispatcher == ALL_AT_ONCE:
            agent.plan_writer.joined = self.sync.joined
        self.events = RemoteEvents(
            self.sync,
            self.evaluator,
            configuration.sync.origin,
            configuration.sync.jobs,
            configuration.batch_period,
            Listeners(self._learned, self.dispatch.look_at, self.dispatch.given_up),
        )
        self.clusters = ClusterController(self.objects, self.clients, self._sources(), applier, self.metrics, clock)
        self.clusters.clear_removed(kinds, configuration.sync.origin)
        if configuration.profiles_enabled:
            self._follow_profiles()
        self.clusters.add_contact_handler(self._contact_changed)
        if self.door is not None:
            self.door.add_change_handler(self.clusters.agent_changed)
        self.checks = CheckController(self.objects, applier, clock)
        overdrawn = OverdrawnSpans(self.objects, self._held, clock)
        self.spans = CohortSpanController(self.objects, self.clients, applier, overdrawn, clock)
        agent.engine.add_view_handler(self.spans.usage_changed)
        self.quotas = QuotaController(self.objects, applier, clock) if configuration.quota_automation else None
        self.orphans = OrphanCollector(
            self.objects, self.clients, table, configuration.sync.origin, self.metrics, clock
        )
        self.objects.workloads.add_handler(lambda event: self.dispatch.look_at(event.key))
        self.objects.workloads.add_handler(self.paused.note)
        federation_changes.watch(self.objects, self._places_changed, self._policies_changed)
        agent.add(self._work)
        self.views: JobViewService | None = None
        if configuration.views is not None:
            workers = Workers(self.objects, self._sources(), transport, configuration.sync.origin)
            self.views = JobViewService(agent.client, configuration.namespace, configuration.views, workers)
            agent.add_always(self.views.run)

    def _held(self) -> dict[str, Amounts]:
        """What the manager's engine counts as held in each of its ClusterQueues."""
        return {name: dict(queue.holdings.usage) for name, queue in self.agent.engine.view.cluster_queues.items()}

    def _identity(self) -> HubIdentity:
        configuration = self.configuration
        holder = self.agent.surroundings.identity
        self.term = DispatchTerm(self.agent.client, configuration.namespace, holder)
        return HubIdentity(
            configuration.sync.origin,
            holder,
            configuration.namespace,
            configuration.fence,
            lambda: self.term.value,
            self.term.raise_above,
            self._fence_changed,
        )

    def _kinds(self) -> list[JobKind]:
        """Those that can be sent to a worker."""
        enabled = self.agent.configuration.kinds.values()
        return [*(kind for kind in enabled if kind.is_dispatched), *self.configuration.external_kinds]

    def _sources(self) -> CredentialSources:
        known = self.agent.known
        return CredentialSources(
            namespace=self.configuration.namespace,
            secret=lambda key: known.document(resource_type.SECRETS, key),
            profile=lambda key: known.document(CLUSTER_PROFILES, key),
            path_prefix=self.configuration.path_prefix,
            profiles_enabled=self.configuration.profiles_enabled,
            access_providers=self.configuration.access_providers,
            agents=self.door,
        )

    async def _work(self) -> None:
        """What runs while this replica leads."""
        for informer in self._informers:
            await informer.synced.wait()
        configuration = self.configuration
        await self.term.take()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.clusters.run(), name="worker connections")
                group.create_task(self.clusters.watch_files(), name="kubeconfig files")
                group.create_task(self.checks.run(), name="admission checks")
                await self._first_contact()
                group.create_task(self.sync.run(), name="workload synchronisation")
                group.create_task(self.spans.run(), name="cohorts that span workers")
                if self.quotas is not None:
                    group.create_task(self.quotas.run(), name="quotas of the manager")
                group.create_task(self.orphans.run(configuration.gc_interval), name="orphans")
                for number, work in enumerate(self._dispatchers()):
                    group.create_task(work, name=f"dispatch {number}")
        finally:
            await self.evaluator.close()

    def _dispatchers(self) -> Iterator[Coroutine[Any, Any, None]]:
        """AllAtOnce is part of the synchronisation, and any other name is somebody else's program."""
        configuration = self.configuration
        if configuration.sync.dispatcher == CAPACITY_AWARE:
            yield self.dispatch.run()
            yield self.paused.run()
        elif configuration.sync.dispatcher == INCREMENTAL:
            dispatcher = IncrementalDispatcher(
                self.objects,
                self.applier,
                configuration.sync,
                self.agent.clock,
                step_size=configuration.step_size,
                keep_order=configuration.keep_config_order,
            )
            self.agent.plan_writer.joined = dispatcher.joined
            yield dispatcher.run()

    async def _first_contact(self) -> None:
        """Wait until every worker was tried once: whoever decides earlier counts the late ones out."""
        clock = self.agent.clock
        began = clock.monotonic()
        while any(clock.monotonic() - began < _patience(cluster) for cluster in self._untried()):
            await clock.sleep(0.05)

    def _untried(self) -> Iterator[MultiKueueCluster]:
        """Workers that were neither reached yet nor found out of reach."""
        for cluster in self.objects.clusters.values():
            if cluster.metadata.name in self.clients.never_reached:
                continue
            entry = self.clients.entries.get(cluster.metadata.name)
            if entry is None or (not entry.contact.connected and not entry.contact.failures):
                yield cluster

    def _remote_event(self, cluster: str, resource: ResourceType, event: Any, raw: bytes) -> None:
        self.events(cluster, resource, event, raw)
        self.clusters.report_changed(cluster, resource, event, raw)
        self.spans.remote_changed(cluster, resource, event)
        if self.quotas is not None:
            self.quotas.remote_changed(cluster, resource, event)

    def _replay(self, observe: Callable[[KnowledgeEvent], None]) -> None:
        """Tell an evaluator that starts late all that the connections know."""
        for link in self.clients.connected().values():
            for event in remote_events.knowledge_of(link):
                observe(event)

    def _lost(self, cluster: str) -> None:
        self.clusters.lost(cluster)

    def _reset(self, cluster: str) -> None:
        self.events.reset(cluster)

    def _unknown_changed(self, link: WorkerConnection) -> None:
        self.events.opened(link)

    def _fence_changed(self, cluster: str) -> None:
        self.clusters.controller.enqueue(cluster)

    def _learned(self, cluster: str) -> None:
        self.dispatch.learned(cluster)
        self.paused.news()

    def _places_changed(self) -> None:
        self.dispatch.reconsider()
        self.paused.news()

    def _policies_changed(self) -> None:
        self._places_changed()
        self.sync.policies_changed()

    def _contact_changed(self, cluster: str) -> None:
        link = self.clients.link(cluster)
        if link is not None:
            self.events.opened(link)
        self.sync.contact_changed(cluster)
        self.dispatch.contact_changed(cluster)
        self.paused.news()
        self.spans.contact_changed(cluster)
        if self.quotas is not None:
            self.quotas.contact_changed(cluster, self.clients.connected())


def _patience(cluster: MultiKueueCluster) -> float:
    """Seconds that the first decision waits for this worker."""
    told = condition.find(cluster.status.conditions, names.ACTIVE)
    return LOST_CONTACT_SECONDS if told is not None and told.status == "False" else FIRST_CONTACT_SECONDS
