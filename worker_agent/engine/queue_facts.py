"""What the live state says about one pending Workload beyond the objects: input of the Workload reconciler."""

from datetime import datetime
from typing import NamedTuple

from worker_agent.api.meta import Key
from worker_agent.engine import admissibility
from worker_agent.engine.devices.resolution import Refusal
from worker_agent.engine.policy import Policy
from worker_agent.engine.state import ClusterState


class QueueFacts(NamedTuple):
    """``obstacle`` is empty where nothing stands against the Workload; ``remembered`` where no equal one has failed.

    ``refusal``: device claims that cannot be served.
    """

    active: bool = False
    obstacle: str = ""
    remembered: str = ""
    refusal: Refusal | None = None


def of(state: ClusterState, policy: Policy, now: datetime, key: Key, cluster_queue: str) -> QueueFacts:
    """The facts about Workload ``key`` in the queue of ``cluster_queue``. Reads only."""
    active = state.activity(cluster_queue).active
    queue, row = state.cluster_queues.get(cluster_queue), state.rows.get(key)
    if queue is None or row is None:
        return QueueFacts(active, refusal=row.refusal if row is not None else None)
    refused = admissibility.refusal(row, queue, state)
    remembered = state.pending[cluster_queue].failed_hashes.get(row.hash, "") if policy.equivalence_hashing else ""
    return QueueFacts(active, refused.message if refused else "", remembered, row.refusal)
