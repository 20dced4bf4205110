"""Counting finished pods exactly once: through UIDs in the status and a finalizer on the pod.

A finished pod is first written into the status (its UID, or its completion index), then loses the finalizer, and only
then leaves the list of UIDs for the counter. Killed between any two of these, the next look goes on from there.
Source: KEP-2307, pkg/controller/job/job_controller.go trackJobStatusAndRemoveFinalizers.
"""

from hub.local.simulation import job_pods
from hub.local.simulation.job_state import JobState, Tally
from worker_agent.api.document import Document


def counted(state: JobState) -> Tally:
    """The tally after this look: settled UIDs moved to the counters, newly finished pods taken in."""
    tally = state.tally()
    tracked = {job_pods.uid(pod) for pod in state.pods if state.is_tracked(pod)}
    _settle(tally, tracked)
    known = {*tally.uncounted_succeeded, *tally.uncounted_failed}
    for pod in state.pods:
        if state.is_tracked(pod) and job_pods.uid(pod) not in known and state.counts(pod):
            _take_in(state, tally, pod)
    if state.is_indexed:
        tally.succeeded = len(tally.completed_indexes)
        if state.limit_per_index is not None:
            tally.failed_indexes |= _given_up(state)
    return tally


def releasable(state: JobState) -> list[Document]:
    """Pods whose finalizer can go: the status, as it is stored, knows them. And all leftovers of a finished Job."""
    stored = state.tally()
    known = {*stored.uncounted_succeeded, *stored.uncounted_failed}
    return [
        pod
        for pod in state.pods
        if state.is_tracked(pod)
        and not job_pods.is_active(pod)
        and (
            job_pods.uid(pod) in known
            or not state.counts(pod)
            or state.finished is not None
            or (job_pods.phase(pod) == "Succeeded" and job_pods.index(pod) in stored.completed_indexes)
        )
    ]


def _settle(tally: Tally, tracked: set[str]) -> None:
    waiting = [uid for uid in tally.uncounted_succeeded if uid in tracked]
    tally.succeeded += len(tally.uncounted_succeeded) - len(waiting)
    tally.uncounted_succeeded = waiting
    waiting = [uid for uid in tally.uncounted_failed if uid in tracked]
    tally.failed += len(tally.uncounted_failed) - len(waiting)
    tally.uncounted_failed = waiting


def _take_in(state: JobState, tally: Tally, pod: Document) -> None:
    if job_pods.phase(pod) == "Succeeded":
        if state.is_indexed:
            # The index is enough to count a success once; no UID is kept.
            tally.completed_indexes.add(job_pods.index(pod) or 0)
        else:
            tally.uncounted_succeeded.append(job_pods.uid(pod))
    elif state.has_failed(pod):
        tally.uncounted_failed.append(job_pods.uid(pod))


def _given_up(state: JobState) -> set[int]:
    """Indexes that failed more often than backoffLimitPerIndex allows."""
    limit = state.limit_per_index or 0
    failed = {job_pods.index(pod) for pod in state.pods if job_pods.phase(pod) == "Failed" and state.counts(pod)}
    return {index for index in failed if index is not None and job_pods.failures_of_index(state.pods, index) > limit}
