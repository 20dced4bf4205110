"""What a Job needs next: pods to make, pods to end, finalizers to take off, and its status.

``decide(job, pods, now)`` is pure and level-triggered: called again on the world its plan led to, it goes on; called
again on the same world, it says the same. It follows syncJob of the real controller (pkg/controller/job); pod failure
policies and success policies are not simulated.
"""

from collections.abc import Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hub.local.simulation import job_counting, job_pods, job_status
from hub.local.simulation.job_state import JobState, Tally
from hub.local.simulation.job_status import Verdict
from worker_agent.api.document import Document
from worker_agent.api.timestamps import parse

FIRST_BACKOFF = 10.0
LONGEST_BACKOFF = 600.0
"""Seconds before a failed pod is replaced: 10, 20, 40 ... 600; a success in between starts anew."""

MOST_PODS_AT_ONCE = 500


@dataclass(slots=True)
class JobPlan:
    """To be carried out in this order: delete, create, write the status, release.

    ``untrack`` names those of ``delete`` (by UID) that lose their finalizer first, because they must not count as
    failed. ``look_again`` is in seconds. ``status`` is None when it stays as it is.
    """

    delete: list[Document] = field(default_factory=list)
    untrack: set[str] = field(default_factory=set)
    create: list[Document] = field(default_factory=list)
    release: list[Document] = field(default_factory=list)
    status: Document | None = None
    delete_job: bool = False
    look_again: float | None = None
    events: list[tuple[str, str, str]] = field(default_factory=list)
    """Type, reason, message."""

    def again_in(self, seconds: float) -> None:
        self.look_again = seconds if self.look_again is None else min(self.look_again, seconds)


def decide(job: Document, pods: list[Document], now: datetime, released: Set[str] = frozenset()) -> JobPlan:
    """The next steps of ``job``, given all pods that may belong to it. ``released``: see JobState."""
    state = JobState(job, pods, released)
    plan = JobPlan()
    if not state.is_ours:
        return plan
    plan.release = job_counting.releasable(state)
    if state.finished is not None:
        _retire(state, state.finished, plan, now)
        return plan
    tally = job_counting.counted(state)
    verdict = _verdict(state, tally, now, plan)
    if verdict is None:
        if not state.is_deleting:
            _manage(state, tally, plan, now)
        verdict = _success(state, tally, plan)
    elif verdict.failed:
        plan.delete = [*state.active, *state.strays]
    _write_status(state, tally, verdict, plan, now)
    return plan


def _retire(state: JobState, finished: Document, plan: JobPlan, now: datetime) -> None:
    """Leftovers of a finished Job go, and the Job itself when its time to live is over."""
    plan.delete = [*state.active, *state.strays]
    plan.untrack = {job_pods.uid(pod) for pod in plan.delete}
    ttl = state.spec.get("ttlSecondsAfterFinished")
    if ttl is None or state.is_deleting:
        return
    left = (parse(finished["lastTransitionTime"]) + timedelta(seconds=int(ttl)) - now).total_seconds()
    if left > 0:
        plan.again_in(left)
    else:
        plan.delete_job = True


def _verdict(state: JobState, tally: Tally, now: datetime, plan: JobPlan) -> Verdict | None:
    """Whether the Job has come to its end already, or does now by failing; success is judged after managing pods."""
    for type, failed in (("FailureTarget", True), ("SuccessCriteriaMet", False)):
        standing = state.condition(type)
        if standing is not None:
            return Verdict(failed, standing.get("reason", ""), standing.get("message", ""))
    if tally.failed + len(tally.uncounted_failed) > state.backoff_limit or _restarted_too_often(state):
        return job_status.BACKOFF_LIMIT_EXCEEDED
    most = state.spec.get("maxFailedIndexes")
    if most is not None and len(tally.failed_indexes) > int(most):
        return job_status.MAX_FAILED_INDEXES_EXCEEDED
    return _overdue(state, now, plan)


