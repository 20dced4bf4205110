"""Node failures: whether a node counts as failed for the workloads with pods on it, and what follows (spec/tas 15)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document, get
from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.engine import workload_status
from worker_agent.engine.tas import topology_assignment, ungating

NOT_READY_SECONDS = 30
TERMINATED = "Pod terminated by Kueue NodeController due to node taint"
_ENDED = ("Succeeded", "Failed")
_KEEPING_AWAY = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRules:
    """What makes a node fail, from feature gates."""

    on_taints: bool = True
    on_pod_termination: bool = True
    after_fixed_time: bool = False


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node (``document`` None: it is gone) and what runs, or should run, on it."""

    name: str
    document: Document | None
    workloads: Sequence[Document]
    pods: Sequence[Document]
    flavors: Mapping[str, Document]


@dataclass(slots=True)
class NodeDecision:
    """``unhealthy``: workload -> its new list of failed nodes; ``evict``: workload -> message."""

    unhealthy: dict[str, list[str]] = field(default_factory=dict)
    evict: dict[str, str] = field(default_factory=dict)
    terminate: list[Document] = field(default_factory=list)
    requeue_after: float = 0.0


def decide(view: NodeView, rules: FailureRules, now: datetime) -> NodeDecision:
    decision = NodeDecision()
    ready = _ready(view.document)
    affected = [workload for workload in view.workloads if _is_affected(workload, view.name)]
    if ready is None:
        for workload in affected:
            _mark(decision, workload, view.name)
        return decision
    waited = (
        (now - timestamps.parse(ready["lastTransitionTime"])).total_seconds()
        if ready.get("lastTransitionTime")
        else 0.0
    )
    not_ready = ready.get("status") != "True"
    if not_ready and not rules.on_pod_termination and waited < NOT_READY_SECONDS:
        decision.requeue_after = NOT_READY_SECONDS - waited
        return decision
    for workload in affected:
        if not_ready and rules.after_fixed_time and waited >= NOT_READY_SECONDS:
            _mark(decision, workload, view.name)
        key = _key(workload)
        if key in decision.evict:
            continue
        failed, terminated = judge(workload, view, rules)
        (_mark if failed else _clear)(decision, workload, view.name)
        if key not in decision.evict:
            decision.terminate += terminated
    for workload in _strays(view, affected):
        _clear(decision, workload, view.name)
        decision.terminate += _to_terminate(workload, view)
    return decision


def judge(workload: Document, view: NodeView, rules: FailureRules) -> tuple[bool, list[Document]]:
    """(whether the existing node failed for the workload, pods to terminate because of it)."""
    ready = _ready(view.document)
    if not _is_affected(workload, view.name):
        return False, _to_terminate(workload, view) if _is_alive(workload) else []
    if ready is None or ready.get("status") != "True":
        if not rules.on_pod_termination:
            return True, []
        return not _progresses(workload, view), _to_terminate(workload, view)
    untolerated, temporary = _taints(workload, view) if rules.on_taints else (False, False)
    if not untolerated and not temporary:
        return False, []
    if untolerated and not rules.on_pod_termination:
        return True, []
    return not _progresses(workload, view), _to_terminate(workload, view)


# -- workloads -------------------------------------------------------------------------------------------------------


