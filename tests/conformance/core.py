"""core/: one turn of the Workload reconciler, from recorded state to recorded state."""

from datetime import datetime
from typing import Any

import msgspec

from tests.conformance.case import Document, Skip
from tests.conformance.comparison import differences, multiset
from worker_agent.api import names, selectors, timestamps
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key, Namespace
from worker_agent.engine import feature_gates, intent_effects, story_objects, workload_lifecycle
from worker_agent.engine.devices.resolution import Refusal
from worker_agent.engine.intents import Intent, RecordEvent, RequeueAfter, RetryWithError
from worker_agent.engine.pods_ready import PodsReadyRules
from worker_agent.engine.policy import resolve
from worker_agent.engine.reservation import Observability
from worker_agent.engine.state import ClusterState
from worker_agent.engine.workload_turn import LifecycleRules, WorkloadView

LEFTOVERS = (
    "status.unhealthyNodes",
    "status.requeueState",
    "status.admission",
    "status.clusterName",
    "status.nominatedClusterNames",
)
"""What an eviction leaves behind on the recorded fake server and a real apply removes (conformance/README)."""


def workload(case: Document) -> list[str]:
    """core.TestReconcile*."""
    if case.get("customSetup") and not _queue_state_is_told(case):
        raise Skip("customSetup: the test's own code set queue state that the case does not hold")
    now = timestamps.parse(case["now"])
    key = Key.parse(case["reconcile"])
    before = _find(case["before"]["objects"], "Workload", key)
    if before is None:
        raise Skip("the workload to reconcile is not in the case")
    intents = workload_lifecycle.decide(_view(case, before), _rules(case), now)
    after = _run(before, intents, now)
    found = _requeue(intents, case) + _events(intents, case) + _error(intents, case)
    if case["expect"].get("workloadChecked"):
        found += _compare(case, key, after)
    return found


def _rules(case: Document) -> LifecycleRules:
    gates, options = case.get("featureGates") or {}, case.get("options") or {}
    stanza = options.get("waitForPodsReady")
    return LifecycleRules(
        observability=Observability(
            fine=gates.get("UnadmittedWorkloadsObservability", True),
            explicit=gates.get("UnadmittedWorkloadsExplicitStatus", False),
        ),
        pods_ready=_pods_ready(stanza) if stanza else None,
        retention_after_finished=options.get("workloadRetentionAfterFinishedSeconds"),
        finish_orphans=gates.get("FinishOrphanedWorkloads", True),
        admission_gates=gates.get("AdmissionGatedBy", True),
        equivalence_hashing=gates.get("SchedulingEquivalenceHashing", True),
        orchestrated_preemption=gates.get("MultiKueueOrchestratedPreemption", False),
    )


def _pods_ready(stanza: Document) -> PodsReadyRules:
    return PodsReadyRules(
        timeout=stanza["timeoutSeconds"],
        recovery_timeout=stanza["recoveryTimeoutSeconds"],
        backoff_limit_count=stanza["requeuingBackoffLimitCount"],
        backoff_base_seconds=stanza["requeuingBackoffBaseSeconds"],
        backoff_max_seconds=stanza["requeuingBackoffMaxSeconds"],
        backoff_jitter=stanza["requeuingBackoffJitter"],
    )


def _view(case: Document, before: Document) -> WorkloadView:
    objects = case["before"]["objects"]
    namespace = (before.get("metadata") or {}).get("namespace", "")
    local_queue = _typed(_find(objects, "LocalQueue", Key(namespace, before["spec"].get("queueName", ""))), LocalQueue)
    queue_name = (
        local_queue.spec.cluster_queue
        if local_queue
        else (before.get("status") or {}).get("admission", {}).get("clusterQueue", "")
    )
    cluster_queue = _typed(_find(objects, "ClusterQueue", Key("", queue_name)), ClusterQueue)
    return WorkloadView(
        workload=before,
        local_queue=local_queue,
        cluster_queue=cluster_queue,
        cluster_queue_known=cluster_queue is not None,
        cluster_queue_active=cluster_queue is not None and _active(cluster_queue),
        obstacle=_obstacle(objects, namespace, cluster_queue),
        refusal=_refusal(case, before),
        remembered_reason=_remembered(case),
    )


def _queue_state_is_told(case: Document) -> bool:
    """The test's own code put the Workload in its queue, or parked it for an equal one's failure: both can be seen."""
    return case["reconcile"] in _listed(case, "queue") or bool(_remembered(case))


def _remembered(case: Document) -> str:
    """The failure that parked an equal Workload in the cases on scheduling equivalence hashing."""
    about_hashing = "SchedulingEquivalenceHashing" in (case.get("featureGates") or {})
    parked = case.get("customSetup") and about_hashing and case["reconcile"] in _listed(case, "inadmissible")
    return names.WAITING_FOR_QUOTA if parked else ""


