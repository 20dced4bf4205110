"""The replacement of an elastic job's Workload slice by a bigger one, as scheduling sees it (spec/engine 20).

The new slice has to stay on the flavors of the old one and is only charged what it asks for beyond it; the old one
makes room as if it were preempted, and is finished once the new one is admitted.
"""

from collections.abc import Sequence
from typing import NamedTuple

from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.policy import Policy
from worker_agent.engine.resources import Requests
from worker_agent.engine.workload_info import WorkloadRow


class HeldPodSet(NamedTuple):
    """What one pod set of the old slice holds: flavor and amount by resource."""

    flavors: dict[str, str]
    requests: Requests


class Replaced(NamedTuple):
    """The old slice; pod sets by position. ``row`` is None where only the figures are known."""

    row: WorkloadRow | None
    pod_sets: tuple[HeldPodSet, ...]

    def flavor(self, pod_set: int, resource: str) -> str:
        """The flavor that the new slice must take; empty where the old one had none."""
        return self.pod_sets[pod_set].flavors.get(resource, "") if pod_set < len(self.pod_sets) else ""

    def held(self, pod_set: int, resource: str) -> int:
        return self.pod_sets[pod_set].requests.get(resource, 0) if pod_set < len(self.pod_sets) else 0

    def held_by(self, pod_sets: Sequence[int], resource: str) -> int:
        return sum(self.held(pod_set, resource) for pod_set in pod_sets)


def replaced_by(row: WorkloadRow, queue: ClusterQueueRow, policy: Policy) -> Replaced | None:
    """The slice in the same queue and namespace that this workload says it replaces, if it holds quota there."""
    if not policy.elastic_jobs:
        return None
    named = row.workload.metadata.annotation(names.SLICE_REPLACEMENT_FOR_ANNOTATION)
    if not named:
        return None
    key = Key.parse(named)
    old = queue.reservations.get(key)
    if old is None or key.namespace != row.key.namespace:
        return None
    return Replaced(old, tuple(HeldPodSet(pod_set.flavors, pod_set.requests) for pod_set in old.pod_sets))


def finished_message(row: WorkloadRow) -> str:
    """What the old slice is told when ``row`` has taken its place."""
    job_uid = row.workload.metadata.label(names.JOB_UID_LABEL) or ""
    return f"Replaced to accommodate a workload (UID: {row.uid}, JobUID: {job_uid}) due to workload slice aggregation"
