"""The Workload made from a job: its name, its content and its priority (spec/jobs 5.1, 5.2)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import JobKind, queue_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod import PriorityClass
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine import job_matching, job_pod_sets

_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?\Z")


class PriorityMissing(LookupError):
    """A priority class that the job names does not exist; ``workload_class`` is its name if it is Kueue's kind."""

    def __init__(self, message: str, workload_class: str = "") -> None:
        super().__init__(message)
        self.workload_class = workload_class


@dataclass(frozen=True, slots=True)
class PriorityClasses:
    """The classes a priority is resolved from."""

    workload: Mapping[str, WorkloadPriorityClass]
    pod: Mapping[str, PriorityClass]


@dataclass(frozen=True, slots=True)
class Priority:
    value: int
    reference: Document | None = None


def resolve_priority(kind: JobKind, job: Document, pod_sets: list[Document], classes: PriorityClasses) -> Priority:
    """The job's priority and the class it comes from. Raises PriorityMissing."""
    named = priority_class_label(job)
    if named:
        if named not in classes.workload:
            raise PriorityMissing(f'workloadpriorityclasses.kueue.x-k8s.io "{named}" not found', named)
        reference = _reference(names.WORKLOAD_PRIORITY_CLASS_GROUP, names.WORKLOAD_PRIORITY_CLASS_KIND, named)
        return Priority(classes.workload[named].value, reference)
    pod_class = kind.priority_class(job)
    if pod_class is None:
        of_templates = (at(pod_set, ("template", "spec", "priorityClassName"), "") for pod_set in pod_sets)
        pod_class = next((name for name in of_templates if name), "")
    if not pod_class:
        return Priority(_default_value(classes))
    if pod_class not in classes.pod:
        raise PriorityMissing(f'priorityclasses.scheduling.k8s.io "{pod_class}" not found')
    reference = _reference(names.POD_PRIORITY_CLASS_GROUP, names.POD_PRIORITY_CLASS_KIND, pod_class)
    return Priority(classes.pod[pod_class].value, reference)


def priority_class_label(job: Document) -> str:
    return str(at(job, ("metadata", "labels"), {}).get(names.PRIORITY_CLASS_LABEL, ""))


def _reference(group: str, kind: str, name: str) -> Document:
    return {"group": group, "kind": kind, "name": name}


def _default_value(classes: PriorityClasses) -> int:
    """The global default PriorityClass; of several the one with the lowest value, as the API server chooses."""
    return min((known.value for known in classes.pod.values() if known.global_default), default=0)


def with_priority(spec: Document, priority: Priority) -> Document:
    """The Workload spec with this priority; an older class reference is taken out."""
    changed = {name: value for name, value in spec.items() if name != "priorityClassRef"}
    changed["priority"] = priority.value
    if priority.reference is not None:
        changed["priorityClassRef"] = priority.reference
    return changed


def build(kind: JobKind, job: Document, classes: PriorityClasses, policy: JobPolicy) -> Document:
    """The Workload for the job as it is now. Raises PriorityMissing, TopologyRequestError."""
    pod_sets = job_pod_sets.of_job(kind, job, policy)
    spec: Document = {"podSets": pod_sets}
    if queue_name(job):
        spec["queueName"] = queue_name(job)
    limit = job_matching.max_execution_seconds(job)
    if limit is not None:
        spec["maximumExecutionTimeSeconds"] = limit
    metadata = job["metadata"]
    document: Document = {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": kind.workload_name(job, policy),
            "namespace": metadata.get("namespace", ""),
            "labels": _labels(job, policy),
            "annotations": annotations_of(job, policy),
            "finalizers": [names.IN_USE_FINALIZER],
            "ownerReferences": [controller_reference(kind, job)],
        },
        "spec": with_priority(spec, resolve_priority(kind, job, pod_sets, classes)),
    }
    return document


def controller_reference(kind: JobKind, job: Document) -> Document:
    """The owner reference that makes a Workload the job's."""
    metadata = job["metadata"]
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def job_uid_label(job: Document) -> dict[str, str]:
    """The label that leads from a Workload to its job, where the UID can be a label value."""
    uid = job["metadata"].get("uid", "")
    return {names.JOB_UID_LABEL: uid} if _LABEL_VALUE.match(uid) else {}


def _labels(job: Document, policy: JobPolicy) -> dict[str, str]:
    labels = at(job, ("metadata", "labels"), {})
    copied = {key: labels[key] for key in policy.label_keys_to_copy if key in labels}
    return {**copied, **job_uid_label(job)}


def annotations_of(job: Document, policy: JobPolicy) -> dict[str, str]:
    """What a Workload takes over of its job's annotations."""
    annotations = at(job, ("metadata", "annotations"), {})
    copied = {
        key: value
        for key, value in annotations.items()
        if key.startswith(names.PROVISIONING_ANNOTATION_PREFIX)
        or (policy.custom_metric_labels and key in policy.annotation_keys_to_copy)
    }
    gated_by = annotations.get(names.ADMISSION_GATED_BY_ANNOTATION)
    if policy.admission_gated_by and gated_by is not None:
        copied[names.ADMISSION_GATED_BY_ANNOTATION] = gated_by
    return copied
