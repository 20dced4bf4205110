"""batch/v1 Job: partial admission, reclaimable pods, a stop in three writes (spec/jobs 9.1, spec/multikueue 10.3)."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from worker_agent.api import names, need, timestamps
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import (
    NO_CAUSE,
    Cause,
    Finish,
    JobKind,
    StatusBack,
    Stop,
    StopStep,
    TemplateAt,
    prebuilt_name,
    with_prebuilt,
    without_labels,
)
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.resource_type import JOBS
from worker_agent.api.topology_request import parse_bool, parse_int
from worker_agent.engine.workload_status import is_true

TEMPLATE: Final = ("spec", "template")
PASSING: Final = timedelta(seconds=10)
"""A state that usually lasts less is not copied home before it has lasted so long."""
INTERIM: Final = ("SuccessCriteriaMet", "FailureTarget")
ANNOTATIONS: Final = ("metadata", "annotations")


NEEDS = (need.of(JOBS, "patch", subresource="status"),)


class BatchJob(JobKind):
    framework = "batch/job"
    resource = JOBS
    pod_sets_by_spec = True
    pod_name_label = "batch.kubernetes.io/job-name"
    native_manager = names.JOB_CONTROLLER
    managed_by_optional = True
    rank_label = "batch.kubernetes.io/job-completion-index"
    private_template_labels = ("job-name", "controller-uid", "batch.kubernetes.io/controller-uid")
    template_labels = (*private_template_labels, "batch.kubernetes.io/job-name")
    pod_counts = ("active", "ready", "terminating")
    elastic_allowed = True
    counts_checked_last = True
    starts_at_creation = True

    def templates(self, job: Document) -> list[TemplateAt]:
        return [TemplateAt(names.DEFAULT_POD_SET_NAME, TEMPLATE, pod_count(job), min_pod_count(job))]

    def resized(self, job: Document, infos: Sequence[PodSetInfo]) -> Document:
        if min_pod_count(job) is None or get(job, "spec.parallelism", 0) == infos[0].count:
            return job
        resized: Document = put(job, ("spec", "parallelism"), infos[0].count)
        return put(resized, ("spec", "completions"), infos[0].count) if completions_follow(job) else resized

    def is_suspended(self, job: Document) -> bool:
        """A Job whose stop was interrupted counts as running, so that the stop is taken up again."""
        return super().is_suspended(job) and at(job, ANNOTATIONS, {}).get(names.STOPPING_ANNOTATION) != "true"

    def stop(self, job: Document, infos: Sequence[PodSetInfo] | None, cause: Cause = NO_CAUSE) -> Stop:
        """Suspend, clear the start time, restore: the template of a Job that has a start time is immutable.

        The last two are due for a suspended Job too; a mark keeps it "running" until all three are done. The template
        of a Job with active pods is immutable as well (Kubernetes 1.36), so both may wait for its own controller, which
        ends them when it sees the first. Those of a Job that runs on another cluster end some time after this write,
        and until then its start time is brought home again, so there both wait in any case.
        """
        steps: list[StopStep] = []
        stopped = not self.is_suspended(job)
        begun = at(job, (*ANNOTATIONS, names.STOPPING_ANNOTATION)) == "true"
        if stopped:
            job = put(self.suspend(job), (*ANNOTATIONS, names.STOPPING_ANNOTATION), "true")
            steps.append(StopStep(job))
        elsewhere = self.managed_by(job) == names.MULTIKUEUE_CONTROLLER
        if (elsewhere and self.is_active(job)) or (cause.pods_first and get(job, "status.active", 0)):
            return Stop(tuple(steps), stopped and not begun, complete=False)
        if get(job, "status.startTime"):
            job = put(job, ("status", "startTime"), None)
            steps.append(StopStep(job, "status"))
        restored, _ = self.restore(job, infos or ())
        if at(restored, (*ANNOTATIONS, names.STOPPING_ANNOTATION)) is not None:
            restored = put(restored, (*ANNOTATIONS, names.STOPPING_ANNOTATION), None)
        if restored != job:
            steps.append(StopStep(restored))
        return Stop(tuple(steps), stopped and not (begun and cause.pods_first))

    def pods_ready(self, job: Document) -> bool:
        status = job.get("status") or {}
        uncounted = get(status, "uncountedTerminatedPods.succeeded", [])
        ready: int = (status.get("succeeded") or 0) + (status.get("ready") or 0) + len(uncounted)
        return ready >= pod_count(job)

    def reclaimable_pods(self, job: Document) -> dict[str, int]:
        parallelism: int = get(job, "spec.parallelism", 1)
        ended = _ended(job)
        if parallelism <= 1 or not ended:
            return {}
        remaining: int = get(job, "spec.completions", parallelism) - ended
        return {names.DEFAULT_POD_SET_NAME: parallelism - remaining} if remaining < parallelism else {}

    def remote_copy(self, job: Document, workload: str, origin: str, policy: JobPolicy) -> Document:
        """Without what binds pods to the local object: selector, controller labels, the mark of a stop."""
        copy = super().remote_copy(job, workload, origin, policy)
        copy = put(copy, ("spec", "selector"), None)
        if at(copy, (*ANNOTATIONS, names.STOPPING_ANNOTATION)) is not None:
            copy = put(copy, (*ANNOTATIONS, names.STOPPING_ANNOTATION), None)
        return put(copy, TEMPLATE, without_labels(at(copy, TEMPLATE, {}), self.private_template_labels))  # type: ignore[no-any-return]

    def remote_patch(self, local: Document, remote: Document, workload: str, policy: JobPolicy) -> Document:
        """An elastic Job's size, and the slice that grants it.

        Growth is left alone while another slice than the one of the present size is looked at: that view is old.
        """
        if not self.is_elastic(local, policy):
            return remote
        wanted, present = get(local, "spec.parallelism", 1), get(remote, "spec.parallelism", 1)
        if wanted == present and prebuilt_name(remote, policy) == workload:
            return remote
        if present < wanted and workload != self.workload_name(local, policy):
            return remote
        return with_prebuilt(put(remote, ("spec", "parallelism"), wanted), workload, policy)

    def without_interim(self, job: Document) -> Document:
        """Before Kubernetes 1.31 a Job without success policy may not have met its criteria."""
        conditions = get(job, "status.conditions", [])
        kept = [condition for condition in conditions if condition.get("type") not in INTERIM]
        return job if len(kept) == len(conditions) else put(job, ("status", "conditions"), kept)

    def ended(self, job: Document, end: Finish, now: datetime) -> Document:
        """An API server takes the end of a Job only with its interim condition, its times, and no pods left."""
        before = INTERIM[0] if end.success else INTERIM[1]
        job = super().ended(self._with_end(job, before, end, now), end, now)
        status = {**job["status"], "uncountedTerminatedPods": {}}
        started = status.setdefault("startTime", timestamps.rfc3339(now))
        if end.success:
            # The clocks of two clusters made these times.
            status["completionTime"] = max(started, timestamps.rfc3339(now))
            status |= _all_completed(job)
        return {**job, "status": status}

    def status_back(self, local: Document, remote: Document, now: datetime) -> StatusBack:
        """The copy waits while the local Job is suspended and the remote one runs: a suspended Job reports no pods.

        It waits a moment too for a local Job that is about to be started, for pods that are about to be ready, and for
        the end that a Job which has met its criteria is about to report: each saves a write of what is over by the time
        anybody reads it.
        """
        suspended = self.is_suspended(local)
        if self.finished(remote) is None and (_is_starting(remote, now) or _is_about_to_end(remote, now)):
            return StatusBack(None, deferred=True)
        if not suspended or self.is_suspended(remote) or self.finished(remote) is not None:
            return super().status_back(local, _with_first_start(local, remote), now)
        # One that is sent may run from the beginning, and its controller has not looked at it yet.
        started = get(remote, "status.startTime", "") or get(remote, "metadata.creationTimestamp", "")
        if started and _is_recent(started, now):
            return StatusBack(None, deferred=True)
        if is_true(local, "Suspended"):
            return StatusBack(None, deferred=True)
        conditions = get(local, "status.conditions", [])
        kept = [condition for condition in conditions if condition.get("type") != "Suspended"]
        mark = {
            "type": "Suspended",
            "status": "True",
            "reason": "MultiKueueAdapter",
            "message": "Set by MultiKueue adapter",
            "lastProbeTime": timestamps.rfc3339(now),
            "lastTransitionTime": timestamps.rfc3339(now),
        }
        return StatusBack({**(local.get("status") or {}), "conditions": [*kept, mark]}, deferred=True)


def _with_first_start(local: Document, remote: Document) -> Document:
    """``remote`` with the start that the local Job tells of: while that runs, its API server takes no other.

    A copy that somebody deleted while it ran is made anew and starts again; its end would never be taken.
    """
    first = get(local, "status.startTime", "")
    if not first or get(local, "spec.suspend", False) or get(remote, "status.startTime", "") == first:
        return remote
    status = {**(remote.get("status") or {}), "startTime": first}
    if status.get("completionTime"):
        status["completionTime"] = max(first, status["completionTime"])
    return {**remote, "status": status}


def _all_completed(job: Document) -> Document:
    """What the status counts once every completion asked for was reached; a success policy may ask for fewer."""
    completions: int = get(job, "spec.completions", 0)
    if completions <= 0 or get(job, "spec.successPolicy"):
        return {}
    indexed = get(job, "spec.completionMode") == "Indexed"
    last = completions - 1
    return {"succeeded": completions, **({"completedIndexes": f"0-{last}" if last else "0"} if indexed else {})}


def _is_starting(job: Document, now: datetime) -> bool:
    """Started just now, and some of its pods are not ready yet."""
    status = job.get("status") or {}
    if not status.get("startTime") or not status.get("active"):
        return False
    waiting = status.get("ready", 0) < status["active"] and not status.get("succeeded") and not status.get("failed")
    return waiting and _is_recent(status["startTime"], now)


def _is_about_to_end(job: Document, now: datetime) -> bool:
    """Its controller has seen the criteria met just now, and has yet to count the pods."""
    return any(
        condition.get("type") in INTERIM
        and condition.get("status") == "True"
        and _is_recent(condition["lastTransitionTime"], now)
        for condition in get(job, "status.conditions", [])
        if condition.get("lastTransitionTime")
    )


def _is_recent(time: str, now: datetime) -> bool:
    """Of another cluster's clock, which may be a little ahead; one that is far off makes nothing wait."""
    return abs(now - timestamps.parse(time)) < PASSING


