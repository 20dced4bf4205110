"""From the victims of an entry to the steps that evict them (spec/engine 13.1)."""

from collections.abc import Iterator, Sequence

from worker_agent.engine import hierarchy
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.plan import Preempt
from worker_agent.engine.preemption import messages
from worker_agent.engine.preemption.search import Target
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.workload_info import WorkloadRow


def steps(
    preemptor: WorkloadRow, queue: ClusterQueueRow, targets: Sequence[Target], state: QueueState
) -> Iterator[Preempt]:
    """One step for each victim that is not on its way out already."""
    path = hierarchy.path(queue.node)
    for target in targets:
        row = target.row
        if row.evicted or state.evicting.get(row.key) == row.uid:
            continue
        victim_path = hierarchy.path(state.cluster_queues[row.reserved_in].node)
        told = messages.priorities(preemptor, row)
        yield Preempt(
            row.key,
            preemptor.key,
            target.reason,
            messages.preempted(preemptor, target.reason, path, victim_path),
            row.reserved_in,
            told,
            messages.preemptor_story(row, told),
            uid=row.uid,
        )
