"""What a pod's labels, annotations and status say about how it is queued (spec/jobs 9.10)."""

import math
from datetime import datetime
from typing import Final

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.topology_request import parse_int
from worker_agent.engine.workload_status import is_true

GROUP_LABEL: Final = f"metadata.labels[{names.POD_GROUP_NAME_LABEL}]"
GROUP_ANNOTATION: Final = f"metadata.annotations[{names.POD_GROUP_NAME_LABEL}]"
GATE: Final = {"name": names.ADMISSION_SCHEDULING_GATE}
TOPOLOGY_GATE: Final = {"name": names.TOPOLOGY_SCHEDULING_GATE}
GATES: Final = ("spec", "schedulingGates")
SCHEDULED: Final = "PodScheduled"


def label(pod: Document, name: str) -> str:
    return str(at(pod, ("metadata", "labels", name), ""))


def annotation(pod: Document, name: str) -> str:
    return str(at(pod, ("metadata", "annotations", name), ""))


def group_source(pod: Document, policy: JobPolicy) -> tuple[str, str]:
    """Field and value of the pod's group name; the field is that of the label where there is no name."""
    named = annotation(pod, names.POD_GROUP_NAME_LABEL) if policy.identifier_annotations else ""
    return (GROUP_ANNOTATION, named) if named else (GROUP_LABEL, label(pod, names.POD_GROUP_NAME_LABEL))


def group_name(pod: Document, policy: JobPolicy) -> str:
    return group_source(pod, policy)[1]


def total_count(pod: Document) -> int:
    """Pods the group shall have. Raises ValueError, with a message that names the annotation's value."""
    text = annotation(pod, names.POD_GROUP_TOTAL_COUNT_ANNOTATION)
    count = parse_int(text)
    if count < 1:
        shown = f"{names.POD_GROUP_TOTAL_COUNT_ANNOTATION}={text}"
        raise ValueError(f"incorrect annotation value '{shown}': group total count should be greater than zero")
    return count


def is_gated(pod: Document) -> bool:
    return GATE in at(pod, GATES, [])


def is_terminated(pod: Document) -> bool:
    return get(pod, "status.phase", "") in ("Succeeded", "Failed")


def is_suspended(pod: Document) -> bool:
    return is_gated(pod) or is_terminated(pod)


def is_deleting(pod: Document) -> bool:
    return at(pod, ("metadata", "deletionTimestamp")) is not None


def is_running(pod: Document) -> bool:
    return bool(get(pod, "status.phase", "") == "Running")


def seconds_left(pod: Document, policy: JobPolicy, now: datetime) -> float:
    """How long the pod may still hold quota: for ever, unless it ends; then its grace period after its deletion."""
    if not is_running(pod):
        return 0.0
    deleted, grace = (at(pod, ("metadata", name)) for name in ("deletionTimestamp", "deletionGracePeriodSeconds"))
    if deleted is None:
        return math.inf
    if policy.fast_quota_release:
        return 0.0
    if grace is None:
        return math.inf
    return max(0.0, (timestamps.parse(deleted) - now).total_seconds() + float(grace))


def is_scheduled(pod: Document) -> bool:
    return is_true(pod, SCHEDULED)


def is_ready(pod: Document) -> bool:
    return is_true(pod, "Ready")


def has_parent(pod: Document) -> bool:
    """Made by a Deployment, StatefulSet or LeaderWorkerSet that is queued through its pods."""
    return names.POD_SUSPENDING_PARENT_ANNOTATION in at(pod, ("metadata", "annotations"), {})


def is_finalized(pod: Document) -> bool:
    """Nothing of ours keeps the pod."""
    return names.MANAGED_FINALIZER not in at(pod, ("metadata", "finalizers"), [])


def finalized(pod: Document) -> Document:
    """The pod without our finalizer; the same object where it is not there."""
    if is_finalized(pod):
        return pod
    kept = [each for each in pod["metadata"]["finalizers"] if each != names.MANAGED_FINALIZER]
    document: Document = put(pod, ("metadata", "finalizers"), kept or None)
    return document


def without_gate(pod: Document, gate: Document) -> Document:
    gates = at(pod, GATES, [])
    if gate not in gates:
        return pod
    document: Document = put(pod, GATES, [each for each in gates if each != gate] or None)
    return document


def with_gate(pod: Document, gate: Document) -> Document:
    gates = at(pod, GATES, [])
    document: Document = pod if gate in gates else put(pod, GATES, [*gates, gate])
    return document
