"""Pods of a Job: how they are made, and what they tell about themselves.

Source: kubernetes pkg/controller/job/indexed_job_utils.go and pkg/controller/controller_utils.go.
"""

import hashlib
from collections.abc import Container, Iterable
from datetime import datetime

from worker_agent.api import document as documents
from worker_agent.api.document import Document
from worker_agent.api.timestamps import parse

TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
CONTROLLER_UID_LABEL = "batch.kubernetes.io/controller-uid"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What the API server makes random names of: no vowels, no look-alikes."""

_LONGEST_BASE = 58
"""63, the longest name in a DNS label, less the suffix."""


def uid(pod: Document) -> str:
    return str(pod["metadata"].get("uid", ""))


def phase(pod: Document) -> str:
    return str(documents.get(pod, "status.phase", "Pending"))


def is_finished(pod: Document) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_deleting(pod: Document) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_active(pod: Document) -> bool:
    return not is_finished(pod) and not is_deleting(pod)


def is_ready(pod: Document) -> bool:
    conditions = documents.get(pod, "status.conditions", ())
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def is_tracked(pod: Document) -> bool:
    return TRACKING_FINALIZER in (pod["metadata"].get("finalizers") or ())


def index(pod: Document) -> int | None:
    text = (pod["metadata"].get("annotations") or {}).get(INDEX_ANNOTATION, "")
    return int(text) if text.isdecimal() else None


def owner_uid(pod: Document) -> str:
    """The UID of the Job that controls the pod; empty if none does."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") == "Job":
            return str(owner.get("uid", ""))
    return ""


def finished_at(pod: Document) -> datetime | None:
    """When the last container ended, else when the pod was told to end, else when it was made."""
    statuses = documents.get(pod, "status.containerStatuses", ())
    ends = [documents.get(status, "state.terminated.finishedAt") for status in statuses]
    known = [parse(end) for end in ends if end]
    if known:
        return max(known)
    fallback = pod["metadata"].get("deletionTimestamp") or pod["metadata"].get("creationTimestamp")
    return parse(fallback) if fallback else None


def restarts(pod: Document) -> int:
    return sum(status.get("restartCount", 0) for status in documents.get(pod, "status.containerStatuses", ()))


def failures_of_index(pods: Iterable[Document], wanted: int) -> int:
    """How often ``wanted`` failed, as its failed pods carry it on from one to the next."""
    counts = [
        int((pod["metadata"].get("annotations") or {}).get(INDEX_FAILURES, "0")) + 1
        for pod in pods
        if phase(pod) == "Failed" and index(pod) == wanted
    ]
    return max(counts, default=0)


def new_pod(job: Document, pod_index: int | None, taken: Container[str], failures: int | None = None) -> Document:
    """A pod for ``job``, for one completion index if it is Indexed.

    The name looks random and is not: it follows from the Job's UID, the index and the names ``taken``. A create that
    is repeated after a lost answer or a restart therefore meets itself instead of making a second pod.
    """
    template = job["spec"]["template"]
    meta = job["metadata"]
    given = template.get("metadata") or {}
    base = _base(meta["name"], pod_index)
    identity = {"controller-uid": meta["uid"], "job-name": meta["name"]}
    labels = identity | {CONTROLLER_UID_LABEL: meta["uid"], JOB_NAME_LABEL: meta["name"]} | (given.get("labels") or {})
    annotations = dict(given.get("annotations") or {})
    spec = dict(template.get("spec") or {})
    if pod_index is not None:
        annotations[INDEX_ANNOTATION] = labels[INDEX_ANNOTATION] = str(pod_index)
        if failures is not None:
            annotations[INDEX_FAILURES] = str(failures)
        spec["hostname"] = f"{meta['name']}-{pod_index}"
        for containers in ("initContainers", "containers"):
            if spec.get(containers):
                spec[containers] = [_with_index_variable(container) for container in spec[containers]]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": _name(base, f"{meta['uid']}/{pod_index}", taken),
            "generateName": base,
            "namespace": meta["namespace"],
            "labels": labels,
            **({"annotations": annotations} if annotations else {}),
            "finalizers": [*(given.get("finalizers") or ()), TRACKING_FINALIZER],
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        },
        "spec": spec,
    }


def _base(job_name: str, pod_index: int | None) -> str:
    tail = "-" if pod_index is None else f"-{pod_index}-"
    return job_name[: _LONGEST_BASE - len(tail)] + tail


def _name(base: str, seed: str, taken: Container[str]) -> str:
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{seed}/{attempt}".encode()).digest()
        name = base + "".join(_SUFFIX_LETTERS[byte % len(_SUFFIX_LETTERS)] for byte in digest[:5])
        if name not in taken:
            return name
        attempt += 1


def _with_index_variable(container: Document) -> Document:
    """The index as the container sees it: read from the label, so that one template serves all indexes."""
    given = container.get("env") or []
    if any(variable.get("name") == INDEX_VARIABLE for variable in given):
        return container
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX_ANNOTATION}']"}}
    return container | {"env": [*given, {"name": INDEX_VARIABLE, "valueFrom": source}]}