def _key(workload: Document) -> str:
    metadata = workload["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _is_alive(workload: Document) -> bool:
    return not any(workload_status.is_true(workload, type_) for type_ in (names.FINISHED, names.EVICTED))


def _is_affected(workload: Document, node: str) -> bool:
    if not _is_alive(workload) or not workload_status.is_true(workload, names.ADMITTED):
        return False
    return any(True for _ in _on_node(workload, node))


def _on_node(workload: Document, node: str) -> Iterable[Document]:
    """The assignments of pod sets with pods on the node."""
    for assignment in get(workload, "status.admission.podSetAssignments", []) or ():
        place = topology_assignment.decode(assignment.get("topologyAssignment"))
        if place is not None and place.levels[-1] == HOSTNAME_LABEL and place.touches(node):
            yield assignment


def _strays(view: NodeView, affected: Sequence[Document]) -> list[Document]:
    """Workloads of pods bound to come to the node although their assignment does not name it any more."""
    known = {_key(workload) for workload in affected}
    named = {_key_of_owner(pod) for pod in view.pods if _is_pinned(pod, view.name)}
    return [w for w in view.workloads if _key(w) in named - known and _is_alive(w)]


def _key_of_owner(pod: Document) -> str:
    annotations = get(pod, "metadata.annotations", {})
    return f"{get(pod, 'metadata.namespace', '')}/{annotations.get(names.WORKLOAD_ANNOTATION)}"


def _nodes(decision: NodeDecision, workload: Document) -> list[str]:
    before = [node["name"] for node in get(workload, "status.unhealthyNodes", []) or ()]
    return decision.unhealthy.get(_key(workload), before)


def _mark(decision: NodeDecision, workload: Document, node: str) -> None:
    nodes = _nodes(decision, workload)
    if node in nodes:
        return
    if nodes:
        told = ", ".join([*nodes, node])
        decision.evict[_key(workload)] = (
            f"Workload eviction triggered due to multiple TAS assigned node failures, including: {told}"
        )
    else:
        decision.unhealthy[_key(workload)] = [node]


def _clear(decision: NodeDecision, workload: Document, node: str) -> None:
    nodes = _nodes(decision, workload)
    if node in nodes:
        decision.unhealthy[_key(workload)] = [name for name in nodes if name != node]


# -- pods ------------------------------------------------------------------------------------------------------------


def _is_pinned(pod: Document, node: str) -> bool:
    return bool((get(pod, "spec.nodeSelector", {}) or {}).get(HOSTNAME_LABEL) == node)


def _progresses(workload: Document, view: NodeView) -> bool:
    """Whether a pod of the workload still runs there, or may."""
    return any(
        ungating.belongs(pod, workload)
        and get(pod, "spec.nodeName", "") == view.name
        and not get(pod, "metadata.deletionTimestamp", None)
        and get(pod, "status.phase", "") not in _ENDED
        for pod in view.pods
    )


def _to_terminate(workload: Document, view: NodeView) -> list[Document]:
    """Pods that wait for this node and no other."""
    metadata = workload["metadata"]
    return [
        pod
        for pod in view.pods
        if (get(pod, "metadata.annotations", {}) or {}).get(names.WORKLOAD_ANNOTATION) == metadata["name"]
        and (get(pod, "metadata.namespace", "") or "") == metadata.get("namespace", "")
        and get(pod, "status.phase", "") == "Pending"
        and not get(pod, "spec.nodeName", "")
        and not ungating.is_gated(pod)
        and _is_pinned(pod, view.name)
    ]


# -- nodes -----------------------------------------------------------------------------------------------------------


def _ready(node: Document | None) -> Document | None:
    conditions = get(node, "status.conditions", []) if node is not None else []
    return next((condition for condition in conditions or () if condition["type"] == "Ready"), None)


def _taints(workload: Document, view: NodeView) -> tuple[bool, bool]:
    """(some taint is not tolerated, some is tolerated for a time only), over the pod sets on the node."""
    taints = [t for t in get(view.document, "spec.taints", []) or () if t.get("effect") in _KEEPING_AWAY]
    untolerated = temporary = False
    for assignment in _on_node(workload, view.name):
        tolerations = list(_tolerations(workload, assignment, view.flavors))
        for taint in taints:
            matching = [toleration for toleration in tolerations if _tolerates(toleration, taint)]
            untolerated |= not matching
            temporary |= bool(matching) and all(t.get("tolerationSeconds") is not None for t in matching)
    return untolerated, temporary


def _tolerations(workload: Document, assignment: Document, flavors: Mapping[str, Document]) -> Iterable[Document]:
    for pod_set in workload["spec"]["podSets"]:
        if pod_set["name"] == assignment["name"]:
            yield from get(pod_set, "template.spec.tolerations", []) or ()
    for name in sorted(set((assignment.get("flavors") or {}).values())):
        yield from get(flavors.get(name), "spec.tolerations", []) or ()
    for check in get(workload, "status.admissionChecks", []) or ():
        for update in check.get("podSetUpdates") or () if check.get("state") == "Ready" else ():
            if update["name"] == assignment["name"]:
                yield from update.get("tolerations") or ()


def _tolerates(toleration: Document, taint: Document) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return (toleration.get("value") or "") == (taint.get("value") or "")
