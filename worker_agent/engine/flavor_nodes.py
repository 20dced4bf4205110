"""Which nodes belong to a flavor, what is free on them, and what is already promised to pods that are not bound yet."""

from collections.abc import Iterable, Iterator
from typing import Final

from worker_agent.api import names
from worker_agent.engine import conditions, selection
from worker_agent.engine.conditions import Phase
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.node_room import NodeRow
from worker_agent.engine.physical_room import Demand, FreeNodes, PhysicalRoom
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.workload_info import WorkloadRow

SETTLING: Final = 30_000_000
"""Microseconds within which the pods of an admitted workload should be bound; later they count when they are."""


def nodes_of(flavor: FlavorRow, nodes: Iterable[NodeRow]) -> list[NodeRow]:
    """Ready nodes that carry the flavor's labels and no taint that its pods would not tolerate."""
    return [node for node in nodes if node.ready and _belongs(flavor, node)]


def _belongs(flavor: FlavorRow, node: NodeRow) -> bool:
    labels = node.labels
    if any(labels.get(key) != value for key, value in flavor.labels.items()):
        return False
    # Pods come to the flavor only when they tolerate its taints, so those are no obstacle on its nodes.
    declared = {(taint.key, taint.value, taint.effect) for taint in flavor.taints}
    foreign = [t for t in node.view.spec.taints or () if (t.key, t.value, t.effect) not in declared]
    return selection.untolerated(foreign, flavor.tolerations) is None


def histogram(nodes: Iterable[NodeRow]) -> list[FreeNodes]:
    """Free vectors with their number of nodes, largest first. Resources that no node has left are not listed."""
    counts: dict[tuple[tuple[str, int], ...], int] = {}
    for node in nodes:
        vector = tuple(sorted((name, max(0, amount)) for name, amount in node.free.items()))
        counts[vector] = counts.get(vector, 0) + 1
    return [FreeNodes(dict(vector), count) for vector, count in sorted(counts.items(), key=_largest, reverse=True)]


def _largest(item: tuple[tuple[tuple[str, int], ...], int]) -> tuple[int, ...]:
    free = dict(item[0])
    return (free.get("nvidia.com/gpu", 0), free.get("cpu", 0), free.get("memory", 0), item[1])


def room(state: QueueState, now: int) -> PhysicalRoom:
    """Physical room of every flavor, with promised pods placed."""
    nodes = state.catalog.nodes.nodes.values()
    flavors = {name: histogram(nodes_of(flavor, nodes)) for name, flavor in state.catalog.flavors.items()}
    found = PhysicalRoom.of(flavors)
    for demand in promised(state, now):
        found = found.after([demand]) or found
    return found


def promised(state: QueueState, now: int) -> Iterator[Demand]:
    """Pods of lately admitted workloads that no node holds yet."""
    for queue in state.cluster_queues.values():
        if any(_remote(state, check) for check in queue.checks):
            continue
        for row in queue.reservations.values():
            recent = now - conditions.reservation_time(row.workload, now) < SETTLING
            if recent and row.phase == Phase.ADMITTED and not row.evicted:
                yield from _unbound(state, row)


def _remote(state: QueueState, check: str) -> bool:
    found = state.catalog.checks.get(check)
    return found is not None and found.spec.controller_name == names.MULTIKUEUE_CONTROLLER


def _unbound(state: QueueState, row: WorkloadRow) -> Iterator[Demand]:
    bound = state.catalog.nodes.owned.get(row.workload.metadata.label(names.JOB_UID_LABEL), 0)
    for pod_set in row.pod_sets:
        there = min(bound, pod_set.count)
        bound -= there
        flavor = next(iter(pod_set.flavors.values()), "")
        if pod_set.count > there and flavor:
            yield Demand(pod_set.shape.requests, pod_set.count - there, flavor)
