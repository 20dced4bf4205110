"""Checks on a workload before any flavor is looked at (spec/engine 3.2): its namespace, its limits, LimitRanges."""

from typing import NamedTuple

from worker_agent.engine import limit_ranges
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.queue_state import QueueState
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.workload_info import WorkloadRow


class Refusal(NamedTuple):
    message: str
    requeue: RequeueReason = RequeueReason.GENERIC


def refusal(row: WorkloadRow, queue: ClusterQueueRow, state: QueueState) -> Refusal | None:
    """Why the workload may not be nominated in this queue as both stand; None when it may."""
    labels = state.namespace_labels(row.key.namespace)
    if labels is None:
        namespace = row.key.namespace
        return Refusal(f'workload namespace "{namespace}" does not exist: Namespace "{namespace}" not found')
    if queue.selector_error:
        return Refusal(f"invalid namespace selector: {queue.selector_error}")
    if not queue.takes(labels):
        return Refusal("workload namespace doesn't match ClusterQueue selector", RequeueReason.NAMESPACE_MISMATCH)
    if row.problem:
        return Refusal(f"resources validation failed: {row.problem}")
    for pod_set in row.pod_sets:
        if not pod_set.shape.flawless:
            return _resource_refusal(row, state)
    return None


def _resource_refusal(row: WorkloadRow, state: QueueState) -> Refusal | None:
    limits = state.shapes.limits.get(row.key.namespace, limit_ranges.NO_LIMITS)
    paths = [f"spec.podSets[{index}].template.spec" for index in range(len(row.pod_sets))]
    pods = [pod_set.shape.pod for pod_set in row.pod_sets]
    above = [error for pod, path in zip(pods, paths, strict=True) for error in limit_ranges.above_limits(pod, path)]
    if above:
        return Refusal(f"resources validation failed: {limit_ranges.aggregate(above)}")
    outside = [error for pod, path in zip(pods, paths, strict=True) for error in limits.violations(pod, path)]
    if outside:
        return Refusal(f"resources didn't satisfy LimitRange constraints: {limit_ranges.aggregate(outside)}")
    return None