def _listed(case: Document, part: str) -> list[str]:
    return [key for keys in (case["expect"].get(part) or {}).values() for key in keys]


def _refusal(case: Document, workload: Document) -> Refusal | None:
    """As the engine finds it when it builds the workload's row."""
    mappings = [{"name": "gpu", "deviceClassNames": ["gpu.example.com"]}]
    gates = {name: on for name, on in (case.get("featureGates") or {}).items() if name in feature_gates.DEFAULTS}
    state = ClusterState(resolve(gates, {"resources": {"deviceClassMappings": mappings}}))
    state.shapes.devices.unreadable = case.get("resourceSliceListError") or ""
    now = timestamps.parse(case["now"])
    for document in case["before"]["objects"]:
        if document["kind"] in ("DeviceClass", "ResourceClaimTemplate", "ResourceSlice"):
            story_objects.put(state, document, now)
    story_objects.put(state, workload, now)
    row = state.rows.get(Key(workload["metadata"].get("namespace", ""), workload["metadata"]["name"]))
    return row.refusal if row is not None else None


def _active(queue: ClusterQueue) -> bool:
    return any(c.type == names.ACTIVE and c.is_true for c in queue.status.conditions or ())


def _obstacle(objects: list[Document], namespace: str, queue: ClusterQueue | None) -> str:
    found = _typed(_find(objects, "Namespace", Key("", namespace)), Namespace)
    if queue is None or found is None:
        return ""
    try:
        fits = selectors.matches(queue.spec.namespace_selector, found.metadata.labels)
    except selectors.SelectorError as error:
        return f"invalid namespace selector: {error}"
    return "" if fits else "workload namespace doesn't match ClusterQueue selector"


def _run(before: Document, intents: list[Intent], now: datetime) -> Document | None:
    document: Document | None = before
    for intent in intents:
        if not isinstance(intent, RecordEvent | RequeueAfter | RetryWithError):
            document = intent_effects.effect(intent, document, now)
    return document


def _compare(case: Document, key: Key, after: Document | None) -> list[str]:
    expected = _find(case["expect"]["objects"], "Workload", key)
    if (expected is None) != (after is None):
        return [f"workload: expected {'none' if expected is None else 'one'}, got {'none' if after is None else 'one'}"]
    ignore = [
        "lastTransitionTime",
        "creationTimestamp",
        "deletionTimestamp",
        "requeueState.requeueAt",
        "observedGeneration",
    ]
    expected, after = _without_leftovers(expected, after)
    return differences(expected, after, ignore=ignore, keyed={"admissionChecks": "name"}, zeros_absent=True)


def _without_leftovers(expected: Any, after: Any) -> tuple[Any, Any]:
    """Drop from the recorded object what the fake server left and ours removed."""
    if not expected or not after:
        return expected, after
    status = dict(expected.get("status") or {})
    ours = after.get("status") or {}
    for path in LEFTOVERS:
        name = path.removeprefix("status.")
        if name not in ours:
            status.pop(name, None)
    present = {c["type"] for c in ours.get("conditions") or ()}
    status["conditions"] = [
        c for c in status.get("conditions") or () if c["type"] != names.DEACTIVATION_TARGET or c["type"] in present
    ]
    return {**expected, "status": status}, after


def _requeue(intents: list[Intent], case: Document) -> list[str]:
    wanted = case["expect"].get("requeueAfterSeconds") or 0
    seconds = next((intent.seconds for intent in intents if isinstance(intent, RequeueAfter)), 0)
    return [] if abs(wanted - seconds) < 1 else [f"requeue: expected {wanted}, got {seconds}"]


def _events(intents: list[Intent], case: Document) -> list[str]:
    found = [
        {"type": i.type, "reason": i.reason, "message": i.message, "key": str(i.key)}
        for i in intents
        if isinstance(i, RecordEvent)
    ]
    return multiset(case["expect"].get("events") or [], found, "event")


def _error(intents: list[Intent], case: Document) -> list[str]:
    failed = any(isinstance(intent, RetryWithError) for intent in intents)
    wanted = case["expect"].get("error")
    return [] if failed == bool(wanted) else [f"error: expected {wanted}, got {failed}"]


def _find(objects: list[Document], kind: str, key: Key) -> Document | None:
    for candidate in objects:
        metadata = candidate.get("metadata") or {}
        if candidate["kind"] == kind and (metadata.get("namespace", ""), metadata.get("name", "")) == tuple(key):
            return candidate
    return None


def _typed(document: Document | None, type_: type[Any]) -> Any:
    return None if document is None else msgspec.convert(document, type_, strict=False)


RUNNERS = {
    "core.TestReconcile": workload,
    "core.TestReconcileDRA": workload,
    "core.TestReconcileEviction": workload,
    "core.TestReconcileInadmissible": workload,
    "core.TestReconcileRequeue": workload,
}
