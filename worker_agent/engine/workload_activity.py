"""Whether a Workload takes part at all: activation, back-off, restart of queues, admission gates.

Source: spec/engine 14.1, steps 2 and 4 to 10.
"""

from worker_agent.api import names, timestamps
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import admission_checks, eviction, reservation, variant_family, workload_blockers
from worker_agent.engine.intents import WORKLOAD_CONTROLLER_MANAGER, PatchObject
from worker_agent.engine.workload_turn import Turn


def preemption_gates(turn: Turn) -> bool:
    """Status lists exactly the gates of the spec; new ones start closed."""
    if not turn.rules.orchestrated_preemption:
        return False
    present = {gate["name"]: gate for gate in turn.draft.status.get("preemptionGates") or ()}
    wanted = [gate["name"] for gate in turn.draft.spec.get("preemptionGates") or ()]
    if set(wanted) != present.keys():
        closed = {"position": names.GATE_CLOSED, "lastTransitionTime": timestamps.rfc3339(turn.now)}
        turn.draft.put(preemptionGates=[present.get(name) or {"name": name, **closed} for name in wanted])
    return False


def parent_of_variants(turn: Turn) -> bool:
    """A Workload submitted to a queue that tries all flavors at once is marked: its variants queue, it does not."""
    if not turn.rules.concurrent_admission or turn.reserved or turn.finished:
        return False
    queue, document = turn.view.cluster_queue, turn.view.workload
    if queue is None or queue.spec.concurrent_admission_policy is None:
        return False
    if variant_family.is_parent(document) or variant_family.parent_of(document) is not None:
        return False
    labels = {**(turn.metadata.get("labels") or {}), names.CONCURRENT_ADMISSION_PARENT_LABEL: "true"}
    turn.before.append(
        PatchObject(
            resource=WORKLOADS,
            before=document,
            after={**document, "metadata": {**turn.metadata, "labels": labels}},
            field_manager=WORKLOAD_CONTROLLER_MANAGER,
        )
    )
    return True


def check_delay(turn: Turn) -> bool:
    """A check in Retry may ask for a later time than the one already stored; the count stays.

    Not of a Workload that is inactive and evicted: the step ``inactive`` takes its requeueState away, and Kueue 0.20
    writes the two in turns, for ever.
    """
    if not turn.active and turn.evicted:
        return False
    wanted = admission_checks.retry_time(turn.draft.document)
    if wanted is None or wanted <= turn.now:
        return False
    state = turn.draft.status.get("requeueState") or {}
    stored = state.get("requeueAt")
    if stored and timestamps.parse(stored) >= wanted.replace(microsecond=0):
        return False
    turn.draft.put(requeueState={**state, "requeueAt": timestamps.rfc3339(wanted)})
    return True


def device_claims(turn: Turn) -> bool:
    """Claims that cannot be served keep a pending Workload out of the queue."""
    refusal = turn.view.refusal
    if not turn.pending or turn.draft.reason(names.QUOTA_RESERVED) == names.ON_HOLD:
        return False
    if refusal is None:
        if turn.draft.is_false(names.REQUEUED) and turn.draft.reason(names.REQUEUED) == names.INADMISSIBLE:
            # They can be served now: what was told about them is no longer true, and it may queue.
            turn.draft.remove([names.REQUEUED, names.QUOTA_RESERVED])
        return False
    reason = turn.reason(names.MISCONFIGURED, names.INADMISSIBLE)
    reservation.withhold(turn.draft, reason, refusal.message, turn.rules.observability)
    turn.draft.set(names.REQUEUED, False, names.INADMISSIBLE, refusal.requeued_message or refusal.message)
    if refusal.retry:
        turn.error = refusal.message
    return True


def active(turn: Turn) -> bool:
    """An active Workload: told to deactivate, waiting out its back-off, or coming back from one."""
    if not turn.active:
        return False
    if turn.draft.is_true(names.DEACTIVATION_TARGET):
        turn.deactivate()
        return True
    state = turn.draft.status.get("requeueState") or {}
    if state.get("requeueAt"):
        left = (timestamps.parse(state["requeueAt"]) - turn.now).total_seconds()
        if left > 0:
            turn.look_again(left)
            return True
        if turn.pending:
            _clear_requeue_at(turn)
            return True
    return _back(turn)


def _clear_requeue_at(turn: Turn) -> None:
    state = turn.draft.status.get("requeueState") or {}
    turn.draft.put(requeueState={name: value for name, value in state.items() if name != "requeueAt"})


