"""Whatever a Workload looks like, its reconciler comes to rest: no two steps undo each other."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from worker_agent.api import names, timestamps
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.engine import intent_effects, workload_lifecycle
from worker_agent.engine.devices.resolution import Refusal
from worker_agent.engine.intents import DeleteObject, Intent, RecordEvent, RequeueAfter, RetryWithError
from worker_agent.engine.pods_ready import PodsReadyRules
from worker_agent.engine.reservation import Observability
from worker_agent.engine.workload_turn import LifecycleRules, WorkloadView

NOW = timestamps.parse("2026-01-01T12:00:00Z")

STOPPED = ("ClusterQueueStopped", "LocalQueueStopped")
EVICTED = ("Preempted", "PodsReadyTimeout", "AdmissionCheck", "Deactivated", *STOPPED)
WAITING = ("WaitingForQuota", "Suspended", "AdmissionGated", "PendingEvaluation", "Misconfigured", "Deactivated")
REASONS = {
    names.QUOTA_RESERVED: ("QuotaReserved", *WAITING, "OnHold", "Pending", "Inadmissible"),
    names.ADMITTED: ("Admitted", "NoReservation", "UnsatisfiedAdmissionChecks"),
    names.EVICTED: (*EVICTED, "DeactivatedDueToAdmissionCheck"),
    names.REQUEUED: (*EVICTED, "Inadmissible", "BackoffFinished"),
    names.PODS_READY: ("WaitForStart", "WaitForRecovery", "Started"),
    names.FINISHED: ("Succeeded",),
    names.DEACTIVATION_TARGET: ("AdmissionCheck", "RequeuingLimitExceeded"),
}
USUAL = (names.QUOTA_RESERVED, names.ADMITTED, names.EVICTED, names.REQUEUED, names.PODS_READY)
STOPS = st.sampled_from(["None", "Hold", "HoldAndDrain"])


def moment(seconds: int) -> str:
    return timestamps.rfc3339(NOW + timedelta(seconds=seconds))


@st.composite
def conditions(draw: st.DrawFn) -> list[Document]:
    chosen = draw(st.sets(st.sampled_from(USUAL)))
    chosen |= draw(st.sampled_from([set(), set(), set(), {names.FINISHED}, {names.DEACTIVATION_TARGET}]))
    return [
        {
            "type": type_,
            "status": draw(st.sampled_from(["True", "False"])),
            "reason": draw(st.sampled_from(REASONS[type_])),
            "message": "m",
            "lastTransitionTime": moment(-draw(st.sampled_from([1, 100, 4000]))),
        }
        for type_ in sorted(chosen)
    ]


@st.composite
def workloads(draw: st.DrawFn) -> Document:
    document = builders.admitted("w") if draw(st.booleans()) else builders.workload("w")
    document.setdefault("status", {})["conditions"] = draw(conditions())
    metadata, status = document["metadata"], document["status"]
    metadata["annotations"] = {names.ADMISSION_GATED_BY_ANNOTATION: "x.dev/a"} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        metadata["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
        ]
    metadata["labels"] = {"kueue.x-k8s.io/job-uid": "j"} if draw(st.booleans()) else {}
    document["spec"]["active"] = draw(st.sampled_from([True, True, False]))
    if draw(st.booleans()):
        document["spec"]["maximumExecutionTimeSeconds"] = draw(st.sampled_from([50, 10_000]))
    states = st.sampled_from(["Pending", "Ready", "Retry", "Rejected"])
    status["admissionChecks"] = [
        {"name": name, "state": draw(states), "message": "m", "lastTransitionTime": moment(-50)}
        | ({"requeueAfterSeconds": draw(st.sampled_from([10, 1000]))} if draw(st.booleans()) else {})
        for name in sorted(draw(st.sets(st.sampled_from(["a", "b"]))))
    ]
    if draw(st.booleans()):
        due = draw(st.none() | st.sampled_from([-10, 500]))
        status["requeueState"] = {"count": draw(st.integers(0, 3))}
        status["requeueState"] |= {} if due is None else {"requeueAt": moment(due)}
    return document


@st.composite
def rules(draw: st.DrawFn) -> LifecycleRules:
    return LifecycleRules(
        observability=draw(st.sampled_from([Observability(), Observability(explicit=True), Observability(fine=False)])),
        pods_ready=draw(st.sampled_from([None, PodsReadyRules(), PodsReadyRules(backoff_limit_count=1)])),
        retention_after_finished=draw(st.sampled_from([None, 10.0, 100_000.0])),
        finish_orphans=draw(st.booleans()),
        admission_gates=draw(st.booleans()),
        equivalence_hashing=draw(st.booleans()),
    )


@st.composite
def views(draw: st.DrawFn) -> WorkloadView:
    checks: Any = {"admissionChecks": [{"name": "a"}, {"name": "c", "onFlavors": ["default"]}]}
    asked = {"admissionChecksStrategy": checks} if draw(st.booleans()) else {}
    queue = builders.cluster_queue("q", stopPolicy=draw(STOPS), **asked)
    return WorkloadView(
        workload=draw(workloads()),
        local_queue=_maybe(draw, builders.local_queue(stopPolicy=draw(STOPS)), LocalQueue),
        cluster_queue=_maybe(draw, queue, ClusterQueue),
        cluster_queue_known=draw(st.booleans()),
        cluster_queue_active=draw(st.booleans()),
        obstacle=draw(st.sampled_from(["", "", "does not match"])),
        remembered_reason=draw(st.sampled_from(["", "", "WaitingForQuota"])),
        refusal=draw(
            st.sampled_from([None, None, Refusal(message="no such class"), Refusal(message="missing", retry=True)])
        ),
    )


def _maybe(draw: st.DrawFn, document: Document, type_: type[Any]) -> Any:
    return msgspec.convert(document, type_, strict=False) if draw(st.integers(0, 4)) else None


def after(workload: Document, intents: list[Intent]) -> Document | None:
    """None where it is deleted."""
    found: Document | None = workload
    for intent in intents:
        if isinstance(intent, DeleteObject):
            return None
        if found is not None and not isinstance(intent, RecordEvent | RequeueAfter | RetryWithError):
            found = intent_effects.effect(intent, found, NOW)
    return found


@settings(max_examples=400, deadline=None)
@given(views(), rules())
def test_reconciler_comes_to_rest(view: WorkloadView, obeyed: LifecycleRules) -> None:
    """Two reconciles at most (a change of the spec is a write of its own); a third one finds nothing to do."""
    for _ in range(3):
        intents = workload_lifecycle.settle(view, obeyed, NOW)
        document = after(view.workload, intents)
        if document is None:
            return
        view = replace(view, workload=document)
    writes = [i for i in workload_lifecycle.settle(view, obeyed, NOW) if not _quiet(i)]
    assert writes == []


def _quiet(intent: Intent) -> bool:
    return isinstance(intent, RequeueAfter | RetryWithError)
