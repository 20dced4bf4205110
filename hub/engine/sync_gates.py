"""Orchestrated preemption: let the copies preempt one cluster after the other (spec section 13)."""

from datetime import datetime, timedelta

from hub.engine.intents import HubIntent
from hub.engine.remote_group import SINGLE_CLUSTER_PREEMPTION_TIMEOUT, RemoteGroup, Sight
from worker_agent.api import names, timestamps
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import ADMISSION_MANAGER, ApplyStatus, RequeueAfter

GATE = names.MULTIKUEUE_PREEMPTION_GATE


def open_next(group: RemoteGroup, now: datetime) -> list[HubIntent]:
    """Open the gate of the copy that has been blocked longest, unless another one was opened lately."""
    if not group.policy.orchestrated_preemption:
        return []
    closed = [(cluster, copy) for cluster, copy in group.copies() if _opened(copy) is None]
    blocked = [(cluster, copy) for cluster, copy in closed if copy.is_true(names.BLOCKED_ON_PREEMPTION_GATES)]
    if not blocked:
        return []
    opened = [moment for _, copy in group.copies() if (moment := _opened(copy)) is not None]
    wait = max(opened) + SINGLE_CLUSTER_PREEMPTION_TIMEOUT - now if opened else timedelta(0)
    if wait > timedelta(0):
        return [RequeueAfter(wait.total_seconds())]
    cluster, copy = min(blocked, key=lambda held: timestamps.micros(held[1].since(names.BLOCKED_ON_PREEMPTION_GATES)))
    requeue = RequeueAfter(SINGLE_CLUSTER_PREEMPTION_TIMEOUT.total_seconds())
    if GATE not in [gate.name for gate in copy.view.spec.preemption_gates or ()]:
        return [requeue]
    change = ApplyStatus(
        resource=WORKLOADS,
        key=group.key,
        field_manager=ADMISSION_MANAGER,
        fields={"preemptionGates": _with_open_gate(copy.document, now)},
        cluster=cluster,
    )
    return [change, requeue]


def _opened(copy: Sight) -> datetime | None:
    """When the copy's gate was opened; None while it is closed or has no entry."""
    for state in copy.view.status.preemption_gates or ():
        if state.name == GATE and state.position == names.GATE_OPEN:
            return state.last_transition_time or timestamps.ZERO
    return None


def _with_open_gate(remote: Document, now: datetime) -> list[Document]:
    states = (remote.get("status") or {}).get("preemptionGates") or []
    opened = {"name": GATE, "position": names.GATE_OPEN, "lastTransitionTime": timestamps.rfc3339(now)}
    if not any(state.get("name") == GATE for state in states):
        return [*states, opened]
    return [opened if state.get("name") == GATE else state for state in states]
