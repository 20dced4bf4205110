"""What is short for a workload, and whose usage stands in the way (issue: replay and explain).

Amounts are told as Kubernetes prints them, so that a reader can compare them with manifests.
"""

from collections.abc import Iterable, Iterator

import msgspec

from worker_agent.engine import hierarchy, quota, resources
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.quota import NO_QUOTA
from worker_agent.engine.resources import FlavorResource
from worker_agent.engine.state import ClusterState
from worker_agent.engine.workload_info import WorkloadRow


class Tale(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of all that a story tells: plain values, ready for JSON and YAML."""


class Holder(Tale, frozen=True):
    """A workload that holds some of what is short."""

    workload: str
    cluster_queue: str
    amount: str
    borrowed: bool = False
    """Its ClusterQueue uses more of this than its nominal quota."""
    evicted: bool = False
    """It is on its way out."""


class Shortage(Tale, frozen=True):
    """One resource of one flavor: ``wanted`` by the workload, ``free`` for its ClusterQueue now.

    ``most`` is what the ClusterQueue could use if nothing in its cohort were in use; ``lacking`` is over what is free.
    """

    flavor: str
    resource: str
    wanted: str
    free: str
    most: str
    lacking: str = "0"
    never: bool = False
    """More is wanted than ``most``: waiting does not help."""
    nominal: str = "0"
    used: str = "0"
    """By the workload's own ClusterQueue."""
    held_by: tuple[Holder, ...] = ()

    @property
    def short(self) -> bool:
        return self.lacking != "0"


def of(state: ClusterState, queue: ClusterQueueRow, fr: FlavorResource, wanted: int) -> Shortage:
    """How ``wanted`` of one FlavorResource stands against what the ClusterQueue may still use."""
    flavor, resource = fr
    node = queue.node
    free = quota.exposed(node, fr)
    most = max(0, quota.potential_available(node, fr))
    lacking = max(0, resources.minus(wanted, free))

    def text(amount: int) -> str:
        return resources.text(resource, amount)

    return Shortage(
        flavor=flavor,
        resource=resource,
        wanted=text(wanted),
        free=text(free),
        most=text(most),
        lacking=text(lacking),
        never=wanted > most,
        nominal=text(node.quotas.get(fr, NO_QUOTA).nominal),
        used=text(node.usage.get(fr, 0)),
        held_by=tuple(_holder(state, row, fr) for row in holders(state, queue, fr)) if lacking else (),
    )


def holders(state: ClusterState, queue: ClusterQueueRow, fr: FlavorResource) -> list[WorkloadRow]:
    """Who uses what the queue may use too: its own workloads first, then the borrowers of its tree; the most first."""
    own = queue.name
    rows = [row for name in _tree_of(queue) for row in _reservations(state, name) if row.usage.get(fr, 0) > 0]

    def rank(row: WorkloadRow) -> tuple[bool, bool, int, str]:
        return row.reserved_in != own, not _borrows(state, row.reserved_in, fr), -row.usage[fr], str(row.key)

    return sorted(rows, key=rank)


def _tree_of(queue: ClusterQueueRow) -> Iterable[str]:
    node = queue.node
    if node.cyclic or node.parent is None:
        return (queue.name,)
    return (found.name for found in hierarchy.queues_below(hierarchy.root_of(node)))


def _reservations(state: ClusterState, name: str) -> Iterator[WorkloadRow]:
    queue = state.cluster_queues.get(name)
    if queue is not None:
        yield from queue.reservations.values()


def _borrows(state: ClusterState, name: str, fr: FlavorResource) -> bool:
    return quota.borrows(state.cluster_queues[name].node, fr)


def _holder(state: ClusterState, row: WorkloadRow, fr: FlavorResource) -> Holder:
    return Holder(
        workload=str(row.key),
        cluster_queue=row.reserved_in,
        amount=resources.text(fr[1], row.usage[fr]),
        borrowed=_borrows(state, row.reserved_in, fr),
        evicted=row.evicted,
    )
