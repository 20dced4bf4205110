"""Recorded behaviour of the reference's pending queues (conformance/README)."""

from datetime import datetime
from typing import Any

from tests.conformance import engine_objects
from tests.conformance.case import Document
from worker_agent.api import quantity, timestamps
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import conditions, policy, workload_info
from worker_agent.engine.pending import PendingQueue
from worker_agent.engine.pod_shape import ShapeSource
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.scan import ScanState
from worker_agent.engine.state import ClusterState
from worker_agent.engine.workload_info import WorkloadRow

NOW = timestamps.parse("2026-11-29T14:06:48Z")


def _policy(case: Document) -> policy.Policy:
    timestamp = case.get("podsReadyRequeuingTimestamp") or "Eviction"
    return policy.resolve(case["featureGates"], {"waitForPodsReady": {"requeuingStrategy": {"timestamp": timestamp}}})


def _now(case: Document) -> datetime:
    return timestamps.parse(case["now"]) if "now" in case else NOW


def _row(case: Document, document: Document) -> WorkloadRow:
    if document["spec"].get("podSets") is None:
        document = {**document, "spec": {**document["spec"], "podSets": []}}
    return workload_info.build(engine_objects.decode(document, Workload), ShapeSource(_policy(case)))


def _queue(case: Document) -> PendingQueue:
    return PendingQueue("cq", case.get("queueingStrategy") == "StrictFIFO", _policy(case))


def _expect(what: str, expected: Any, actual: Any) -> list[str]:
    return [] if expected == actual else [f"{what}: expected {expected}, got {actual}"]


def _state(case: Document) -> ClusterState:
    """The objects in a state whose ClusterQueues all count as active unless the case says otherwise."""
    state = ClusterState(_policy(case))
    objects = [_with_pod_sets(document) for document in case["objects"]]
    inactive = case.get("inactiveClusterQueues") or ()
    for document in objects:
        if document["metadata"]["name"] in inactive:
            document["spec"]["stopPolicy"] = "Hold"
    engine_objects.load(state, objects, _now(case))
    return state


def _with_pod_sets(document: Document) -> Document:
    if document["kind"] == "Workload" and document["spec"].get("podSets") is None:
        return {**document, "spec": {**document["spec"], "podSets": []}}
    return document


def _places(state: ClusterState) -> tuple[Document, Document]:
    queue = {name: sorted(map(str, pending.active())) for name, pending in state.pending.items()}
    parked = {name: sorted(map(str, pending.parked)) for name, pending in state.pending.items()}
    return {n: keys for n, keys in queue.items() if keys}, {n: keys for n, keys in parked.items() if keys}


def _sorted(places: Document | None) -> Document:
    return {name: sorted(keys) for name, keys in (places or {}).items() if keys}


# -- one queue -------------------------------------------------------------------------------------------------------


def requeue_if_not_present(case: Document) -> list[str]:
    queue, row = _queue(case), _row(case, case["workload"])
    last = case.get("lastAssignment")
    if last:
        row.scan = ScanState(last["lastTriedFlavorIdx"], last["clusterQueueGeneration"], 0, row.hash)
    now, reason, expected = timestamps.micros(NOW), RequeueReason(case["reason"]), case["expect"]
    found = _expect("requeued", expected["requeued"], queue.requeue(row, reason, now, 0))
    found += _expect("inadmissible", expected["inadmissible"], row.key in queue.parked)
    found += _expect("secondRequeue", expected["secondRequeue"], queue.requeue(row, reason, now, 0))
    if "sticky" in expected:
        pinned = queue.sticky is not None and queue.sticky.pins and queue.sticky.key == row.key
        found += _expect("sticky", expected["sticky"], pinned)
    return found


def first_popped(case: Document) -> list[str]:
    queue = _queue(case)
    for document in case["workloads"]:
        queue.push(_row(case, document), timestamps.micros(NOW))
    head = queue.pop()
    return _expect("firstPopped", case["expect"]["firstPopped"], head.key.name if head else None)


def push_and_pop(case: Document) -> list[str]:
    queue, found = _queue(case), []
    for step in case["steps"]:
        if step["op"] == "push":
            for document in step["workloads"]:
                queue.push(_row(case, document), timestamps.micros(NOW))
        elif step["op"] == "delete":
            queue.delete(Key.parse(step["workload"]))
        else:
            head = queue.pop()
            found += _expect("pop", step["expect"], head.key.name if head else None)
    return found


def backoff(case: Document) -> list[str]:
    row = _row(case, case["workload"])
    over = conditions.backoff_over(row.workload, timestamps.micros(_now(case)))
    return _expect("expired", case["expect"]["expired"], over)


