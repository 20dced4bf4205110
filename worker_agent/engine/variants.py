"""Variants of one Workload that try different flavors at the same time, as scheduling sees them (spec/engine 23).

A variant is bound to its flavor by an annotation and belongs to its parent by owner reference. The flavor's place in
the ClusterQueue tells how favorable it is.
"""

from collections.abc import Iterator

from worker_agent.api import names
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.conditions import Phase
from worker_agent.engine.workload_info import WorkloadRow

MORE_FAVORABLE_ADMITTED = "A more favorable variant is already admitted"
BELOW_ACCEPTABLE = "Target flavor is below LastAcceptableFlavorName"


def more_favorable_admitted(row: WorkloadRow, queue: ClusterQueueRow) -> bool:
    """Whether a sibling already runs on a better flavor."""
    mine = _place(row, queue)
    return any(_place(sibling, queue) < mine for sibling in _admitted_siblings(row, queue))


def less_favorable_admitted(row: WorkloadRow, queue: ClusterQueueRow) -> WorkloadRow | None:
    """The sibling that runs on a worse flavor."""
    mine = _place(row, queue)
    return next((sibling for sibling in _admitted_siblings(row, queue) if _place(sibling, queue) > mine), None)


def may_migrate_to(row: WorkloadRow, queue: ClusterQueueRow) -> bool:
    """Whether the variant's flavor is good enough to move there from a worse one."""
    policy = queue.view.spec.concurrent_admission_policy
    constraints = policy.migration.constraints if policy is not None else None
    last = constraints.last_acceptable_flavor_name if constraints is not None else ""
    return not last or last not in queue.flavors or _place(row, queue) <= queue.flavors.index(last)


def migration_message(row: WorkloadRow) -> str:
    """What the evicted sibling is told."""
    return f"Evicted to accommodate a workload (UID: {row.uid}) due to migration to more favorable resource flavor"


def is_variant(row: WorkloadRow) -> bool:
    return bool(_parent(row))


def _parent(row: WorkloadRow) -> str:
    owner = row.workload.metadata.controller
    return owner.uid if owner is not None and owner.kind == "Workload" else ""


def _admitted_siblings(row: WorkloadRow, queue: ClusterQueueRow) -> Iterator[WorkloadRow]:
    parent = _parent(row)
    for other in queue.reservations.values() if parent else ():
        if other.key != row.key and other.phase is Phase.ADMITTED and not other.evicted and _parent(other) == parent:
            yield other


def _place(row: WorkloadRow, queue: ClusterQueueRow) -> int:
    listed = row.workload.metadata.annotation(names.ALLOWED_FLAVORS_ANNOTATION) or ""
    flavor = listed.split(",")[0].strip()
    return queue.flavors.index(flavor) if flavor in queue.flavors else len(queue.flavors)
