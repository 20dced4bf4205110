"""A whole simulated cluster beside an API server: its nodes, and the controllers that make Jobs run on them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any

import msgspec

from hub.local.simulation.job_controller import JobController
from hub.local.simulation.kubelet import Completion, Kubelet, log_completion
from hub.local.simulation.scheduler import Scheduler
from hub.local.simulation.shape import SIMULATED, ClusterShape
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node
from worker_agent.api.resource_type import JOBS, NODES, PODS
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import AlreadyExists, ApiError, NotFound
from worker_agent.kube.events import EventRecorder
from worker_agent.kube.informer import Informer, Keep, document

log = logging.getLogger(__name__)


class Part(Enum):
    """What can be played; a real control plane brings some of it along."""

    NODES = "nodes"
    JOBS = "jobs"
    SCHEDULER = "scheduler"
    KUBELETS = "kubelets"


ALL_PARTS = frozenset(Part)
MACHINES = frozenset({Part.NODES, Part.KUBELETS})
NODES_AT_ONCE = 16
RETRY_SECONDS = 1.0


async def run_simulation(
    client: Client,
    shape: ClusterShape,
    clock: Clock,
    *,
    on_completion: Callable[[Completion], None] = log_completion,
    parts: frozenset[Part] = ALL_PARTS,
) -> None:
    """Makes the nodes of ``shape`` and plays Job controller, scheduler and kubelets (``parts``) until cancelled.

    Safe to kill and start again at any moment; run one per API server. ``on_completion`` hears of every pod that ran
    to its end (again after a restart, for pods that are still there). A server that is not reachable is waited for.
    """
    jobs: Informer[Document] = Informer(client, JOBS, document, keep=Keep.DECODED)
    pods: Informer[Document] = Informer(client, PODS, document, keep=Keep.DECODED)
    nodes: Informer[Node] = Informer(client, NODES, msgspec.json.Decoder(Node).decode, keep=Keep.BOTH)
    events = EventRecorder(client, "job-controller", clock)
    players: dict[Part, Callable[[], Coroutine[Any, Any, None]]] = {
        Part.JOBS: JobController(client, jobs, pods, events, clock).run,
        Part.SCHEDULER: Scheduler(client, pods, nodes, clock).run,
        Part.KUBELETS: Kubelet(client, pods, nodes, clock, on_completion).run,
        Part.NODES: lambda: _keep_nodes(client, nodes, shape, clock),
    }
    watched: list[Informer[Any]] = [pods, nodes, *([jobs] if Part.JOBS in parts else [])]
    async with asyncio.TaskGroup() as group:
        for informer in watched:
            group.create_task(informer.run())
        for informer in watched:
            await informer.synced.wait()
        group.create_task(events.run())
        for part in players.keys() & parts:
            group.create_task(players[part](), name=f"simulated {part.value}")


async def run_machines(
    client: Client,
    shape: ClusterShape,
    clock: Clock,
    *,
    on_completion: Callable[[Completion], None] = log_completion,
) -> None:
    """As ``run_simulation``, with the nodes and kubelets alone: a real Job controller and scheduler do the rest."""
    await run_simulation(client, shape, clock, on_completion=on_completion, parts=MACHINES)


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
            await _settle_node(client, nodes, node)

    await asyncio.gather(*(settle(node) for node in wanted.values()))
    for key in nodes.keys():  # noqa: SIM118 - an informer is no dict
        known = nodes.get(key)
        if known is not None and key.name not in wanted and known.metadata.label(SIMULATED):
            try:
                await client.delete(NODES, key.name)
            except NotFound:
                continue


async def _settle_node(client: Client, nodes: Informer[Node], wanted: Document) -> None:
    name = wanted["metadata"]["name"]
    key = Key("", name)
    if key not in nodes:
        try:
            made: Document = msgspec.json.decode(await client.create(NODES, wanted, field_manager="kubelet"))
        except AlreadyExists:
            made = msgspec.json.decode(await client.get(NODES, name))
    else:
        made = msgspec.json.decode(nodes.raw(key))
    await _settle_taints_and_labels(client, made, wanted)
    capacity = {name: wanted["status"][name] for name in ("capacity", "allocatable")}
    status = made.get("status") or {}
    if {name: status.get(name) for name in capacity} != capacity:
        # Replaces the maps: a resource that the shape no longer names goes.
        gone = {part: {r: None for r in status.get(part) or {} if r not in capacity[part]} for part in capacity}
        merged = {part: gone[part] | capacity[part] for part in capacity}
        body = {"status": merged if status.get("conditions") else wanted["status"] | merged}
        await client.patch(
            NODES, name, "", body, patch_type=PatchType.MERGE, subresource="status", field_manager="kubelet"
        )


async def _settle_taints_and_labels(client: Client, made: Document, wanted: Document) -> None:
    labels = made["metadata"].get("labels") or {}
    missing = {name: value for name, value in wanted["metadata"]["labels"].items() if labels.get(name) != value}
    taints = wanted["spec"].get("taints")
    body: Document = {}
    if missing:
        body["metadata"] = {"labels": missing}
    if (made.get("spec") or {}).get("taints") != taints:
        body["spec"] = {"taints": taints}
    if body:
        await client.patch(
            NODES, made["metadata"]["name"], "", body, patch_type=PatchType.MERGE, field_manager="kubelet"
        )
