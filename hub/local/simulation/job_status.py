"""Job status as the real controller writes it: counters, uncounted pods, times and conditions, in that order."""

from dataclasses import dataclass
from datetime import datetime

from hub.local.simulation import completion_indexes
from hub.local.simulation.job_state import JobState, Tally
from worker_agent.api.document import Document
from worker_agent.api.timestamps import rfc3339


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the Job ends. The first condition announces it, the second one seals it once every pod is gone."""

    failed: bool
    reason: str
    message: str

    @property
    def announcement(self) -> str:
        return "FailureTarget" if self.failed else "SuccessCriteriaMet"

    @property
    def seal(self) -> str:
        return "Failed" if self.failed else "Complete"


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods by what they do."""

    active: int
    ready: int
    terminating: int


COMPLETIONS_REACHED = Verdict(False, "CompletionsReached", "Reached expected number of succeeded pods")
BACKOFF_LIMIT_EXCEEDED = Verdict(True, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE_EXCEEDED = Verdict(True, "DeadlineExceeded", "Job was active longer than specified deadline")
FAILED_INDEXES = Verdict(True, "FailedIndexes", "Job has failed indexes")
MAX_FAILED_INDEXES_EXCEEDED = Verdict(
    True, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)

Event = tuple[str, str, str]


def next_status(
    state: JobState, tally: Tally, counts: Counts, verdict: Verdict | None, now: datetime
) -> tuple[Document, list[Event]]:
    """The status after this look, and the events that go with its changes. Counters of zero are left out."""
    events: list[Event] = []
    status = dict(state.status)
    conditions = [dict(condition) for condition in status.get("conditions") or ()]
    start = status.get("startTime")
    if start is None and not state.is_suspended:
        start = rfc3339(now)
    if verdict is not None:
        done = _conclude(conditions, tally, counts, verdict, now)
        if done:
            events.append(_ending(verdict))
            if not verdict.failed:
                status["completionTime"] = rfc3339(now)
    elif not state.is_deleting and _mark_suspension(conditions, state.is_suspended, now):
        if state.is_suspended:
            events.append(("Normal", "Suspended", "Job suspended"))
        else:
            events.append(("Normal", "Resumed", "Job resumed"))
            start = rfc3339(now)  # the active deadline counts from the resumption
    _set(status, "conditions", conditions)
    _set(status, "startTime", start)
    _set(status, "active", counts.active)
    _set(status, "succeeded", tally.succeeded)
    _set(status, "failed", tally.failed)
    status["ready"] = counts.ready
    status["terminating"] = counts.terminating
    if state.is_indexed:
        _set(status, "completedIndexes", completion_indexes.text(tally.completed_indexes))
        if state.limit_per_index is not None:
            status["failedIndexes"] = completion_indexes.text(tally.failed_indexes)
    uncounted = {"succeeded": tally.uncounted_succeeded, "failed": tally.uncounted_failed}
    status["uncountedTerminatedPods"] = {name: uids for name, uids in uncounted.items() if uids}
    return status, events


def _conclude(conditions: list[Document], tally: Tally, counts: Counts, verdict: Verdict, now: datetime) -> bool:
    """Announces the verdict; seals it when no pod is left to wait for. Whether it was sealed."""
    _ensure(conditions, verdict.announcement, True, (verdict.reason, verdict.message), now)
    if tally.uncounted_succeeded or tally.uncounted_failed or counts.active or counts.terminating:
        return False
    return _ensure(conditions, verdict.seal, True, (verdict.reason, verdict.message), now)


def _mark_suspension(conditions: list[Document], suspended: bool, now: datetime) -> bool:
    text = ("JobSuspended", "Job suspended") if suspended else ("JobResumed", "Job resumed")
    return _ensure(conditions, "Suspended", suspended, text, now)


def _ensure(conditions: list[Document], type: str, true: bool, text: tuple[str, str], now: datetime) -> bool:
    """Sets the condition; whether that changed anything. A False one is not added where there was none."""
    reason, message = text
    wanted = {"status": "True" if true else "False", "reason": reason, "message": message}
    at = rfc3339(now)
    made = {"type": type, **wanted, "lastProbeTime": at, "lastTransitionTime": at}
    for position, condition in enumerate(conditions):
        if condition.get("type") == type:
            if {name: condition.get(name) for name in wanted} == wanted:
                return False
            conditions[position] = made
            return True
    if true:
        conditions.append(made)
    return true


def _ending(verdict: Verdict) -> Event:
    if verdict.failed:
        return "Warning", verdict.reason, verdict.message
    return "Normal", "Completed", "Job completed"


def _set(status: Document, name: str, value: object) -> None:
    if value in (None, 0, "", []):
        status.pop(name, None)
    else:
        status[name] = value
