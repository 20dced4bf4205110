"""The documents that go to a worker: the copy of a Workload, the job made from its owner (spec sections 8 and 10.2)."""

from typing import Any, Final

from hub.engine.remote_group import SyncPolicy
from worker_agent.api import document as documents
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS

LONGEST_LABEL_VALUE: Final = 63


def origin_of(document: Document) -> str:
    labels = document.get("metadata", {}).get("labels") or {}
    return str(labels.get(names.MULTIKUEUE_ORIGIN_LABEL, ""))


def is_ours(document: Document, origin: str) -> bool:
    return bool(origin) and origin_of(document) == origin


def foreign_object(kind: JobKind, key: Key, origin: str) -> str:
    """The error for an object of somebody else in the place where ours should be."""
    return (
        f'remote object is not owned by MultiKueue: expected "{names.MULTIKUEUE_ORIGIN_LABEL}"="{origin}" '
        f'on {kind.resource.kind} "{key}"'
    )


def workload_copy(local: Document, policy: SyncPolicy, *, gated: bool = True) -> Document:
    """The Workload as it is created on a worker: same name, labels, annotations and spec, no owner and no finalizer.

    ``gated`` puts our preemption gate in place of the Workload's own ones where preemption is orchestrated.
    """
    metadata = local["metadata"]
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != names.JOB_UID_LABEL}
    copied: Document = {"name": metadata["name"]}
    if metadata.get("namespace"):
        copied["namespace"] = metadata["namespace"]
    copied["labels"] = {**labels, names.MULTIKUEUE_ORIGIN_LABEL: policy.origin}
    if metadata.get("annotations"):
        copied["annotations"] = dict(metadata["annotations"])
    spec = dict(local.get("spec") or {})
    if gated and policy.orchestrated_preemption:
        spec["preemptionGates"] = [{"name": names.MULTIKUEUE_PREEMPTION_GATE}]
    return {"apiVersion": WORKLOADS.api_version, "kind": WORKLOADS.kind, "metadata": copied, "spec": spec}


def job_copy(kind: JobKind, job: Document, workload_name: str, policy: SyncPolicy) -> Document:
    """The job as it is created on the winning worker, pointing at the Workload that was admitted there."""
    metadata = job["metadata"]
    labels = {**(metadata.get("labels") or {}), names.MULTIKUEUE_ORIGIN_LABEL: policy.origin}
    annotations = dict(metadata.get("annotations") or {})
    if policy.identifier_annotations or len(workload_name) > LONGEST_LABEL_VALUE:
        annotations[names.PREBUILT_WORKLOAD] = workload_name
    else:
        labels[names.PREBUILT_WORKLOAD] = workload_name
    copied: Document = {"name": metadata["name"], "labels": labels}
    if metadata.get("namespace"):
        copied["namespace"] = metadata["namespace"]
    if annotations:
        copied["annotations"] = annotations
    remote: Document = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": copied,
        "spec": job.get("spec") or {},
    }
    if kind.managed_by_path:
        remote = without(remote, kind.managed_by_path)
    return kind.for_worker(remote)


def prebuilt_workload(job: Document, *, annotations_first: bool) -> str:
    """The Workload a remote job points at, or an empty string."""
    metadata = job.get("metadata", {})
    label = str((metadata.get("labels") or {}).get(names.PREBUILT_WORKLOAD, ""))
    annotation = str((metadata.get("annotations") or {}).get(names.PREBUILT_WORKLOAD, ""))
    if annotations_first:
        return annotation or label
    return label or (annotation if len(annotation) > LONGEST_LABEL_VALUE else "")


def without(document: Document, path: str) -> Document:
    """A copy of ``document`` lacking the field at a dotted path; only the dicts along the path are copied."""
    head, _, rest = path.partition(".")
    if head not in document:
        return document
    if not rest:
        return {name: value for name, value in document.items() if name != head}
    inner = document[head]
    return {**document, head: without(inner, rest)} if isinstance(inner, dict) else document


def lean(value: Any) -> Any:
    """``value`` without nulls and empty lists and objects, so that two servers' ways of saying "nothing" are equal."""
    if isinstance(value, dict):
        kept = ((name, lean(inner)) for name, inner in value.items())
        return {name: inner for name, inner in kept if inner is not None and inner not in ({}, [])}
    if isinstance(value, list):
        return [lean(inner) for inner in value]
    return value


def comparable_spec(workload: Document) -> Document:
    """The part of a Workload's spec that must agree between manager and worker: all but the preemption gates."""
    spec = documents.get(workload, "spec", {})
    return {
        name: lean(value)
        for name, value in spec.items()
        if name != "preemptionGates" and lean(value) not in (None, {}, [])
    }
