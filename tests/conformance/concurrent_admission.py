"""core/concurrentadmission: one turn of the controller that keeps a Workload and its variants in line."""

from typing import Any

import msgspec

from tests.conformance.case import Document
from tests.conformance.comparison import by_key, differences, multiset
from worker_agent.api import timestamps
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.meta import Key
from worker_agent.engine import concurrent_admission, intent_effects, variant_family
from worker_agent.engine.intents import CreateObject, DeleteObject, Intent, RecordEvent, RequeueAfter, RetryWithError
from worker_agent.engine.reservation import Observability
from worker_agent.engine.variant_family import Family

IGNORED = ("lastTransitionTime", "creationTimestamp", "uid", "observedGeneration")


def reconcile(case: Document) -> list[str]:
    """concurrentadmission.TestReconcile."""
    objects = case["before"]["objects"] if isinstance(case["before"], dict) else case["before"]
    workloads = {_key(o): o for o in objects if o["kind"] == "Workload"}
    key, now = Key.parse(case["reconcile"]), timestamps.parse(case["now"])
    how = Observability(fine=(case.get("featureGates") or {}).get("UnadmittedWorkloadsObservability", True))
    parent = workloads.get(key)
    intents: list[Intent] = []
    if parent is not None:
        variants = tuple(w for w in workloads.values() if variant_family.parent_of(w) == key)
        intents = concurrent_admission.decide(
            Family(parent=parent, variants=variants, cluster_queue=_queue(objects, parent)), how, now
        )
    for intent in intents:
        _take_effect(intent, workloads, now)
    return _compare(case, workloads, intents)


def _queue(objects: list[Document], workload: Document) -> ClusterQueue | None:
    name = workload["spec"].get("queueName")
    queue = next((o for o in objects if o["kind"] == "LocalQueue" and o["metadata"]["name"] == name), None)
    if queue is None:
        return None
    target = queue["spec"]["clusterQueue"]
    found = next(o for o in objects if o["kind"] == "ClusterQueue" and o["metadata"]["name"] == target)
    return msgspec.convert(found, ClusterQueue, strict=False)


def _take_effect(intent: Intent, workloads: dict[Key, Document], now: Any) -> None:
    if isinstance(intent, RecordEvent | RequeueAfter | RetryWithError):
        return
    after = intent_effects.effect(intent, workloads.get(intent.key), now)
    if after is None:
        workloads.pop(intent.key, None)
    else:
        workloads[intent.key] = after
    assert after is not None or isinstance(intent, DeleteObject)
    assert not isinstance(intent, CreateObject) or after is intent.document


def _compare(case: Document, workloads: dict[Key, Document], intents: list[Intent]) -> list[str]:
    expect = case["expect"]
    wanted = [_without_leftovers(o) for o in expect["objects"] if o["kind"] == "Workload"]
    keyed = {"admissionChecks": "name", "preemptionGates": "name"}
    found = differences(
        by_key(wanted),
        by_key(map(_without_leftovers, workloads.values())),
        ignore=IGNORED,
        keyed=keyed,
        zeros_absent=True,
    )
    events = [
        {"type": i.type, "reason": i.reason, "message": i.message, "key": str(i.key)}
        for i in intents
        if isinstance(i, RecordEvent)
    ]
    found += multiset(expect.get("events") or [], events, "event")
    seconds = next((i.seconds for i in intents if isinstance(i, RequeueAfter)), 0)
    if abs((expect.get("requeueAfterSeconds") or 0) - seconds) >= 1:
        found.append(f"requeue: expected {expect.get('requeueAfterSeconds')}, got {seconds}")
    failed = any(isinstance(i, RetryWithError) for i in intents)
    return found + ([] if failed == bool(expect.get("error")) else [f"error: expected {expect.get('error')}"])


def _without_leftovers(workload: Document) -> Document:
    """The fake server keeps an admission that a real apply would have removed (conformance/README)."""
    status = dict(workload.get("status") or {})
    reserved = any(c["type"] == "QuotaReserved" and c["status"] == "True" for c in status.get("conditions") or ())
    if not reserved:
        status.pop("admission", None)
    return {**workload, "status": status}


def _key(document: Document) -> Key:
    metadata = document.get("metadata") or {}
    return Key(metadata.get("namespace", ""), metadata.get("name", ""))


RUNNERS = {"concurrentadmission.TestReconcile": reconcile}
