"""What decisions about pods and failed nodes mean for the objects: patches, status changes and events.

Source: spec/tas 15.2 and 17.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at, put
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import PODS
from worker_agent.engine import eviction, workload_status
from worker_agent.engine.intents import ApplyStatus, Intent, PatchObject, RecordEvent, SetCondition
from worker_agent.engine.tas.node_failures import TERMINATED, NodeDecision
from worker_agent.engine.tas.ungating import Ungate
from worker_agent.engine.workload_status import StatusDraft

FIELD_MANAGER: Final = "kueue"
TERMINATION_MANAGER: Final = "kueue-tas-node-failure"


def ungate(step: Ungate) -> PatchObject:
    """The pod without its topology gate, bound to its domain, in one write."""
    gates = [g for g in at(step.pod, ("spec", "schedulingGates"), []) if g["name"] != names.TOPOLOGY_SCHEDULING_GATE]
    selector = at(step.pod, ("spec", "nodeSelector"), {}) | step.node_selector
    after = put(put(step.pod, ("spec", "schedulingGates"), gates or None), ("spec", "nodeSelector"), selector)
    return PatchObject(resource=PODS, before=step.pod, after=after, field_manager=FIELD_MANAGER)


def of_failures(decision: NodeDecision, workloads: Iterable[Document], now: datetime) -> list[Intent]:
    """``workloads``: those that the decision was made about."""
    intents: list[Intent] = []
    for workload in workloads:
        key = workload_status.key_of(workload)
        draft = StatusDraft(workload, now)
        if str(key) in decision.unhealthy:
            draft.put(unhealthyNodes=[{"name": node} for node in decision.unhealthy[str(key)]])
        if str(key) in decision.evict:
            told = eviction.evict(draft, names.EVICTED_NODE_FAILURES, decision.evict[str(key)])
            intents += [*draft.intents(), told]
        else:
            intents += draft.intents()
    for pod in decision.terminate:
        intents += _terminated(pod)
    return intents


def _terminated(pod: Document) -> list[Intent]:
    metadata = pod["metadata"]
    key = Key(metadata.get("namespace", ""), metadata["name"])
    condition = SetCondition(names.TERMINATED_BY_KUEUE, "True", names.UNSCHEDULABLE_ON_ASSIGNED_NODE, TERMINATED)
    return [
        ApplyStatus(
            resource=PODS,
            key=key,
            field_manager=TERMINATION_MANAGER,
            conditions=(condition,),
            fields={"phase": "Failed"},
        ),
        RecordEvent(
            resource=PODS,
            key=key,
            reason=names.POD_TERMINATED_BY_KUEUE,
            message=TERMINATED,
            uid=metadata.get("uid", ""),
        ),
    ]