def _back(turn: Turn) -> bool:
    if not turn.draft.is_false(names.REQUEUED):
        return False
    reason = turn.draft.reason(names.REQUEUED)
    if reason == names.DEACTIVATED:
        turn.draft.set(names.REQUEUED, True, names.REACTIVATED, "The workload was reactivated")
        return True
    if reason in (names.EVICTED_PODS_READY_TIMEOUT, names.EVICTED_ADMISSION_CHECK):
        _clear_requeue_at(turn)
        turn.draft.set(names.REQUEUED, True, names.BACKOFF_FINISHED, "The workload backoff was finished")
        return True
    return False


def inactive(turn: Turn) -> bool:
    """A Workload switched off is evicted, with the cause that was noted beforehand."""
    if turn.active:
        return False
    abandoned = _waits_for_its_job(turn) and turn.reserved
    if not turn.evicted:
        target = turn.draft.find(names.DEACTIVATION_TARGET) or {}
        cause, message = "", "The workload is deactivated"
        if target.get("status") == "True":
            cause, message = target.get("reason", ""), f"{message} due to {target.get('message', '')}"
        event = eviction.evict(turn.draft, names.DEACTIVATED, message, cause)
        if turn.draft.status.get("admission"):
            turn.after.append(event)
    elif not turn.draft.status.get("requeueState") and not abandoned:
        return False
    turn.draft.remove([names.DEACTIVATION_TARGET])
    turn.draft.put(requeueState=None)
    if abandoned:
        reservation.release(turn.draft, requeue=True, how=turn.rules.observability)
    return True


def _waits_for_its_job(turn: Turn) -> bool:
    """A manager's copy that no job owns yet: nothing of it runs, and nobody else would take the second step of its
    eviction. With its reservation left in place, the job that comes later would own quota that others were given.

    Other Workloads without owner are left reserved (spec/engine 13.2, 13.3).
    """
    is_copy = (turn.metadata.get("labels") or {}).get(names.MULTIKUEUE_ORIGIN_LABEL)
    return bool(is_copy) and not turn.metadata.get("ownerReferences")


def local_queue_restarted(turn: Turn) -> bool:
    queue = turn.view.local_queue
    if queue is None or not _runs(queue.spec.stop_policy):
        return False
    return _restarted(
        turn, names.EVICTED_LOCAL_QUEUE_STOPPED, names.LOCAL_QUEUE_RESTARTED, "The LocalQueue was restarted"
    )


def cluster_queue_restarted(turn: Turn) -> bool:
    """Only where the LocalQueue leads to a ClusterQueue that the queues know; its object being gone ends the turn."""
    if turn.view.local_queue is None or not turn.view.cluster_queue_known:
        return False
    if turn.view.cluster_queue is None:
        return True
    if not _runs(turn.view.cluster_queue.spec.stop_policy):
        return False
    return _restarted(
        turn, names.EVICTED_CLUSTER_QUEUE_STOPPED, names.CLUSTER_QUEUE_RESTARTED, "The ClusterQueue was restarted"
    )


def _runs(stop_policy: str | None) -> bool:
    return stop_policy in (None, "", names.STOP_NONE)


def _restarted(turn: Turn, stopped: str, restarted: str, what: str) -> bool:
    if not turn.draft.is_false(names.REQUEUED) or turn.draft.reason(names.REQUEUED) != stopped:
        return False
    turn.draft.set(names.REQUEUED, True, restarted, f"{what} after being stopped")
    return True


def admission_gate(turn: Turn) -> bool:
    """Controllers named in the annotation hold the Workload back; when the last one is gone it may be queued."""
    if not turn.rules.admission_gates:
        return False
    gates = str((turn.metadata.get("annotations") or {}).get(names.ADMISSION_GATED_BY_ANNOTATION, ""))
    gated = turn.draft.reason(names.QUOTA_RESERVED) == names.ADMISSION_GATED
    if bool(gates) == gated or turn.reserved:
        return False
    if gates:
        if _says_more(turn):
            return False
        message = f"Admission is gated by: {gates}"
        reservation.withhold(turn.draft, names.ADMISSION_GATED, message, turn.rules.observability)
        turn.event(names.ADMISSION_GATED, f"Workload admission is gated by: {gates}")
        return True
    message = "AdmissionGatedBy cleared, waiting for quota reservation"
    reservation.withhold(turn.draft, names.PENDING_EVALUATION, message, turn.rules.observability)
    turn.event("AdmissionGateCleared", "Admission gate cleared, workload is now admissible")
    return True


def _says_more(turn: Turn) -> bool:
    """Whether the condition names a reason already that goes before the gate, such as a stopped queue.

    Kueue 0.20 writes the two in turns, for ever.
    """
    found = workload_blockers.blocker(turn)
    reason = turn.draft.reason(names.QUOTA_RESERVED)
    return found is not None and found[0] not in ("", names.ADMISSION_GATED) and found[0] == reason
