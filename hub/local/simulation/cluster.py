"""A whole simulated cluster beside an API server: its nodes, and the controllers that make Jobs run on them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from enum import Enum
from functools import partial
from typing import Any

import msgspec

from hub.local.simulation import nodes as simulated_nodes
from hub.local.simulation.autoscaler import Autoscaler
from hub.local.simulation.job_controller import JobController
from hub.local.simulation.kubelet import Completion, Kubelet, log_completion
from hub.local.simulation.operators import table, train_job
from hub.local.simulation.operators.operator import Operators
from hub.local.simulation.scheduler import Scheduler
from hub.local.simulation.shape import ClusterShape
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node
from worker_agent.api.resource_type import JOBS, NODES, PODS, ResourceType
from worker_agent.app import kinds_served
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError
from worker_agent.kube.events import EventRecorder
from worker_agent.kube.informer import Informer, Keep, document

log = logging.getLogger(__name__)


class Part(Enum):
    """What can be played; a real control plane brings some of it along."""

    NODES = "nodes"
    JOBS = "jobs"
    SCHEDULER = "scheduler"
    KUBELETS = "kubelets"
    OPERATORS = "operators"
    """Controllers of the job kinds that other projects bring."""
    APPS = "apps"
    """Deployments, ReplicaSets and StatefulSets."""
    AUTOSCALER = "autoscaler"
    """Only where the cluster's shape has one."""


JOB_KINDS = frozenset({Part.OPERATORS, Part.APPS})
"""What runs job kinds beside Jobs; only where their definitions are installed."""
ALL_PARTS = frozenset(Part) - JOB_KINDS
MACHINES = frozenset({Part.NODES, Part.KUBELETS, Part.AUTOSCALER})
NODES_AT_ONCE = 16
RETRY_SECONDS = 1.0


async def run_simulation(
    client: Client,
    shape: ClusterShape,
    clock: Clock,
    *,
    on_completion: Callable[[Completion], None] = log_completion,
    parts: frozenset[Part] = ALL_PARTS,
    played_pods: str = "",
) -> None:
    """Makes the nodes of ``shape`` and plays Job controller, scheduler and kubelets (``parts``) until cancelled.

    ``played_pods`` is a field selector of the pods that are simulated: others run by somebody else's hand.

    Safe to kill and start again at any moment; run one per API server. ``on_completion`` hears of every pod that ran
    to its end (again after a restart, for pods that are still there). A server that is not reachable is waited for.
    """
    jobs: Informer[Document] = Informer(client, JOBS, document, keep=Keep.DECODED)
    pods: Informer[Document] = Informer(client, PODS, document, keep=Keep.DECODED, field_selector=played_pods)
    nodes: Informer[Node] = Informer(client, NODES, msgspec.json.Decoder(Node).decode, keep=Keep.BOTH)
    events = EventRecorder(client, "job-controller", clock)
    players: dict[Part, Callable[[], Coroutine[Any, Any, None]]] = {
        Part.JOBS: JobController(client, jobs, pods, events, clock).run,
        Part.SCHEDULER: Scheduler(client, pods, nodes, clock).run,
        Part.KUBELETS: Kubelet(client, pods, nodes, clock, on_completion).run,
        Part.NODES: lambda: _keep_nodes(client, nodes, shape, clock),
    }
    runtimes: dict[ResourceType, Informer[Document]] = {
        resource: Informer(client, resource, document, keep=Keep.DECODED) for resource in train_job.RUNTIMES
    }
    kinds = [*(table.BUILT_IN if Part.APPS in parts else ())]
    if Part.OPERATORS in parts:
        kinds += table.of_other_projects(partial(_runtime, runtimes))
    operators = Operators(client, kinds, {JOBS: jobs, PODS: pods}, clock)
    if kinds:
        players[Part.OPERATORS if Part.OPERATORS in parts else Part.APPS] = operators.run
    if shape.autoscaler is not None:
        players[Part.AUTOSCALER] = Autoscaler(client, pods, nodes, shape, shape.autoscaler, clock).run
    with_jobs = {Part.JOBS, Part.OPERATORS} & parts
    watched: list[Informer[Any]] = [pods, nodes, *([jobs] if with_jobs else [])]
    async with asyncio.TaskGroup() as group:
        for informer in watched:
            group.create_task(informer.run())
        for informer in watched:
            await informer.synced.wait()
        group.create_task(events.run())
        for source in runtimes.values() if Part.OPERATORS in parts else ():
            group.create_task(_once_served(client, source, clock))
        for part in players.keys() & parts:
            group.create_task(players[part](), name=f"simulated {part.value}")


def _runtime(runtimes: dict[ResourceType, Informer[Document]], kind: str, namespace: str, name: str) -> Document | None:
    """A training runtime; cluster-wide ones have no namespace."""
    for resource, source in runtimes.items():
        if resource.kind == kind:
            return source.get(Key(namespace if resource.namespaced else "", name))
    return None


async def _once_served(client: Client, source: Informer[Document], clock: Clock) -> None:
    await kinds_served.until_served(client, source.resource, clock)
    await source.run()


async def run_machines(
    client: Client,
    shape: ClusterShape,
    clock: Clock,
    *,
    on_completion: Callable[[Completion], None] = log_completion,
    parts: frozenset[Part] = MACHINES,
    played_pods: str = "",
) -> None:
    """As ``run_simulation``, with the nodes and kubelets alone: a real Job controller and scheduler do the rest."""
    await run_simulation(client, shape, clock, on_completion=on_completion, parts=parts, played_pods=played_pods)


async def _keep_nodes(client: Client, nodes: Informer[Node], shape: ClusterShape, clock: Clock) -> None:
    """Brings the nodes to ``shape``: missing ones made, changed ones patched, simulated ones beyond it removed."""
    while True:
        try:
            await _settle_nodes(client, nodes, shape, clock)
            return
        except (ApiError, ConnectionError) as error:
            log.warning("simulated nodes not made yet: %s", error)
            await clock.sleep(RETRY_SECONDS)


async def _settle_nodes(client: Client, nodes: Informer[Node], shape: ClusterShape, clock: Clock) -> None:
    wanted = {node["metadata"]["name"]: node for node in shape.nodes(clock.now())}
    slots = asyncio.Semaphore(NODES_AT_ONCE)

    async def settle(node: Document) -> None:
        async with slots:
            await simulated_nodes.settle(client, nodes, node)

    await asyncio.gather(*(settle(node) for node in wanted.values()))
    for key in nodes.keys():  # noqa: SIM118 - an informer is no dict
        known = nodes.get(key)
        if known is not None and key.name not in wanted and shape.has_made(known.metadata):
            await simulated_nodes.remove(client, key.name)
