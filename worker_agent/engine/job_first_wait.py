"""The first word of PodsReady is kept back for a while: it costs a write per job and says what its absence says."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import fencing, intent_effects, workload_status
from worker_agent.engine.intents import ApplyStatus, Intent, RequeueAfter, SetCondition
from worker_agent.engine.job_view import JobView
from worker_agent.engine.pods_ready import WAIT_FOR_START


@dataclass(frozen=True, slots=True)
class ReadyKeptBack(RequeueAfter):
    """The pods of a copy are ready, and that is told later."""


LONG: Final = timedelta(seconds=30)
"""Pods that are not ready so long after the admission are told of."""

OF_COPIES: Final = timedelta(minutes=5)
"""How long copies may keep back that their pods are ready."""

UNSTARTED: Final = timedelta(minutes=5)
"""The same while nothing is known of any pods: in a burst the start itself, or the first news of it, takes its time."""


def left_unsaid(view: JobView, intents: Iterable[Intent], now: datetime) -> Iterator[Intent]:
    """``intents`` without a first word of PodsReady that may wait yet; looks again when it no longer may.

    That pods are not ready yet may wait for LONG. That the pods of a copy are ready may wait as long as the policy
    says: the users of the job are told on the cluster of its hub, and a job that ends sooner is spared the write.
    """
    known = {workload["metadata"]["name"]: workload for workload in _workloads(view)}
    for intent in intents:
        workload = known.get(intent.key.name) if isinstance(intent, ApplyStatus) else None
        said = _first_word(intent, workload)
        if said is None:
            yield intent
            continue
        if workload is not None and workload_status.is_true(workload, names.ADMITTED):
            left = workload_status.since(workload, names.ADMITTED) + _patience(view, workload, said) - now
            yield _kept_back(said, left) if left > timedelta() else _dated(view, intent, said)


def ended_unsaid(view: JobView, intents: Iterable[Intent]) -> Document | None:
    """The Workload that ends, or loses its quota, while it keeps back that its pods are ready."""
    ends = {intent.key.name for intent in intents if isinstance(intent, ApplyStatus) and _says_finished(intent)}
    for workload in _workloads(view):
        evicted = workload_status.is_true(workload, names.EVICTED)
        if workload["metadata"]["name"] in ends or evicted or workload_status.is_true(workload, names.FINISHED):
            return None if intent_effects.find_condition(workload, names.PODS_READY) else workload
    return None


def _says_finished(intent: ApplyStatus) -> bool:
    return any(condition.type == names.FINISHED and condition.status == "True" for condition in intent.conditions)


def _kept_back(said: SetCondition, left: timedelta) -> RequeueAfter:
    return (ReadyKeptBack if said.status == "True" else RequeueAfter)(left.total_seconds())


def _dated(view: JobView, intent: Intent, said: SetCondition) -> Intent:
    """The word with the time from which on it was true, where it was kept back."""
    if said.status != "True" or view.ready_since is None or not isinstance(intent, ApplyStatus):
        return intent
    return replace(intent, conditions=(said._replace(since=view.ready_since),))


def _patience(view: JobView, workload: Document, said: SetCondition) -> timedelta:
    """How long after its admission the Workload may keep this word back."""
    if said.status == "True":
        return view.policy.copies_keep_ready_back if fencing.origin_of(workload) else timedelta()
    job, kind = view.job, view.kind
    has_pods = job is None or (kind.is_active(job) and not kind.is_suspended(job))
    return LONG if has_pods else UNSTARTED


def _workloads(view: JobView) -> Iterator[Document]:
    yield from view.workloads
    if view.prebuilt is not None:
        yield view.prebuilt


def _first_word(intent: Intent, workload: Document | None) -> SetCondition | None:
    """The word of PodsReady that may be kept back, if the intent is one and nothing was said before."""
    if not isinstance(intent, ApplyStatus) or intent.resource is not WORKLOADS or intent.fields:
        return None
    if len(intent.conditions) != 1 or intent.conditions[0].type != names.PODS_READY:
        return None
    (said,) = intent.conditions
    if (said.status, said.reason) not in (("False", WAIT_FOR_START), ("True", names.STARTED)):
        return None
    return None if workload is not None and intent_effects.find_condition(workload, names.PODS_READY) else said
