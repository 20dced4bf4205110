"""One cluster's admission engine, assembled: informers, engine, controllers, webhooks, in the order of their start.

The hub is built of the same ``Agent`` on the manager cluster: it adds work of its own (``add``) and reads ``known``,
``engine`` and ``client``.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.frameworks import GVK
from worker_agent.api.names import PROVISIONING_CONTROLLER
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_type import (
    PROVISIONING_REQUEST_CONFIGS,
    WORKLOADS,
    ResourceType,
)
from worker_agent.api.workload import Workload
from worker_agent.app import (
    agent_metrics,
    capacity_reports,
    gated_controllers,
    job_starts,
    job_surroundings,
    kinds_served,
    leadership,
    provisioning,
    topology_work,
)
from worker_agent.app.configuration import POD, Configuration
from worker_agent.app.kind_work import KindWork
from worker_agent.app.runtime_metrics import Sources
from worker_agent.app.webhook_service import WebhookService
from worker_agent.controllers import in_use_finalizer, intake
from worker_agent.controllers.ancestors import Ancestors
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.engine_messages import Lead
from worker_agent.controllers.engine_thread import EngineTask, EngineThread
from worker_agent.controllers.engine_work import Pacing
from worker_agent.controllers.fence import Fence
from worker_agent.controllers.job_controller import OWNER_INDEX, JobWorld, owner_values
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.plan_writer import PlanWriter
from worker_agent.controllers.priority_class_controller import PriorityClassController
from worker_agent.controllers.queue_controllers import QueueControllers
from worker_agent.controllers.recording import NO_RECORDER, Recorder
from worker_agent.controllers.workload_controller import WorkloadController
from worker_agent.engine import audience
from worker_agent.engine.intents import RecordEvent
from worker_agent.engine.plan import Plan
from worker_agent.engine.state import ClusterState
from worker_agent.kube.budget import RateBudget
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import ROSTER
from worker_agent.kube.events import EventRecorder
from worker_agent.kube.informer import Informer
from worker_agent.kube.transport import Transport, host_of
from worker_agent.metrics import LEADER
from worker_agent.validation import ValidationPolicy
from worker_agent.webhooks import hooks
from worker_agent.webhooks.certificates import LIFETIMES, Lifetimes

log = logging.getLogger(__name__)

Work = Callable[[], Awaitable[None]]
"""Something that runs until it is cancelled."""

DEFAULT_SYNC_SECONDS = 120.0
READY_WITHOUT_CACHES_SECONDS = 10.0
FINISH_SECONDS = 3.0
"""How long a stopping agent waits for answers to its writes."""
FLUSH_SECONDS = 2.0
"""How long a stopping agent tries to write the last events."""

NEEDS = need.followed([PROVISIONING_REQUEST_CONFIGS])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the agent is given beside its settings. ``threaded`` False runs the engine in the loop (virtual time)."""

    transport: Transport
    clock: Clock
    threaded: bool = True
    pacing: Pacing = field(default_factory=Pacing)
    user_agent: str = "fedhub-agent"
    identity: str = "fedhub-agent"
    """Name of this replica in the leader election."""
    webhooks: bool = True
    """False leaves defaulting and validation to somebody else (tests of other parts)."""
    recorder: Recorder = NO_RECORDER
    """Told of everything that reaches the engine."""
    certificate_lifetimes: Lifetimes = LIFETIMES
    """Of the webhooks' own certificates."""


class LeadershipLost(Exception):
    """Another replica leads now. The caches and queues here are those of a leader: start afresh."""


