"""The Workload reconciler: what happens to a Workload between creation and deletion, beside scheduling.

``decide`` makes one pass over the steps of spec/engine 14.1, in order; the first step that says so ends it. The shell
applies the intents to the view and decides again until nothing more comes, and only then writes.
"""

from collections.abc import Callable
from datetime import datetime

from worker_agent.engine import (
    queue_stops,
    workload_activity,
    workload_blockers,
    workload_deadlines,
    workload_retention,
)
from worker_agent.engine.intents import Intent
from worker_agent.engine.workload_turn import LifecycleRules, Turn, WorkloadView

Step = Callable[[Turn], bool]

STEPS: tuple[Step, ...] = (
    workload_retention.orphan,
    workload_activity.preemption_gates,
    workload_retention.finished,
    workload_activity.check_delay,
    workload_activity.device_claims,
    workload_activity.active,
    workload_activity.inactive,
    workload_activity.local_queue_restarted,
    workload_activity.admission_gate,
    workload_activity.cluster_queue_restarted,
    workload_blockers.admission_check_list,
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
