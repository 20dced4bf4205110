"""The Workload reconciler: what happens to a Workload between creation and deletion, beside scheduling.

``decide`` makes one pass over the steps of spec/engine 14.1, in order; the first step that says so ends it. The shell
applies the intents to the view and decides again until nothing more comes, and only then writes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from worker_agent.api.document import Document
from worker_agent.engine import (
    intent_effects,
    queue_stops,
    workload_activity,
    workload_blockers,
    workload_deadlines,
    workload_retention,
    workload_status,
)
from worker_agent.engine.intents import (
    ApplyStatus,
    DeleteObject,
    Intent,
    PatchObject,
    RemoveFinalizer,
    RequeueAfter,
    RetryWithError,
    Write,
)
from worker_agent.engine.workload_turn import LifecycleRules, Turn, WorkloadView

Step = Callable[[Turn], bool]

STEPS: tuple[Step, ...] = (
    workload_retention.orphan,
    workload_activity.preemption_gates,
    workload_activity.parent_of_variants,
    workload_retention.finished,
    workload_activity.check_delay,
    workload_activity.device_claims,
    workload_activity.active,
    workload_activity.inactive,
    workload_activity.local_queue_restarted,
    workload_activity.admission_gate,
    workload_activity.cluster_queue_restarted,
    workload_blockers.admission_check_list,
    workload_deadlines.late_verdicts,
    workload_blockers.explain_and_admit,
    workload_blockers.unreserved,
    workload_deadlines.checks,
    queue_stops.local_queue,
    queue_stops.cluster_queue,
    workload_deadlines.pods,
    workload_deadlines.execution_time,
)
"""In the order of spec/engine 14.1. A step that returns True ends the turn."""


def decide(view: WorkloadView, rules: LifecycleRules, now: datetime) -> list[Intent]:
    """What this one pass wants written, recorded and looked at again; empty when all is as it should be."""
    turn = Turn(view, rules, now)
    for step in STEPS:
        if step(turn):
            break
    return turn.intents()


MAX_PASSES = 16
"""A decision settles in three or four passes; more would be two steps undoing each other."""


def settle(view: WorkloadView, rules: LifecycleRules, now: datetime) -> list[Intent]:
    """``decide`` repeated on its own outcome until nothing more comes: all that one reconcile has to write.

    A change of the spec ends the run when a status change came before it, and is left for the next reconcile: the two
    are separate writes, and after a crash between them the status must still tell why the spec is to change.
    """
    settled: list[Intent] = []
    for _ in range(MAX_PASSES):
        intents = decide(view, rules, now)
        writes = [intent for intent in intents if isinstance(intent, ApplyStatus | PatchObject | RemoveFinalizer)]
        if any(isinstance(write, PatchObject) for write in writes) and _has_status(settled):
            return [*settled, RequeueAfter(0.0)]
        rest = [intent for intent in intents if not isinstance(intent, RequeueAfter | RetryWithError)]
        settled.extend(rest)
        document = _after(view.workload, writes, now)
        if document is None or document is view.workload or any(isinstance(i, DeleteObject) for i in rest):
            return [*settled, *(i for i in intents if isinstance(i, RequeueAfter | RetryWithError))]
        view = replace(view, workload=document)
    raise RuntimeError(f"workload {workload_status.key_of(view.workload)}: decisions do not come to rest")


def _has_status(intents: list[Intent]) -> bool:
    return any(isinstance(intent, ApplyStatus) for intent in intents)


def _after(workload: Document, writes: Sequence[Write], now: datetime) -> Document | None:
    document: Document | None = workload
    for write in writes:
        document = intent_effects.effect(write, document, now)
    return document
