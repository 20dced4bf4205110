"""Pods before they are stored: first status with the QoS class, priority from its class, tolerations every pod gets.

Source: kubernetes pkg/registry/core/pod/strategy.go and the admission plugins Priority and DefaultTolerationSeconds.
"""

from hub.local.apiserver import failure
from hub.local.apiserver.call import Call, document_of
from hub.local.apiserver.metadata import timestamp
from worker_agent.api.document import Document

_PRIORITY_CLASSES = "scheduling.k8s.io/priorityclasses"
_RUNTIME_CLASSES = "node.k8s.io/runtimeclasses"
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_NODE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def prepare_new(call: Call, pod: Document) -> None:
    status: Document = {"phase": "Pending", "qosClass": qos_class(pod)}
    if (pod.get("spec") or {}).get("schedulingGates"):
        status["conditions"] = [{**_GATED, "lastTransitionTime": timestamp(call.now)}]
    pod["status"] = status


def prepare_changed(call: Call, pod: Document, old: Document) -> None:
    """The QoS class never changes, not even by a status write that forgets it."""
    status = pod.get("status")
    kept = (old.get("status") or {}).get("qosClass")
    if status is not None and kept:
        pod["status"] = {**status, "qosClass": kept}
    if call.target.subresource == "status":
        pod["metadata"].pop("deletionTimestamp", None)
        before = old["metadata"]
        if before.get("deletionTimestamp"):
            pod["metadata"]["deletionTimestamp"] = before["deletionTimestamp"]


def admit_new(call: Call, pod: Document) -> None:
    """What admission adds to a pod's spec, in place."""
    spec = pod["spec"] = dict(pod.get("spec") or {})
    _set_priority(call, pod, spec)
    if spec.get("runtimeClassName"):
        _apply_runtime_class(call, pod, spec)
    tolerations = list(spec.get("tolerations") or ())
    for taint in _NODE_TAINTS:
        if not any(_covers(toleration, taint) for toleration in tolerations):
            tolerations.append({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    spec["tolerations"] = tolerations


def _apply_runtime_class(call: Call, pod: Document, spec: Document) -> None:
    """What a RuntimeClass says of overhead and of the nodes its pods go to."""
    name = spec["runtimeClassName"]
    stored = call.state.get(_RUNTIME_CLASSES, "", name)
    if stored is None:
        raise _rejected(pod, f'RuntimeClass "{name}" not found')
    runtime_class = stored.document()
    overhead = (runtime_class.get("overhead") or {}).get("podFixed")
    if overhead:
        if spec.get("overhead") not in (None, overhead):
            raise _rejected(pod, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec["overhead"] = overhead
    elif spec.get("overhead"):
        raise _rejected(pod, "Pod Overhead set without corresponding RuntimeClass defined Overhead")
    scheduling = runtime_class.get("scheduling") or {}
    selector, given = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key, value in selector.items():
        if given.get(key, value) != value:
            why = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {given[key]}"
            raise _rejected(pod, f"conflict: {why}")
    if selector:
        spec["nodeSelector"] = {**given, **selector}
    tolerations = list(spec.get("tolerations") or ())
    spec["tolerations"] = tolerations + [one for one in scheduling.get("tolerations") or () if one not in tolerations]


def _rejected(pod: Document, why: str) -> failure.Failure:
    return failure.forbidden("", "pods", pod["metadata"].get("name") or "", f"pod rejected: {why}")


def _covers(toleration: Document, taint: str) -> bool:
    return toleration.get("key") in (None, "", taint) and toleration.get("effect") in (None, "", "NoExecute")


def _set_priority(call: Call, pod: Document, spec: Document) -> None:
    chosen = spec.get("priorityClassName") or ""
    found = priority_class(call, chosen)
    if found is None and chosen:
        why = f"no PriorityClass with name {chosen} was found"
        raise failure.forbidden("", "pods", pod["metadata"].get("name") or "", why)
    value = found.get("value", 0) if found else 0
    given = spec.get("priority")
    if given is not None and given != value:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise failure.forbidden("", "pods", pod["metadata"].get("name") or "", why)
    if found and not chosen:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy", "PreemptLowerPriority"))


def priority_class(call: Call, name: str) -> Document | None:
    """The named class, or the global default for an empty name."""
    (resource,) = call.state.resources.of_store(_PRIORITY_CLASSES)
    if name:
        stored = call.state.get(_PRIORITY_CLASSES, "", name)
        return document_of(resource, stored) if stored else None
    documents = (document_of(resource, stored) for stored in call.state.collection(_PRIORITY_CLASSES).in_namespace(""))
    defaults = [document for document in documents if document.get("globalDefault")]
    return min(defaults, key=lambda document: int(document.get("value", 0)), default=None)


def qos_class(pod: Document) -> str:
    """Guaranteed, Burstable or BestEffort by cpu and memory of all containers. Source: pkg/apis/core/helper/qos."""
    spec = pod.get("spec") or {}
    any_set, guaranteed = False, True
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = requests.get(name), limits.get(name)
            any_set = any_set or not _is_zero(request) or not _is_zero(limit)
            if _is_zero(limit) or (request is not None and request != limit):
                guaranteed = False
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _is_zero(quantity: object) -> bool:
    return quantity is None or str(quantity).strip("0.") in ("", "m", "Mi", "Gi", "Ki")
