"""Recorded ungating and node failures (conformance/README, tas)."""

from collections import Counter
from datetime import datetime

from tests.conformance.case import Document
from worker_agent.api import timestamps
from worker_agent.api.document import get
from worker_agent.engine import eviction, feature_gates
from worker_agent.engine.intents import RecordEvent
from worker_agent.engine.tas import node_failures, ungating
from worker_agent.engine.tas.node_failures import TERMINATED, FailureRules, NodeDecision, NodeView
from worker_agent.engine.tas.ungating import UngatingError
from worker_agent.engine.workload_status import StatusDraft

_ENDED = ("Succeeded", "Failed")


def _expect(what: str, expected: object, actual: object) -> list[str]:
    return [] if expected == actual else [f"{what}: expected {expected}, got {actual}"]


def _of_kind(objects: list[Document], kind: str) -> list[Document]:
    return [document for document in objects if document["kind"] == kind]


def _name(document: Document) -> str:
    return f"{document['metadata'].get('namespace', '')}/{document['metadata']['name']}"


# -- ungating --------------------------------------------------------------------------------------------------------


def ungate(case: Document) -> list[str]:
    pods = {_name(pod): pod for pod in _of_kind(case["before"], "Pod")}
    workloads = {_name(workload): workload for workload in _of_kind(case["before"], "Workload")}
    error = None
    try:
        decided = ungating.decide(workloads[case["reconcile"]], list(pods.values()), case["expectedUngateUIDs"] or ())
    except UngatingError as problem:
        decided, error = [], str(problem)
    for step in decided:
        spec = pods[_name(step.pod)]["spec"]
        spec["schedulingGates"] = [g for g in spec["schedulingGates"] if g["name"] != "kueue.x-k8s.io/topology"]
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **step.node_selector}
    expected = case["expect"]
    found = _expect("error", expected["error"] is None, error is None)
    found += _expect("domains", _counts(expected["podCountsByNodeSelector"]), _selected(pods.values()))
    if case["nodeSelectorAssertMode"] != "CountsOnly":
        wanted = {_name(pod): _gates_and_selector(pod) for pod in _of_kind(expected["objects"], "Pod")}
        found += _expect("pods", wanted, {name: _gates_and_selector(pod) for name, pod in pods.items()})
    return found


def _counts(entries: list[Document]) -> Counter[str]:
    return Counter({str(sorted(entry["nodeSelector"].items())): entry["count"] for entry in entries})


def _selected(pods: object) -> Counter[str]:
    running = [p for p in pods if get(p, "status.phase", "") not in _ENDED]  # type: ignore[attr-defined]
    return Counter(str(sorted(p["spec"]["nodeSelector"].items())) for p in running if p["spec"].get("nodeSelector"))


def _gates_and_selector(pod: Document) -> object:
    gates = sorted(gate["name"] for gate in pod["spec"].get("schedulingGates") or ())
    return gates, pod["spec"].get("nodeSelector") or {}


# -- node failures ---------------------------------------------------------------------------------------------------


def _rules(case: Document) -> FailureRules:
    on = feature_gates.resolve(case["featureGates"])
    return FailureRules(
        on_taints=on["TASReplaceNodeOnNodeTaints"],
        on_pod_termination=on["TASReplaceNodeOnPodTermination"],
        after_fixed_time=on["TASReplaceNodeDueToNotReadyOverFixedTime"],
    )


def _view(name: str, objects: list[Document], node: Document | None) -> NodeView:
    flavors = {flavor["metadata"]["name"]: flavor for flavor in _of_kind(objects, "ResourceFlavor")}
    return NodeView(name, node, _of_kind(objects, "Workload"), _of_kind(objects, "Pod"), flavors)


def reconcile_nodes(case: Document) -> list[str]:
    objects, now = case["before"], timestamps.parse(case["now"])
    events: list[Document] = []
    requeue = 0.0
    error = False
    for name in case["reconcileNodes"]:
        node = next((n for n in _of_kind(objects, "Node") if n["metadata"]["name"] == name), None)
        decision = node_failures.decide(_view(name, objects, node), _rules(case), now)
        error |= case["injectPatchErrorOnNodeRemoval"] and any(name not in d for d in decision.unhealthy.values())
        requeue = decision.requeue_after
        events += _apply(decision, objects, now)
    return _compare(case, objects, events, requeue, bool(error))


def _apply(decision: NodeDecision, objects: list[Document], now: datetime) -> list[Document]:
    events = []
    for workload in _of_kind(objects, "Workload"):
        key = _name(workload)
        if key in decision.unhealthy:
            workload["status"]["unhealthyNodes"] = [{"name": node} for node in decision.unhealthy[key]]
        if key in decision.evict:
            draft = StatusDraft(workload, now)
            told = eviction.evict(draft, "NodeFailures", decision.evict[key])
            workload["status"] = draft.status
            events.append(_event(told))
    for pod in decision.terminate:
        pod.setdefault("status", {})["phase"] = "Failed"
        text = {"reason": "PodTerminatedByKueue", "message": TERMINATED}
        events.append({"type": "Normal", "key": _name(pod), **text})
    return events


def _event(intent: RecordEvent) -> Document:
    return {"type": intent.type, "reason": intent.reason, "key": str(intent.key), "message": intent.message}


def _compare(case: Document, objects: list[Document], events: list[Document], requeue: float, error: bool) -> list[str]:
    expected = case["expect"]
    found = _expect("error", expected["error"], error)
    found += _expect("requeue", expected["requeueAfterSeconds"], round(requeue))
    found += _expect(
        "events", sorted(map(str, map(_sorted, expected["events"]))), sorted(map(str, map(_sorted, events)))
    )
    wanted = {_name(o): o for o in _of_kind(expected["objects"], "Workload")}
    for workload in _of_kind(objects, "Workload"):
        other = wanted[_name(workload)]
        nodes = get(other, "status.unhealthyNodes", []) if expected["unhealthyNodesChecked"] else []
        found += _expect("unhealthyNodes", nodes, get(workload, "status.unhealthyNodes", []))
        found += _expect("Evicted", _evicted(other), _evicted(workload))
    failed = sorted(_name(p) for p in _of_kind(expected["objects"], "Pod") if get(p, "status.phase", "") == "Failed")
    mine = sorted(_name(p) for p in _of_kind(objects, "Pod") if get(p, "status.phase", "") == "Failed")
    return found + _expect("terminated", failed, mine)


def _sorted(document: Document) -> list[tuple[str, object]]:
    return sorted(document.items())


def _evicted(workload: Document) -> object:
    conditions = get(workload, "status.conditions", [])
    found = next((c for c in conditions if c["type"] == "Evicted"), None)
    return found and (found["status"], found["reason"], found["message"])


def workload_status(case: Document) -> list[str]:
    objects = case["objects"]
    view = _view(case["nodeName"], objects, case["node"])
    workload = next((w for w in view.workloads if _name(w) == case["workload"]), None)
    failed, terminated = (False, []) if workload is None else node_failures.judge(workload, view, _rules(case))
    expected = case["expect"]
    found = _expect("status", expected["status"], "unhealthy" if failed else "healthy")
    names = sorted(pod["metadata"]["name"] for pod in terminated)
    return found + _expect("podsToTerminate", sorted(expected["podsToTerminate"] or ()), names)


RUNNERS = {
    "TestTopologyUngaterReconcile": ungate,
    "TestNodeFailureReconciler": reconcile_nodes,
    "TestGetWorkloadStatus": workload_status,
}
