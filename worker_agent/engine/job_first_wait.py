"""The first word of PodsReady is kept back for a while: it costs a write per job and says what its absence says."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import intent_effects, workload_status
from worker_agent.engine.intents import ApplyStatus, Intent, RequeueAfter
from worker_agent.engine.job_view import JobView
from worker_agent.engine.pods_ready import WAIT_FOR_START

LONG: Final = timedelta(seconds=30)
"""Pods that are not ready so long after the admission are told of."""


def left_unsaid(view: JobView, intents: Iterable[Intent], now: datetime) -> Iterator[Intent]:
    """``intents`` without the word that pods are not ready yet, where nothing was said before; looks again in time."""
    known = {workload["metadata"]["name"]: workload for workload in _workloads(view)}
    for intent in intents:
        if not isinstance(intent, ApplyStatus) or not _says_waiting(intent):
            yield intent
            continue
        workload = known.get(intent.key.name)
        if workload is not None and intent_effects.find_condition(workload, names.PODS_READY):
            yield intent
        elif workload is not None and workload_status.is_true(workload, names.ADMITTED):
            left = workload_status.since(workload, names.ADMITTED) + LONG - now
            yield RequeueAfter(left.total_seconds()) if left > timedelta() else intent


def _workloads(view: JobView) -> Iterator[Document]:
    yield from view.workloads
    if view.prebuilt is not None:
        yield view.prebuilt


def _says_waiting(intent: ApplyStatus) -> bool:
    if intent.resource is not WORKLOADS or len(intent.conditions) != 1:
        return False
    (said,) = intent.conditions
    return (said.type, said.status, said.reason) == (names.PODS_READY, "False", WAIT_FOR_START) and not intent.fields