def _restarted_too_often(state: JobState) -> bool:
    """With restartPolicy OnFailure containers fail in place and no pod does; their restarts count instead."""
    template = state.spec.get("template") or {}
    if (template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(job_pods.restarts(pod) for pod in state.active)
    return restarts >= state.backoff_limit if state.backoff_limit > 0 else restarts > 0


def _overdue(state: JobState, now: datetime, plan: JobPlan) -> Verdict | None:
    allowed = state.spec.get("activeDeadlineSeconds")
    if allowed is None or state.is_suspended:
        return None
    left = int(allowed) - (now - (state.start_time or now)).total_seconds()
    if state.start_time is not None and left <= 0:
        return job_status.DEADLINE_EXCEEDED
    plan.again_in(left)
    return None


def _success(state: JobState, tally: Tally, plan: JobPlan) -> Verdict | None:
    succeeded = tally.succeeded + len(tally.uncounted_succeeded)
    left = len(state.active) - sum(state.is_tracked(pod) for pod in plan.delete) + len(plan.create)
    if left > 0:
        return None
    if state.completions is None:
        return job_status.COMPLETIONS_REACHED if succeeded > 0 else None
    if tally.failed_indexes and len(tally.failed_indexes | tally.completed_indexes) >= state.completions:
        return job_status.FAILED_INDEXES
    return job_status.COMPLETIONS_REACHED if succeeded >= state.completions else None


def _manage(state: JobState, tally: Tally, plan: JobPlan, now: datetime) -> None:
    """Pods to delete or to create, never both in one step."""
    surplus = list(state.strays)
    if state.is_suspended:
        surplus += state.active
    else:
        surplus += _to_remove(state, len(state.active) - _wanted(state, tally))
    if surplus:
        plan.delete = surplus[:MOST_PODS_AT_ONCE]
        plan.untrack = {job_pods.uid(pod) for pod in plan.delete}
    elif not state.is_suspended:
        _create(state, tally, plan, now)


def _wanted(state: JobState, tally: Tally) -> int:
    """How many pods should be active."""
    succeeded = tally.succeeded + len(tally.uncounted_succeeded)
    if state.completions is None:
        return len(state.active) if succeeded > 0 else state.parallelism
    return max(0, min(state.completions - succeeded - len(tally.failed_indexes), state.parallelism))


def _to_remove(state: JobState, surplus: int) -> list[Document]:
    """Pods of indexes that are not asked for or asked for twice, then the least useful ones up to ``surplus``."""
    doomed: list[Document] = []
    left = state.active
    if state.is_indexed:
        seen: set[int | None] = set()
        for pod in sorted(state.active, key=_usefulness, reverse=True):
            index = job_pods.index(pod)
            if index in seen or not state.counts(pod):
                doomed.append(pod)
            seen.add(index)
        left = [pod for pod in state.active if pod not in doomed]
    more = max(0, surplus - len(doomed))
    return doomed + sorted(left, key=_usefulness)[:more]


def _usefulness(pod: Document) -> tuple[bool, bool, bool, str]:
    """Least useful first: not bound, not running, not ready."""
    bound = bool(pod["spec"].get("nodeName"))
    return bound, job_pods.phase(pod) == "Running", job_pods.is_ready(pod), pod["metadata"]["name"]


def _create(state: JobState, tally: Tally, plan: JobPlan, now: datetime) -> None:
    blocked = len(state.terminating) if state.replaces_only_failed else 0
    missing = min(_wanted(state, tally) - blocked - len(state.active), MOST_PODS_AT_ONCE)
    if missing <= 0:
        return
    taken = {pod["metadata"]["name"] for pod in state.pods}
    if state.limit_per_index is None:
        wait = _backoff([*state.pods], now)
        if wait > 0:
            plan.again_in(wait)
            return
    for index in _indexes(state, tally, plan, now, missing):
        failures = None
        if state.limit_per_index is not None and index is not None:
            failures = job_pods.failures_of_index(state.pods, index)
        pod = job_pods.new_pod(state.job, index, taken, failures)
        taken.add(pod["metadata"]["name"])
        plan.create.append(pod)


def _indexes(state: JobState, tally: Tally, plan: JobPlan, now: datetime, missing: int) -> list[int | None]:
    """For which indexes to make pods: the lowest ones nobody works on; None for pods without."""
    if not state.is_indexed:
        return [None] * missing
    busy = {job_pods.index(pod) for pod in state.active}
    if state.replaces_only_failed:
        busy |= {job_pods.index(pod) for pod in state.terminating}
    free = (
        index
        for index in range(state.completions or 0)
        if index not in busy and index not in tally.completed_indexes and index not in tally.failed_indexes
    )
    chosen: list[int | None] = []
    for index in free:
        if len(chosen) == missing:
            break
        if state.limit_per_index is not None:
            wait = _backoff([pod for pod in state.pods if job_pods.index(pod) == index], now)
            if wait > 0:
                plan.again_in(wait)
                continue
        chosen.append(index)
    return chosen


def _backoff(pods: list[Document], now: datetime) -> float:
    """Seconds until failed pods may be replaced, from how many failed since the last success.

    Read off the pods, which stay until their Job goes, so a restart waits exactly as long.
    """
    ends = [(job_pods.finished_at(pod), job_pods.phase(pod)) for pod in pods if job_pods.is_finished(pod)]
    succeeded = [end for end, phase in ends if phase == "Succeeded" and end is not None]
    last_success = max(succeeded, default=None)
    failed = [
        end
        for end, phase in ends
        if phase == "Failed" and end is not None and (last_success is None or end > last_success)
    ]
    if not failed:
        return 0.0
    delay: float = min(FIRST_BACKOFF * 2 ** min(len(failed) - 1, 20), LONGEST_BACKOFF)
    return (max(failed) + timedelta(seconds=delay) - now).total_seconds()


def _write_status(state: JobState, tally: Tally, verdict: Verdict | None, plan: JobPlan, now: datetime) -> None:
    removed = {job_pods.uid(pod) for pod in plan.delete}
    staying = [pod for pod in state.active if job_pods.uid(pod) not in removed]
    counts = job_status.Counts(
        active=len(staying) + len(plan.create),
        ready=sum(job_pods.is_ready(pod) for pod in staying),
        terminating=len(state.terminating) + sum(bool(pod["spec"].get("nodeName")) for pod in plan.delete),
    )
    status, events = job_status.next_status(state, tally, counts, verdict, now)
    plan.events += events
    if status != state.status:
        plan.status = status
