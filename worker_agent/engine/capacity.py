"""What a cluster reports of itself: the status of its ClusterCapacity, small enough to be written every few seconds.

Nodes are aggregated to histograms of free vectors before they are sent. When the report would grow beyond its budget,
vectors are merged downwards (what is claimed is always there), then queues lose their details.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from hashlib import sha256
from typing import Final

import msgspec

from worker_agent.api import program_version, timestamps
from worker_agent.api.document import Document
from worker_agent.engine import flavor_nodes, quota, resources
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.flavor_report import FlavorReport
from worker_agent.engine.physical_room import PhysicalRoom
from worker_agent.engine.policy import DEFAULT, Policy
from worker_agent.engine.resources import Requests
from worker_agent.engine.state import ClusterState

__all__ = ["BUDGET", "ENGINE_VERSION", "PhysicalRoom", "policy_hash", "report"]

ENGINE_VERSION: Final = "fedhub-1"
"""Grows with every change of a decision: equal versions and policy hashes decide equally on equal state."""

BUDGET: Final = 20_000
"""Bytes of JSON that a report may take."""

_VECTORS: Final = (64, 32, 16, 8, 4, 2, 1)
LEAST_DETAIL: Final = 8
"""Vectors to which histograms are cut at most to make room for leaves."""

_NAME_OF_LEAVES: Final = 16
_SHAPES: Final = 8


def report(state: ClusterState, policy: Policy, now: datetime, integrations: Sequence[str] = ()) -> Document:
    """``status`` of the ClusterCapacity named ``this``; at most BUDGET bytes as JSON."""
    instant = timestamps.micros(now)
    room = flavor_nodes.room(state, instant)
    shapes = _asked_shapes(state)
    switches = _switches(policy)
    status: Document = {
        "agentVersion": program_version.VERSION,
        "engineVersion": ENGINE_VERSION,
        # Left out when empty: an apply that empties a map of entries it owned leaves a null, which is refused.
        "policy": {"hash": policy_hash(policy), **({"switches": switches} if switches else {})},
        "reportedAt": timestamps.rfc3339(now),
        "clusterQueues": [_queue(state, queue) for _, queue in sorted(state.cluster_queues.items())],
        "integrations": sorted(integrations),
    }
    flavors = [FlavorReport(state, flavor, room, shapes) for _, flavor in sorted(state.catalog.flavors.items())]
    finest = 0
    for most in _VECTORS:
        status["flavors"] = [flavor.document(most) for flavor in flavors]
        if _size(status) > BUDGET:
            continue
        finest = finest or most
        if most < LEAST_DETAIL or _add_leaves(flavors, status):
            break
    if not finest:
        return _shortened(status)
    if most < LEAST_DETAIL:
        # Not all leaves fit, whatever else is left out: then those that do beside the finest histograms.
        status["flavors"] = [flavor.document(finest) for flavor in flavors]
        _add_leaves(flavors, status)
    return status


def _add_leaves(flavors: Sequence[FlavorReport], status: Document) -> bool:
    """Each topology leaf by leaf, as far as the budget goes; whether that is all of them."""
    complete = True
    for flavor, document in zip(flavors, status["flavors"], strict=True):
        if flavor.leaves is None:
            continue
        fits = _size(status) + _size(flavor.leaves) + _NAME_OF_LEAVES <= BUDGET
        complete &= fits
        if fits:
            document["leaves"] = flavor.leaves
    return complete


def _size(status: Document) -> int:
    return len(msgspec.json.encode(status))


def _shortened(status: Document) -> Document:
    """Too many queues or flavors for all details: idle queues lose theirs first, then the list ends early."""
    queues: list[Document] = status["clusterQueues"]
    for queue in sorted(queues, key=lambda queue: queue["pendingWorkloads"]):
        if _size(status) <= BUDGET:
            return status
        queue.pop("quotas", None)
        queue.pop("demand", None)
    while queues and _size(status) > BUDGET:
        del queues[-max(1, len(queues) // 4) :]
    while status["flavors"] and _size(status) > BUDGET:
        del status["flavors"][-max(1, len(status["flavors"]) // 4) :]
    return status


# -- policy ----------------------------------------------------------------------------------------------------------


def policy_hash(policy: Policy) -> str:
    """Equal for policies that decide equally."""
    facts = [f"{field.name}={getattr(policy, field.name)!r}" for field in fields(policy)]
    return sha256("\n".join(facts).encode()).hexdigest()[:16]


def _switches(policy: Policy) -> dict[str, str]:
    """What is off its default, for people."""
    changed = (name.name for name in fields(policy) if getattr(policy, name.name) != getattr(DEFAULT, name.name))
    return {name: str(getattr(policy, name)) for name in changed}


# -- queues ----------------------------------------------------------------------------------------------------------


def _queue(state: ClusterState, queue: ClusterQueueRow) -> Document:
    waiting = state.pending[queue.name].waiting()
    document: Document = {
        "name": queue.name,
        "active": state.activity(queue.name).active,
        "pendingWorkloads": len(waiting),
        "quotas": [_quota(queue, flavor, resource) for flavor, resource in sorted(queue.node.quotas)],
    }
    if queue.cohort_name:
        document["cohort"] = queue.cohort_name
    demand = resources.total(pod_set.requests for row in waiting.rows() for pod_set in row.pod_sets)
    if demand:
        document["demand"] = resources.documents(demand)
    return document


def _quota(queue: ClusterQueueRow, flavor: str, resource: str) -> Document:
    fr = (flavor, resource)
    node = queue.node
    document: Document = {
        "flavor": flavor,
        "resource": resource,
        "nominal": _text(resource, node.nominal(fr)),
        "used": _text(resource, queue.tally.admitted_usage.get(fr, 0)),
        "reserved": _text(resource, queue.tally.usage.get(fr, 0)),
    }
    if node.parent is not None and not node.cyclic:
        own = max(0, resources.minus(node.nominal(fr), node.usage.get(fr, 0)))
        document["borrowable"] = _text(resource, max(0, resources.minus(quota.exposed(node, fr), own)))
    return document


def _text(resource: str, amount: int) -> str:
    """A quantity; what has no bound is the largest one."""
    return resources.text(resource, min(amount, resources.UNLIMITED - 1))


# -- nodes -----------------------------------------------------------------------------------------------------------


def _asked_shapes(state: ClusterState) -> list[Requests]:
    """Request vectors of one pod that waiting workloads ask for, the most frequent ones."""
    counts: dict[tuple[tuple[str, int], ...], int] = {}
    for pending in state.pending.values():
        for row in pending.waiting().rows():
            for pod_set in row.pod_sets:
                vector = tuple(sorted(pod_set.shape.requests.items()))
                counts[vector] = counts.get(vector, 0) + 1
    most = sorted(counts, key=lambda vector: (-counts[vector], vector))
    return [dict(vector) for vector in most[:_SHAPES] if vector]
