"""Answers that hold until something changes on a cluster: equal workloads are judged there once.

A burst of equal jobs changes one cluster with each of them; of all others the last answer stands. What is remembered is
the plain case alone: it fits now, nobody waits there, and no place in a topology is a part of it. No time enters into
that, and of other workloads only what they hold.
"""

from typing import Final

from hub.engine.evaluation import Evaluation, Outlook
from hub.engine.views import WorkerView
from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine.workload_info import UNKNOWN_HASH, WorkloadRow

Alike = tuple[str, Key, str]
"""Framework, LocalQueue and scheduling hash."""

_OF_ITS_OWN: Final = (
    names.SLICE_REPLACEMENT_FOR_ANNOTATION,
    names.ELASTIC_JOB_ANNOTATION,
    names.ALLOWED_FLAVORS_ANNOTATION,
    names.ADMISSION_GATED_BY_ANNOTATION,
)
"""By these a workload is told from others that ask for the same."""

_PLACE: Final = b'"topologyAssignment"'


def likeness(framework: str, row: WorkloadRow) -> Alike | None:
    """Equal for workloads that every cluster gives the same answer to; None for one that is like no other."""
    if row.hash == UNKNOWN_HASH or row.problem or not _is_plain(row.workload):
        return None
    return framework, row.queue, row.hash


def _is_plain(workload: Workload) -> bool:
    if workload.status.conditions or workload.status.admission or workload.metadata.owner_references:
        return False
    annotations = workload.metadata.annotations
    return not annotations or annotations.keys().isdisjoint(_OF_ITS_OWN)


def get(view: WorkerView, alike: Alike) -> Evaluation | None:
    """What the cluster said to a workload like this, if it would say the same again."""
    return view.answers.get(alike) if view.answers_are_of == view.contents else None


def keep(view: WorkerView, alike: Alike, answer: Evaluation) -> None:
    """Remember an answer if it stands for all that are alike, at whatever time."""
    if answer.outlook != Outlook.FITS or answer.provisions or _PLACE in answer.admission:
        return
    if not _is_quiet(view, alike[1]):
        return
    if view.answers_are_of != view.contents:
        view.answers, view.answers_are_of = {}, view.contents
    view.answers[alike] = answer


def _is_quiet(view: WorkerView, queue: Key) -> bool:
    """Whether nobody waits who may come first, now or when his back-off is over."""
    state = view.state
    name = state.local_queues[queue].cluster_queue
    if state.usage_book is not None or len(state.pending[name]):
        return False
    return state.cluster_queues[name].node.parent is None or not any(map(len, state.pending.values()))
