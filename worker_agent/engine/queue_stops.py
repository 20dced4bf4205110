"""A stopped, terminating or missing queue, and what it means for a Workload that holds quota (spec/engine 17.1)."""

from dataclasses import dataclass

from worker_agent.api import names
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.local_queue import LocalQueue
from worker_agent.engine import eviction, reservation
from worker_agent.engine.workload_turn import Turn


@dataclass(frozen=True, slots=True)
class _Queue:
    kind: str
    name: str
    object: LocalQueue | ClusterQueue | None

    @property
    def usable(self) -> bool:
        return self.object is not None and self.object.metadata.deletion_timestamp is None

    @property
    def stop_policy(self) -> str:
        return (self.object.spec.stop_policy if self.object else None) or names.STOP_NONE


def local_queue(turn: Turn) -> bool:
    view = turn.view
    return _obey(turn, _Queue("LocalQueue", view.queue_name, view.local_queue))


def cluster_queue(turn: Turn) -> bool:
    view = turn.view
    return _obey(turn, _Queue("ClusterQueue", view.cluster_queue_name, view.cluster_queue))


def _obey(turn: Turn, queue: _Queue) -> bool:
    if turn.admitted:
        return _drain(turn, queue)
    if turn.evicted and turn.metadata.get("ownerReferences"):
        # Its pods may still run, here or on another cluster: who stops them gives the quota back when they have ended.
        return False
    if not queue.usable:
        message = f"{queue.kind} {queue.name} is terminating or missing"
        return _cancel(turn, turn.reason(names.MISCONFIGURED, names.INADMISSIBLE), message)
    if queue.stop_policy != names.STOP_NONE:
        message = f"{queue.kind} {queue.name} is stopped"
        return _cancel(turn, turn.reason(names.SUSPENDED, names.INADMISSIBLE), message)
    return False


def _cancel(turn: Turn, reason: str, message: str) -> bool:
    reservation.withhold(turn.draft, reason, message, turn.rules.observability)
    return True


def _drain(turn: Turn, queue: _Queue) -> bool:
    if turn.evicted or queue.stop_policy != names.STOP_HOLD_AND_DRAIN:
        return False
    turn.after.append(eviction.evict(turn.draft, f"{queue.kind}Stopped", f"The {queue.kind} is stopped"))
    return True