class Agent:
    """Everything is wired when it is made; nothing runs before ``run``."""

    def __init__(self, configuration: Configuration, surroundings: Surroundings) -> None:
        settings = configuration.settings
        self.configuration = configuration
        self.surroundings = surroundings
        self.clock = surroundings.clock
        connection = settings.client_connection
        budget = RateBudget(self.clock, connection.qps or -1.0, max(1, connection.burst))
        self.runtime = Sources()
        self.client = Client(surroundings.transport, self.clock, budget=budget, user_agent=surroundings.user_agent)
        self.client.statistics = self.runtime.requests.of(host_of(surroundings.transport))
        self.election = leadership.election(settings, self.client, surroundings.identity)
        self.known = KnownObjects()
        self.metrics = agent_metrics.make(configuration, self.known)
        self.ready = asyncio.Event()
        self.missing = "caches"
        """What still has to come before the agent is ready; empty when it is."""
        self._stopping = False
        self._lost = asyncio.Event()
        self.tells: Callable[[Document, RecordEvent], bool] = lambda document, event: True
        """Whether an event is recorded at all; the hub leaves out what it tells in other words."""
        self._recorders: dict[str, EventRecorder] = {}
        self._leading: list[Work] = []
        self._always: list[Work] = []
        state = ClusterState(configuration.policy)
        engine_type = EngineThread if surroundings.threaded else EngineTask
        self.engine = engine_type(
            state, configuration.policy, self.clock, on_plan=self._plan_made, pacing=surroundings.pacing
        )
        self.engine.work.recorder = surroundings.recorder
        whole_pods = POD in configuration.kinds
        self._informers = intake.informers(self.client, whole_pods=whole_pods)
        for resource, source in self._informers.items():
            self._follow(resource, source)
        # Not waited for at the start: a cluster may lack the definition, and then no check needs it.
        self._follow(
            PROVISIONING_REQUEST_CONFIGS,
            Informer(self.client, PROVISIONING_REQUEST_CONFIGS, intake.decoder(ProvisioningRequestConfig)),
        )
        self._devices = self._device_informers()
        self.informer(WORKLOADS).add_index(OWNER_INDEX, owner_values)
        self._counts = agent_metrics.observe(self.metrics, configuration, self.known, self.engine)
        self._wire()
        agent_metrics.tell_runtime(self.metrics, self.runtime, configuration, self.webhooks)

    @property
    def leader(self) -> str:
        """The replica that leads, as far as this one knows: empty while it knows of none."""
        return self.surroundings.identity if self.election is None else self.election.leader

    def informer(self, resource: ResourceType) -> Informer[Any]:
        return self.known.informer(resource)

    def recorder(self, controller: str) -> EventRecorder:
        """The recorder of events under that reporting controller's name; it runs with the agent."""
        if controller not in self._recorders:
            recorder = self._recorders[controller] = EventRecorder(
                self.client, controller, self.clock, supersedes=audience.SUPERSEDES
            )
            self.add_always(recorder.run)
        return self._recorders[controller]

    def applier(self, controller: str) -> Applier:
        return Applier(self.client, self.known, self.recorder(controller), self.clock, self._is_told)

    def _is_told(self, document: Document, event: RecordEvent) -> bool:
        return audience.is_told(document, event) and self.tells(document, event)

    def add(self, work: Work) -> None:
        """Run ``work`` while this replica leads (always, without leader election), after all caches are in."""
        self._leading.append(work)

    def add_always(self, work: Work) -> None:
        """Run ``work`` on every replica from the start."""
        self._always.append(work)

    def _follow(self, resource: ResourceType, source: Informer[Any]) -> None:
        self.known.follow(resource, source)
        intake.feed(source, self.engine.post)
        self.add_always(source.run)

    def _device_informers(self) -> list[Informer[Any]]:
        """Followed from the moment the server has them, which older ones never do."""
        if not self.configuration.policy.devices.enabled:
            return []
        made = [intake.informer(self.client, resource) for resource in intake.DEVICES]
        for source in made:
            self.follow_once_served(source)
            intake.feed(source, self.engine.post)
        return made

    def follow_once_served(self, source: Informer[Any]) -> None:
        """Follow a kind that the server may not have yet."""
        self.known.follow(source.resource, source)
        self.add_always(partial(self._once_served, source))

    async def _once_served(self, source: Informer[Any]) -> None:
        await kinds_served.until_served(self.client, source.resource, self.clock)
        await source.run()

    def _wire(self) -> None:
        configuration = self.configuration
        self.plan_writer = PlanWriter(
            self.client,
            self.known,
            self.applier("kueue-admission"),
            configuration.rules.observability,
            self.engine.post,
            self.clock,
        )
        self.workloads = WorkloadController(
            self.known, self.engine, self.applier("kueue-workload-controller"), configuration.rules, self.clock
        )
        priorities = PriorityClassController(self.known, self.applier("kueue-workload-controller"), self.clock)
        self.add(priorities.run)
        applier = self.applier(PROVISIONING_CONTROLLER)
        self.add(provisioning.work(self.client, self.known, applier, configuration.provisioning, self.clock))
        reporter, frameworks = self.applier("fedhub-agent"), list(configuration.kinds)
        self.add(capacity_reports.work(self.client, self.known, self.engine, reporter, frameworks, self.clock))
        self.add(self.plan_writer.run)
        self.add(self.workloads.run)
        queue_applier = self.applier("kueue")
        self.queues = QueueControllers(
            self.known, self.engine, queue_applier, self.clock, on_activity=self.workloads.enqueue_cluster_queue
        )
        for controller in (self.queues.cluster_queues, self.queues.local_queues, self.queues.cohorts):
            self.add(controller.run)
        for gated in gated_controllers.controllers(configuration, self.known, self.applier, self.metrics, self.clock):
            self.add(gated.run)
        for worker in topology_work.controllers(
            configuration, self.known, self.client, self.applier, self.metrics, self.clock
        ):
            self.add(worker.run)
        for guard in in_use_finalizer.guards(self.known, queue_applier):
            self.add(guard.start(self.clock).run)
        settings = configuration.settings
        self.followed_kinds: dict[GVK, ResourceType] = {}
        self.ancestors = Ancestors(self.client, self.known, configuration.jobs, self.followed_kinds)
        self.fence = Fence(self.client, self.known, settings.namespace, self.applier("fedhub-agent"), self.clock)
        self.add(self.fence.run)
        self.elsewhere: Callable[[Document], bool] = lambda workload: False
        world = JobWorld(
            self.known,
            configuration.jobs,
            self.clock,
            self.ancestors,
            self.fence,
            self._may_run_elsewhere,
            partial(job_surroundings.has_multikueue_check, self.known),
            agent_metrics.creation_latency(self.metrics, configuration),
            self._counts.ready_unsaid,
        )
        self.kinds = KindWork(self.client, world, self.followed_kinds, settings.controller.group_kind_concurrency)
        for kind in configuration.kinds.values():
            follow, work = self.kinds.of(kind, self.applier(f"{kind.framework}-kueue-controller"))
            self.add_always(follow)
            self.add(work)
        self.engine.work.leading = False
        self.add_always(self.engine.run)
        self.webhooks: WebhookService | None = None
        if self.surroundings.webhooks:
            surroundings = job_surroundings.reader(self.known, self.ancestors, configuration.jobs)
            validation = ValidationPolicy.from_gates(configuration.gates)
            patience = settings.webhook.lease_read_seconds
            starts = job_starts.starter(self.known, self.fence, configuration.jobs, patience)
            table = hooks.table(validation, configuration.kinds.values(), surroundings, starts)
            self.webhooks = WebhookService(
                configuration, self.client, self.clock, table, self.surroundings.certificate_lifetimes
            )
            self.add_always(self.webhooks.run)

    def _may_run_elsewhere(self, workload: Document) -> bool:
        return self.elsewhere(workload)

    def look_at_job(self, workload: Workload) -> None:
        """What ``elsewhere`` says of this Workload may have changed."""
        self.kinds.look_at(workload)

    def _plan_made(self, plan: Plan, seconds: float) -> None:
        agent_metrics.count_plan(self.metrics, self.known, plan, seconds)
        self.plan_writer.take(plan)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set, then stop in good order. Raises what ended any part, as an exception group."""
        ROSTER.set(self.runtime.controllers)
        async with asyncio.TaskGroup() as group:
            always = [group.create_task(_forever(work)) for work in self._always]
            leading = group.create_task(self._start(), name="agent")
            ends = [asyncio.ensure_future(event.wait()) for event in (stop, self._lost)]
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                self._stopping = True
                self.missing = "nothing more: this program is stopping"
                await self._finish_writes()
            finally:
                await _cancelled([leading, *ends])
                if self.webhooks is not None:
                    await self.webhooks.stop()
                await _cancelled(always)
                await self._flush()
        if self._lost.is_set():
            raise LeadershipLost("another replica leads now; start this one again")

    async def _finish_writes(self) -> None:
        """No decision is made any more and no write begun; those under way end, but for the lease's release."""
        self.engine.post(Lead(False))
        if not await self.client.gate.close(FINISH_SECONDS):
            log.warning("writes that had no answer within %g s are left to whoever leads next", FINISH_SECONDS)
        self.client.gate.open()

    async def _start(self) -> None:
        self.missing = "conversion webhook"
        if self.webhooks is not None:
            await self.webhooks.serve()
        self.missing = "caches"
        in_service = asyncio.create_task(self._in_service_without_caches())
        try:
            await self._caches_filled()
        finally:
            await _cancelled([in_service])
        log.info("all caches are in")
        if self.webhooks is not None:
            await self.webhooks.admit()
        self.missing = ""
        self.ready.set()
        if self.election is None:
            await self._lead()
        else:
            await self.election.run(self._promoted)

    async def _caches_filled(self) -> None:
        timeout = self.configuration.settings.controller.cache_sync_timeout
        seconds = timeout / 1e9 if timeout else DEFAULT_SYNC_SECONDS
        await intake.synced(self._informers.values(), seconds)
        # What is installed meanwhile is followed as soon as it is found, as it is at any later time.
        looks = [(source, await kinds_served.look(self.client, source.resource, seconds)) for source in self._devices]
        await intake.synced([source for source, served in looks if served], seconds)

    async def _in_service_without_caches(self) -> None:
        """Count as ready before the caches are in where that takes long: they may be waiting for ourselves.

        A Service leads to ready replicas only, and the API server asks through it for the conversion of objects that
        it holds in an older version. Admission is refused until the caches are in, as it is without any replica.
        """
        await self.clock.sleep(READY_WITHOUT_CACHES_SECONDS)
        if self.webhooks is not None:
            log.info("the caches are not in yet; counted as ready, in case they wait for this agent's conversion")
            self.missing = ""

    async def _promoted(self) -> None:
        self.metrics.role = LEADER
        await self._lead()

    async def _lead(self) -> None:
        self.engine.post(Lead(True))
        try:
            async with asyncio.TaskGroup() as group:
                for work in self._leading:
                    group.create_task(_forever(work))
        except asyncio.CancelledError:
            if not self._stopping:
                self._lost.set()
            raise
        finally:
            self.engine.post(Lead(False))

    async def _flush(self) -> None:
        with contextlib.suppress(TimeoutError, ConnectionError, OSError):
            async with asyncio.timeout(FLUSH_SECONDS):
                for recorder in self._recorders.values():
                    await recorder.finish()


async def _forever(work: Work) -> None:
    await work()


async def _cancelled(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
