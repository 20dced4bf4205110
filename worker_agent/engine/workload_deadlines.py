"""What time and checks do to a Workload that holds quota: failed checks, pods that do not come, its own time limit.

Source: spec/engine 15.2, 16.4, 21.1.
"""

from datetime import datetime, timedelta

from worker_agent.api import names, timestamps
from worker_agent.engine import admission_checks, eviction, pods_ready, reservation, variant_family
from worker_agent.engine.pods_ready import PodsReadyRules
from worker_agent.engine.workload_turn import Turn


def checks(turn: Turn) -> bool:
    """Rejected ends the Workload, Retry evicts it; Rejected wins."""
    if turn.evicted:
        return False
    if _rejected(turn):
        return True
    retried = admission_checks.in_state(turn.draft.document, names.CHECK_RETRY)
    if retried:
        message = f"Evicted due to {admission_checks.describe(retried, names.CHECK_RETRY)}"
        turn.after.append(eviction.evict(turn.draft, names.EVICTED_ADMISSION_CHECK, message))
        return True
    return False


def _rejected(turn: Turn) -> bool:
    rejected = admission_checks.in_state(turn.draft.document, names.CHECK_REJECTED)
    if rejected:
        message = admission_checks.describe(rejected, names.CHECK_REJECTED)
        if turn.draft.set(names.DEACTIVATION_TARGET, True, names.EVICTED_ADMISSION_CHECK, message):
            turn.event("AdmissionCheckRejected", f"Deactivated due to {message}", "Warning")
    return bool(rejected)


def late_verdicts(turn: Turn) -> bool:
    """Checks that spoke when the quota was on its way back or gone. Rejected is final while an eviction stands.

    Retry asks for what has happened already; left standing, it would keep the Workload from its queue for ever, since
    nobody nominates one whose check failed.
    """
    if not turn.active:
        return False
    if turn.evicted and _rejected(turn):
        return True
    if turn.reserved or not admission_checks.in_state(turn.draft.document, names.CHECK_RETRY):
        return False
    turn.draft.put(admissionChecks=eviction.reset_checks(turn.draft))
    return True


def pods(turn: Turn) -> bool:
    """An admitted Workload whose pods do not come up, or do not come back, in time gives its place to others."""
    rules = turn.rules.pods_ready
    if rules is None or not (turn.active and turn.admitted) or turn.evicted or _is_variant(turn):
        return False
    deadline = pods_ready.deadline(turn.draft.document, rules)
    if deadline is None:
        return False
    left = (deadline.at - turn.now).total_seconds()
    if left > 0:
        turn.look_again(left)
        return False
    state = turn.draft.status.get("requeueState") or {}
    count = int(state.get("count") or 0) + 1
    if rules.backoff_limit_count is not None and count > rules.backoff_limit_count:
        message = "exceeding the maximum number of re-queuing retries"
        turn.draft.set(names.DEACTIVATION_TARGET, True, names.REQUEUING_LIMIT_EXCEEDED, message)
        return True
    turn.draft.put(requeueState={"count": count, "requeueAt": _requeue_at(turn, rules, count)})
    message = f"Exceeded the PodsReady timeout {turn.key}"
    turn.after.append(eviction.evict(turn.draft, names.EVICTED_PODS_READY_TIMEOUT, message, deadline.cause))
    return True


def _is_variant(turn: Turn) -> bool:
    """The pods are the parent's: it alone waits for them."""
    return turn.rules.concurrent_admission and variant_family.parent_of(turn.view.workload) is not None


def _requeue_at(turn: Turn, rules: PodsReadyRules, count: int) -> str:
    wanted = turn.now + rules.backoff(count, turn.view.jitter)
    stored = (turn.draft.status.get("requeueState") or {}).get("requeueAt")
    return timestamps.rfc3339(max(wanted, timestamps.parse(stored)) if stored else wanted)


def execution_time(turn: Turn) -> bool:
    """The Workload's own limit on how long it may hold its place, over all its admissions."""
    limit = turn.draft.spec.get("maximumExecutionTimeSeconds")
    if not limit or not turn.admitted or turn.draft.is_true(names.DEACTIVATION_TARGET):
        return False
    left = (_execution_end(turn, int(limit)) - turn.now).total_seconds()
    if left > 0:
        turn.look_again(left)
        return False
    message = "exceeding the maximum execution time"
    turn.draft.set(names.DEACTIVATION_TARGET, True, names.MAXIMUM_EXECUTION_TIME_EXCEEDED, message)
    turn.draft.put(accumulatedPastExecutionTimeSeconds=None)
    turn.event(names.MAXIMUM_EXECUTION_TIME_EXCEEDED, f"The maximum execution time ({limit}s) exceeded", "Warning")
    return True


def _execution_end(turn: Turn, limit: int) -> datetime:
    past = turn.draft.status.get("accumulatedPastExecutionTimeSeconds") or 0
    return reservation.admitted_at(turn.draft.document) + timedelta(seconds=limit - past)