def cluster_queue(case: Document) -> list[str]:
    """Operations in the order of the README: add, requeue inadmissible, requeue admissible, update, delete, flush."""
    state = _state(case)
    queue, now = state.pending["cq"], timestamps.micros(_now(case))
    for document in case["workloadsToAdd"]:
        queue.push(_row(case, document), now)
    for document in case["inadmissibleWorkloadsToRequeue"]:
        queue.requeue(_row(case, document), RequeueReason.GENERIC, now, 0)
    for document in case["admissibleWorkloadsToRequeue"]:
        queue.requeue(_row(case, document), RequeueReason.FAILED_AFTER_NOMINATION, now, 0)
    for document in case["workloadsToUpdate"]:
        queue.push(_row(case, document), now)
    for document in case["workloadsToDelete"]:
        queue.delete(engine_objects.key_of(document))
    before, expected = len(queue.parked), case["expect"]
    if case["queueInadmissibleWorkloads"]:
        queue.flush(now, 0, lambda row: _admitted_by(state, row))
    active = sorted(map(str, queue.active()))
    return [
        *_expect("active", sorted(expected["activeWorkloadsUnordered"]), active),
        *_expect("pending", expected["pending"], len(queue)),
        *_expect("inadmissibleRequeued", expected["inadmissibleRequeued"], before - len(queue.parked)),
    ]


def _admitted_by(state: ClusterState, row: WorkloadRow) -> bool:
    labels = state.namespace_labels(row.key.namespace)
    return labels is not None and state.cluster_queues["cq"].takes(labels)


# -- all queues ------------------------------------------------------------------------------------------------------


def add_workload(case: Document) -> list[str]:
    state = _state(case)
    engine_objects.put(state, _with_pod_sets(case["workload"]), NOW)
    return _expect("queue", _sorted(case["expect"].get("queue")), _places(state)[0])


def requeue_workload(case: Document) -> list[str]:
    admission = case["workload"].get("status", {}).get("admission")
    if admission:
        admission["podSetAssignments"] = admission["podSetAssignments"] or []
    state, expected = _state(case), case["expect"]
    row = _row(case, case["workload"])
    if case["inClient"]:
        engine_objects.put(state, _with_pod_sets(case["workload"]), NOW)
    if not case["inQueue"] and row.key in state.rows:
        state.pending["cq"].delete(row.key)
    before = sum(len(pending) for pending in state.pending.values())
    state.requeue(row, _reason(case))
    queue, parked = _places(state)
    return [
        *_expect("queue", _sorted(expected["queue"]), queue),
        *_expect("inadmissible", _sorted(expected["inadmissible"]), parked),
        *_expect("requeued", expected["requeued"], sum(map(len, state.pending.values())) > before),
    ]


def _reason(case: Document) -> RequeueReason:
    return RequeueReason.GENERIC if case["requeueReason"] == "Generic" else RequeueReason(case["requeueReason"])


def queue_inadmissible(case: Document) -> list[str]:
    state, expected = _state(case), case["expect"]
    state.wakeups.take(state.hierarchy)
    for row in list(state.rows.values()):
        pending = state.pending_queue_of(row)
        if pending is not None:
            pending.delete(row.key)
            state.requeue(row, _reason(case))
    for name in case["triggerClusterQueues"]:
        state.wakeups.note(name)
    parked = sum(len(pending.parked) for pending in state.pending.values())
    state.flush_requeues(NOW)
    queue, left = _places(state)
    return [
        *_expect("queue", _sorted(expected["queue"]), queue),
        *_expect("inadmissible", _sorted(expected["inadmissible"]), left),
        *_expect("moved", expected["moved"], parked - sum(map(len, left.values()))),
    ]


def heads(case: Document) -> list[str]:
    state, expected = _state(case), case["expect"]
    popped = sorted(head.key.name for head in state.heads(NOW))
    return [
        *_expect("heads", sorted(expected["headsUnordered"]), popped),
        *_expect("queueAfter", _sorted(expected["queueAfter"]), _places(state)[0]),
    ]


def pending_status(case: Document) -> list[str]:
    picture = _state(case).publish(NOW).local_queue(engine_objects.key_of(case["localQueue"]))
    expected = case["expect"]
    return [
        *_expect("error", expected["error"] is None, picture is not None),
        *_expect("pending", expected["pending"], picture.pending if picture else 0),
    ]


def fair_admission(case: Document) -> list[str]:
    configuration = {"admissionFairSharing": case.get("admissionFairSharing")}
    for document in case["objects"]:
        if document["kind"] == "LocalQueue":
            document["spec"].setdefault("clusterQueue", "cq")
    state = ClusterState(policy.resolve(case["featureGates"], configuration))
    engine_objects.load(state, [_with_pod_sets(document) for document in case["objects"]], NOW)
    for name, amounts in case["initialLocalQueueUsage"].items():
        consumed = {resource: quantity.nanos(amount) for resource, amount in amounts.items()}
        if state.usage_book is not None:
            state.usage_book.history.seed(Key.parse(name), consumed, timestamps.micros(NOW))
            state.usage_book.version += 1
    heads = state.heads(NOW)
    return _expect("firstPopped", case["expect"]["firstPopped"], str(heads[0].key) if heads else None)


RUNNERS = {
    "TestAddWorkload": add_workload,
    "TestBackoffWaitingTimeExpired": backoff,
    "TestBestEffortFIFORequeueIfNotPresent": requeue_if_not_present,
    "TestStrictFIFORequeueIfNotPresent": requeue_if_not_present,
    "TestClusterQueueImpl": cluster_queue,
    "TestFIFOClusterQueue": push_and_pop,
    "TestFsAdmission": fair_admission,
    "TestHeads": heads,
    "TestPendingWorkloadsStatus": pending_status,
    "TestQueueInadmissibleWorkloads": queue_inadmissible,
    "TestRequeueWorkloadStrictFIFO": requeue_workload,
    "TestStrictFIFO": first_popped,
}
