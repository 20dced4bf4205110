"""Confirmation: a Workload's object shows the very reservation that the state assumed ahead of the write.

That is what most writes of a reservation come back as. Nothing moves then: the figures are in all sums already.
"""

from collections.abc import Mapping

from worker_agent.engine import conditions
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.workload_info import ROW_FIELDS, WorkloadRow


def taken_over(row: WorkloadRow, assumed: WorkloadRow, queues: Mapping[str, ClusterQueueRow]) -> bool:
    """Let the row that is in the state stand for the new one, where they hold the same; else False, nothing changed."""
    queue = queues.get(assumed.reserved_in)
    if queue is None or not assumed.assumed or not _same(row, assumed) or conditions.pods_ready(row.workload):
        return False
    for name in ROW_FIELDS:
        setattr(assumed, name, getattr(row, name))
    del queue.reservations[row.key]
    queue.reservations[row.key] = assumed
    # As for every reservation that is entered anew: a stopped flavor scan of the queue is not gone on with.
    queue.node.generation += 1
    return True


def _same(row: WorkloadRow, assumed: WorkloadRow) -> bool:
    """Whether both hold the same quota by the same rank; what topologies placed is always entered anew."""
    return (
        row.phase == assumed.phase
        and row.reserved_in == assumed.reserved_in
        and row.usage == assumed.usage
        and not row.placed
        and not assumed.placed
        and row.reserved_at == assumed.reserved_at
        and row.priority == assumed.priority
        and row.evicted == assumed.evicted
        and (row.uid, row.queue) == (assumed.uid, assumed.queue)
        and row.claims_devices == assumed.claims_devices
        and row.workload.status.reclaimable_pods == assumed.workload.status.reclaimable_pods
    )
