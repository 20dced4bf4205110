"""What the status of a Job may not say, and how it may not change.

Most rules look only at what changes, so that a status with an old fault can still be written. Source: kubernetes
pkg/apis/batch/validation/validation.go and getStatusValidationOptions of pkg/registry/batch/job/strategy.go.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hub.local.apiserver.schema import field_errors, object_meta
from hub.local.apiserver.schema.field_errors import OMITTED, FieldError
from worker_agent.api.document import Document, get

Status = Mapping[str, Any]
COUNTS: Final = ("active", "succeeded", "failed", "ready", "terminating")
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
EXCLUDING: Final = (
    ("Complete", "Failed", "cannot set Complete=True and Failed=true conditions"),
    ("Complete", "FailureTarget", "cannot set Complete=True and FailureTarget=true conditions"),
    ("SuccessCriteriaMet", "Failed", "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
    ("SuccessCriteriaMet", "FailureTarget", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
)
FOLLOWING: Final = (
    ("Failed", "FailureTarget", "cannot set Failed=True condition without the FailureTarget=true condition"),
    (
        "Complete",
        "SuccessCriteriaMet",
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
)
LASTING: Final = {
    "Failed": "cannot disable the terminal Failed=True condition",
    "Complete": "cannot disable the terminal Complete=True condition",
    "FailureTarget": "cannot disable the terminal FailureTarget=True condition",
    "SuccessCriteriaMet": "cannot disable the SuccessCriteriaMet=True condition",
}


def errors(job: Document, old: Document) -> Iterator[FieldError]:
    """Complaints about the status of ``job`` that replaces the one of ``old``."""
    status, before = job.get("status") or {}, old.get("status") or {}
    for field in COUNTS:
        if (status.get(field) or 0) < 0:
            yield field_errors.invalid(f"status.{field}", status[field], NOT_NEGATIVE)
    yield from _condition_errors(status, before)
    yield from _finished_errors(job, status, before)
    yield from _completion_errors(status, before)
    yield from _start_errors(job, status, before)
    yield from _count_errors(job, status, before)
    yield from _index_errors(job, status, before)


def is_true(status: Status, kind: str) -> bool:
    """Whether a condition is there and True."""
    return any(c.get("type") == kind and c.get("status") == "True" for c in status.get("conditions") or ())


def is_finished(status: Status) -> bool:
    return is_true(status, "Complete") or is_true(status, "Failed")


def _changed(status: Status, before: Status, *fields: str) -> bool:
    return any((status.get(field) or None) != (before.get(field) or None) for field in fields)


def _flipped(status: Status, before: Status, *kinds: str) -> bool:
    return any(is_true(status, kind) != is_true(before, kind) for kind in kinds)


def _condition_errors(status: Status, before: Status) -> Iterator[FieldError]:
    wrong = []
    for one, other, words in EXCLUDING:
        settled = one == "Complete" and not _flipped(status, before, one, other)
        if is_true(status, one) and is_true(status, other) and not settled:
            wrong.append(words)
    for kind, first, words in FOLLOWING:
        if is_true(status, kind) and not is_true(status, first) and _flipped(status, before, kind):
            wrong.append(words)
    wrong += [words for kind, words in LASTING.items() if is_true(before, kind) and not is_true(status, kind)]
    for words in wrong:
        yield field_errors.invalid("status.conditions", OMITTED, words)


def _finished_errors(job: Document, status: Status, before: Status) -> Iterator[FieldError]:
    if not is_finished(status):
        return
    new = not is_finished(before)
    if (status.get("active") or 0) > 0 and (new or _changed(status, before, "active")):
        yield field_errors.invalid("status.active", status["active"], "active>0 is invalid for finished job")
    idle = get(job, "spec.suspend") is True and get(job, "spec.completions") == 0
    if not status.get("startTime") and not idle and (new or _changed(status, before, "startTime")):
        yield field_errors.required("status.startTime", "startTime is required for finished job")
    if (status.get("terminating") or 0) > 0 and (new or _changed(status, before, "terminating")):
        words = "terminating>0 is invalid for finished job"
        yield field_errors.invalid("status.terminating", status["terminating"], words)
    uncounted = status.get("uncountedTerminatedPods") or {}
    if uncounted.get("failed") or uncounted.get("succeeded"):
        words = "must be empty for finished job"
        yield field_errors.invalid("status.uncountedTerminatedPods", uncounted, words)


def _completion_errors(status: Status, before: Status) -> Iterator[FieldError]:
    completed, complete = status.get("completionTime"), is_true(status, "Complete")
    if _changed(status, before, "completionTime") or _flipped(status, before, "Complete"):
        if completed and not complete:
            words = "cannot set completionTime when there is no Complete=True condition"
            yield field_errors.invalid("status.completionTime", completed, words)
        if complete and not completed:
            yield field_errors.required("status.completionTime", "completionTime is required for Complete jobs")
    if completed and before.get("completionTime") and completed != before["completionTime"]:
        yield field_errors.invalid("status.completionTime", completed, object_meta.IMMUTABLE)


def _start_errors(job: Document, status: Status, before: Status) -> Iterator[FieldError]:
    started, completed = status.get("startTime"), status.get("completionTime")
    if started and completed and completed < started and _changed(status, before, "startTime", "completionTime"):
        yield field_errors.invalid("status.completionTime", completed, "must be equal to or after `startTime`")
    resuming = is_true(before, "Suspended") and any(
        c.get("type") == "Suspended" and c.get("status") == "False" for c in status.get("conditions") or ()
    )
    if before.get("startTime") and started != before["startTime"] and not get(job, "spec.suspend") and not resuming:
        words = "field is immutable for unsuspended job once set"
        yield field_errors.invalid("status.startTime", started, words)


def _count_errors(job: Document, status: Status, before: Status) -> Iterator[FieldError]:
    ready = status.get("ready")
    if ready is not None and ready > (status.get("active") or 0) and _changed(status, before, "ready", "active"):
        yield field_errors.invalid("status.ready", ready, "cannot set more ready pods than active")
    spec = job.get("spec") or {}
    scales = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed",) if scales else ("failed", "succeeded"):
        count = status.get(field) or 0
        if count < (before.get(field) or 0):
            yield field_errors.invalid(f"status.{field}", count, f"cannot decrease the {field} counter")


def _index_errors(job: Document, status: Status, before: Status) -> Iterator[FieldError]:
    spec = job.get("spec") or {}
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    total = spec.get("completions")
    if _changed(status, before, "completedIndexes"):
        problem = index_problem(completed, total) if total is not None else ""
        if problem:
            words = f"error parsing completedIndexes: {problem}"
            yield field_errors.invalid("status.completedIndexes", completed, words)
        if completed and spec.get("completionMode") != "Indexed":
            words = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield field_errors.invalid("status.completedIndexes", completed, words)
    if failed is not None and _changed(status, before, "failedIndexes"):
        if spec.get("backoffLimitPerIndex") is None:
            words = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            yield field_errors.invalid("status.failedIndexes", failed, words)
        elif total is not None and index_problem(failed, total):
            words = f"error parsing failedIndexes: {index_problem(failed, total)}"
            yield field_errors.invalid("status.failedIndexes", failed, words)


def index_problem(text: str, total: int) -> str:
    """What is wrong with a list of indexes such as ``1,3-5``; empty when nothing is."""
    last = -1
    for interval in text.split(",") if text else ():
        bounds = interval.split("-")
        if len(bounds) > 2:
            return (
                f"the fragment {field_errors.quote(interval)} violates the requirement that an index interval can "
                "have at most two parts separated by '-'"
            )
        for bound in bounds:
            if not re.fullmatch(r"\d+", bound):
                return f"cannot convert string to integer for index: {field_errors.quote(bound)}"
            number = int(bound)
            if number >= total:
                return f"too large index: {field_errors.quote(bound)}"
            if number <= last:
                return f"non-increasing order, previous: {last}, current: {number}"
            last = number
    return ""