def pod_count(job: Document) -> int:
    """Pods at one time: parallelism, unless fewer completions are asked for."""
    parallelism: int = get(job, "spec.parallelism", 1)
    completions: int = get(job, "spec.completions", parallelism)
    return min(parallelism, completions)


def min_pod_count(job: Document) -> int | None:
    """The least parallelism the user accepts; None without the annotation or with one that is no integer."""
    text = at(job, ANNOTATIONS, {}).get(names.JOB_MIN_PARALLELISM_ANNOTATION)
    try:
        return None if text is None else parse_int(text)
    except ValueError:
        return None


def completions_follow(job: Document) -> bool:
    text = at(job, ANNOTATIONS, {}).get(names.JOB_COMPLETIONS_EQUAL_PARALLELISM_ANNOTATION, "")
    try:
        return parse_bool(text)
    except ValueError:
        return False


def _ended(job: Document) -> int:
    """Pods that will not run again: succeeded ones, or in an Indexed Job the indexes that completed or failed."""
    if get(job, "spec.completionMode") != "Indexed":
        return int(get(job, "status.succeeded", 0))
    completions: int = get(job, "spec.completions", get(job, "spec.parallelism", 1))
    ranges = [*_ranges(get(job, "status.completedIndexes", "")), *_ranges(get(job, "status.failedIndexes", ""))]
    return len({index for first, last in ranges for index in range(first, min(last, completions - 1) + 1)})


def _ranges(text: str) -> Iterable[tuple[int, int]]:
    """``1,3-5,7`` as (first, last) pairs; what cannot be read is left out."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            yield int(first), int(last or first)
