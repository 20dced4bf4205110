"""Shell of the simulated autoscaler: carries out ``autoscaling`` pass by pass.

It begins when ProvisioningRequests are served, whenever that is. What it knows is in the objects; only since when a
node stands empty is its own, and counts anew after a restart.
"""

import asyncio
import logging
from datetime import datetime

import msgspec

from hub.local.simulation import autoscaling, job_pods, nodes
from hub.local.simulation.autoscaling import AddNode, Answer, AutoscalerView, RemoveNode, Step
from hub.local.simulation.placement import Demand
from hub.local.simulation.shape import AutoscalerRules, ClusterShape
from worker_agent.api.document import Document, at
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node, PodSpec
from worker_agent.api.quantity import QuantityError
from worker_agent.api.resource_type import POD_TEMPLATES, PROVISIONING_REQUESTS
from worker_agent.app import kinds_served
from worker_agent.engine import intent_effects
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError, Conflict, NotFound
from worker_agent.kube.informer import Event, Informer, Keep, document

log = logging.getLogger(__name__)

FIELD_MANAGER = "cluster-autoscaler"
PASS_PAUSE_SECONDS = 0.1
"""Between passes: what happens together is decided together."""

RETRY_SECONDS = 2.0
WRITES_AT_ONCE = 16


class Autoscaler:
    """Runs over informers of pods and nodes that the caller runs; ``run`` may start once both have synced."""

    def __init__(
        self,
        client: Client,
        pods: Informer[Document],
        nodes: Informer[Node],
        shape: ClusterShape,
        rules: AutoscalerRules,
        clock: Clock,
    ) -> None:
        self._client = client
        self._pods = pods
        self._nodes = nodes
        self._groups = shape.groups
        self._rules = rules
        self._clock = clock
        self._requests: Informer[Document] = Informer(client, PROVISIONING_REQUESTS, document, keep=Keep.DECODED)
        self._templates: Informer[Document] = Informer(client, POD_TEMPLATES, document, keep=Keep.DECODED)
        self._demands: dict[str, Demand] = {}
        self._idle_since: dict[str, datetime] = {}
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Works until cancelled."""
        await kinds_served.until_served(self._client, PROVISIONING_REQUESTS, self._clock)
        async with asyncio.TaskGroup() as group:
            for source in (self._requests, self._templates):
                group.create_task(source.run())
            for source in (self._requests, self._templates):
                await source.synced.wait()
                source.add_handler(self._something_changed)
            self._pods.add_handler(self._pod_changed)
            self._nodes.add_handler(lambda event: self._changed.set())
            await self._work()

    async def _work(self) -> None:
        while True:
            seconds = await self._pass()
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                continue
            await self._clock.sleep(PASS_PAUSE_SECONDS)
            self._changed.clear()

    def _something_changed(self, event: Event[Document]) -> None:
        if event.old is not None:
            self._demands.pop(job_pods.uid(event.old), None)
        self._changed.set()

    def _pod_changed(self, event: Event[Document]) -> None:
        """Of pods it matters where they are and when they end."""
        if event.new is None or event.old is None or _place(event.old) != _place(event.new):
            self._something_changed(event)

    async def _pass(self) -> float | None:
        """One decision carried out; the seconds until time alone changes something."""
        now = self._clock.now()
        view = AutoscalerView(
            requests=list(self._requests.values()),
            pods=list(self._pods.values()),
            nodes=list(self._nodes.values()),
            demand=self._demand,
            template_demand=self._template_demand,
            idle_since=self._idle_since,
        )
        decided = autoscaling.decide(view, self._groups, self._rules, now)
        self._idle_since = decided.idle_since
        slots = asyncio.Semaphore(WRITES_AT_ONCE)
        done = await asyncio.gather(*(self._carry_out(slots, step) for step in decided.steps))
        if not all(done):
            return RETRY_SECONDS
        if decided.look_again is None:
            return None
        return max(PASS_PAUSE_SECONDS, (decided.look_again - self._clock.now()).total_seconds())

    async def _carry_out(self, slots: asyncio.Semaphore, step: Step) -> bool:
        async with slots:
            try:
                if isinstance(step, AddNode):
                    await nodes.settle(self._client, self._nodes, step.group.added(step.number, self._clock.now()))
                elif isinstance(step, RemoveNode):
                    await nodes.remove(self._client, step.name)
                else:
                    await self._answer(step)
            except (NotFound, Conflict):
                return False
            except (ApiError, ConnectionError) as error:
                log.warning("autoscaler: %s", error)
                return False
            return True

    async def _answer(self, answer: Answer) -> None:
        now = self._clock.now()
        after = answer.request
        for condition in answer.conditions:
            after = intent_effects.with_condition(after, condition, now)
        if answer.details:
            after = intent_effects.with_fields(after, {"provisioningClassDetails": dict(answer.details)})
        if after is answer.request:
            return
        metadata = answer.request["metadata"]
        body = {
            "metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]},
            "status": after["status"],
        }
        await self._client.patch(
            PROVISIONING_REQUESTS,
            metadata["name"],
            metadata["namespace"],
            body,
            patch_type=PatchType.MERGE,
            subresource="status",
            field_manager=FIELD_MANAGER,
        )

    def _demand(self, pod: Document) -> Demand:
        """What a pod holds; its requests never change. One that asks for nonsense holds nothing."""
        return self._demand_of(job_pods.uid(pod), pod["spec"])

    def _template_demand(self, key: Key) -> Demand | None:
        template = self._templates.get(key)
        if template is None:
            return None
        return self._demand_of(job_pods.uid(template), at(template, ("template", "spec"), {}))

    def _demand_of(self, uid: str, spec: Document) -> Demand:
        demand = self._demands.get(uid)
        if demand is None:
            view = msgspec.convert(spec, PodSpec, strict=False)
            try:
                demand = Demand.of(view)
            except QuantityError as error:
                log.warning("autoscaler: %s", error)
                demand = Demand(view, {}, repr(error))
            self._demands[uid] = demand
        return demand


def _place(pod: Document) -> tuple[str, bool]:
    return pod["spec"].get("nodeName", ""), job_pods.is_finished(pod)
