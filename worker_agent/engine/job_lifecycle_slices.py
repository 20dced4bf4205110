"""Workload slices of an elastic job: one per size it grew to (spec/jobs 5.4).

At rest there is one slice with quota, and at most one pending slice that is to replace it.
"""

from dataclasses import dataclass

from worker_agent.api import names
from worker_agent.api.document import Document, at, put
from worker_agent.engine import job_pod_sets, reservation, workload_status
from worker_agent.engine.job_pass import JobPass

REPLACEMENT = names.SLICE_REPLACEMENT_FOR_ANNOTATION


class TooManySlices(ValueError):
    """More than one unfinished slice where a new one should replace the only one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """``selected`` names the slice of the job's present size; empty when one has to be made.

    ``live`` are the slices that stay. Not ``settled``: the job changed its pod sets, so ordinary matching applies.
    """

    selected: str = ""
    live: tuple[Document, ...] = ()
    settled: bool = True


def choose(run: JobPass) -> Choice:
    """Finish the slices that have no part to play any more, and bring the remaining one to the job's size if it may."""
    slices = _unfinished(run)
    if not slices:
        return Choice()
    live = slices if len(slices) == 1 else _retained(slices)
    for workload in slices:
        if workload not in live:
            _finish(run, workload, live)
    newest = live[-1] if live else None
    if newest is None:
        return Choice()
    return _sized(run, newest, tuple(live))


def _unfinished(run: JobPass) -> list[Document]:
    unfinished = (w for w in run.candidates() if not workload_status.is_true(w, names.FINISHED))
    return sorted(
        unfinished, key=lambda w: (w["metadata"].get("creationTimestamp") or "", w["metadata"].get("uid", ""))
    )


def _retained(slices: list[Document]) -> list[Document]:
    """The slice with quota that no other such slice replaces, then its pending replacement; else the newest alone."""
    present = [workload for workload in slices if not workload_status.is_true(workload, names.EVICTED)]
    reserved = [workload for workload in present if reservation.has_quota(workload)]
    replaced = {_replaces(workload) for workload in reserved}
    heads = [workload for workload in reserved if str(workload_status.key_of(workload)) not in replaced]
    if not heads:
        return present[-1:]
    head = heads[-1]
    key = str(workload_status.key_of(head))
    pending = [w for w in present if not reservation.has_quota(w) and _replaces(w) == key]
    return [head, *pending[-1:]]


def _replaces(workload: Document) -> str:
    return str(at(workload, ("metadata", "annotations"), {}).get(REPLACEMENT, ""))


def _finish(run: JobPass, workload: Document, live: list[Document]) -> None:
    if str(workload_status.key_of(workload)) in {_replaces(other) for other in live}:
        run.finish(workload, names.WORKLOAD_SLICE_REPLACED, "Replaced to accommodate a new workload slice")
    else:
        run.finish(workload, names.OUT_OF_SYNC, "The workload slice is out of sync with its parent job")


def _sized(run: JobPass, workload: Document, live: tuple[Document, ...]) -> Choice:
    wanted = {p["name"]: p for p in job_pod_sets.of_job(run.view.kind, run.job, run.view.policy)}
    pod_sets = at(workload, ("spec", "podSets"), [])
    if [pod_set.get("name", "main") for pod_set in pod_sets] != list(wanted):
        return Choice(settled=False)
    changes = [wanted[pod_set.get("name", "main")]["count"] - pod_set.get("count", 1) for pod_set in pod_sets]
    grows = any(change > 0 for change in changes)
    name = workload["metadata"]["name"]
    if grows and reservation.has_quota(workload):
        return Choice(live=live)
    if any(changes):
        resized = [{**pod_set, "count": wanted[pod_set.get("name", "main")]["count"]} for pod_set in pod_sets]
        run.patch_workload(workload, put(workload, ("spec", "podSets"), resized))
    return Choice(name, live)


def as_slice(run: JobPass, workload: Document) -> Document:
    """A new Workload as the next slice of its chain. Raises TooManySlices."""
    slices = _unfinished(run)
    if len(slices) > 1:
        raise TooManySlices(f"unexpected workload-slices count: {len(slices)}")
    annotations = {**at(workload, ("metadata", "annotations"), {}), names.ELASTIC_JOB_ANNOTATION: "true"}
    annotations[names.WORKLOAD_SLICE_NAME_ANNOTATION] = workload["metadata"]["name"]
    for replaced in slices:
        annotations[REPLACEMENT] = str(workload_status.key_of(replaced))
        annotations[names.WORKLOAD_SLICE_NAME_ANNOTATION] = job_pod_sets.slice_name(replaced)
    return put(workload, ("metadata", "annotations"), annotations)  # type: ignore[no-any-return]
