"""What a Workload's conditions mean for the engine: may it queue, does it hold quota, when was it that ...

Reads only; ``workload_status.StatusDraft`` is where conditions are written.
"""

from enum import IntEnum
from typing import Final

from worker_agent.api import names, timestamps
from worker_agent.api.meta import Condition
from worker_agent.api.workload import Workload
from worker_agent.engine.policy import Policy


class Phase(IntEnum):
    """Where a Workload stands for queue and quota (spec/engine 5.10)."""

    PENDING = 0
    RESERVED = 1
    ADMITTED = 2
    GONE = 3
    """Finished, or deactivated with nothing left that runs: neither queued nor counted."""


_CHECK_BLOCKS: Final = ("Retry", "Rejected")


def phase(workload: Workload) -> Phase:
    """Where it stands. A deactivated Workload counts until its owner has stopped and its reservation is released.

    Kueue takes it off the books at once (spec/engine 5.10): what then takes its room runs beside pods that still stop,
    and once the Workload is activated again in the meantime, both are reserved. A Workload that nobody owns has no pods
    of its own and nobody who would release it, unless it is a manager's copy: that waits for its job, which may come at
    any moment and own it, and until then ``workload_activity.inactive`` releases it.
    """
    if workload.is_true(names.FINISHED):
        return Phase.GONE
    holds = workload.is_true(names.QUOTA_RESERVED) and workload.status.admission is not None
    if workload.spec.active is False and not (holds and _is_released_by_somebody(workload)):
        return Phase.GONE
    if not holds:
        return Phase.PENDING
    return Phase.ADMITTED if workload.is_true(names.ADMITTED) else Phase.RESERVED


def _is_released_by_somebody(workload: Workload) -> bool:
    return bool(workload.metadata.owner_references or workload.metadata.label(names.MULTIKUEUE_ORIGIN_LABEL))


def shows_reservation(workload: Workload, shown: Phase) -> bool:
    """Whether an admission that we wrote shows, or the Workload has come to an end that leaves nothing to wait for."""
    if shown == Phase.GONE:
        return workload.is_true(names.QUOTA_RESERVED) or workload.spec.active is not False
    return shown != Phase.PENDING


def engine_phase(workload: Workload, policy: Policy, shown: Phase) -> Phase:
    """``shown`` as it counts for queues and quota: a parent of variants mirrors the quota of one and holds none."""
    return Phase.GONE if policy.concurrent_admission and is_variant_parent(workload) else shown


def queueable(workload: Workload, policy: Policy) -> bool:
    """Whether it may wait in a queue at all (spec/engine 5.1)."""
    return phase(workload) == Phase.PENDING and may_wait(workload, policy)


def may_wait(workload: Workload, policy: Policy) -> bool:
    """The same of one that is known to be pending."""
    if policy.admission_gated_by and workload.metadata.annotation(names.ADMISSION_GATED_BY_ANNOTATION):
        return False
    if policy.concurrent_admission and is_variant_parent(workload):
        return False
    return not workload.status.conditions or not (
        on_hold(workload) or workload.is_true(names.WAITING_FOR_REPLACEMENT_PODS)
    )


def is_variant_parent(workload: Workload) -> bool:
    return workload.metadata.label(names.CONCURRENT_ADMISSION_PARENT_LABEL) == "true"


def on_hold(workload: Workload) -> bool:
    reserved = workload.condition(names.QUOTA_RESERVED)
    return reserved is not None and reserved.is_false and reserved.reason == names.ON_HOLD


def is_evicted(workload: Workload) -> bool:
    return workload.is_true(names.EVICTED)


def backoff_over(workload: Workload, now: int) -> bool:
    """Whether it may enter the active queue: requeueing is not forbidden and its time has come."""
    requeued = workload.condition(names.REQUEUED)
    if requeued is not None and requeued.is_false:
        return False
    state = workload.status.requeue_state
    return state is None or state.requeue_at is None or now >= timestamps.micros(state.requeue_at)


def requeue_time(workload: Workload) -> int | None:
    state = workload.status.requeue_state
    return None if state is None or state.requeue_at is None else timestamps.micros(state.requeue_at)


def transition_time(condition: Condition) -> int:
    return timestamps.micros(condition.last_transition_time)


def reservation_time(workload: Workload, now: int) -> int:
    """When quota was reserved; now while it is not."""
    reserved = workload.condition(names.QUOTA_RESERVED)
    return transition_time(reserved) if reserved is not None and reserved.is_true else now


def pods_ready(workload: Workload) -> bool:
    return workload.is_true(names.PODS_READY)


def refused_by_check(workload: Workload) -> bool:
    checks = workload.status.admission_checks
    return bool(checks) and any(check.state in _CHECK_BLOCKS for check in checks or ())


def checks_ready(workload: Workload) -> bool:
    return all(check.state == "Ready" for check in workload.status.admission_checks or ())


def closed_preemption_gate(workload: Workload) -> bool:
    """Whether any preemption gate of the spec is not open in the status."""
    gates = workload.spec.preemption_gates
    if not gates:
        return False
    opened = {gate.name for gate in workload.status.preemption_gates or () if gate.position == "Open"}
    return any(gate.name not in opened for gate in gates)
