"""Builders: Jobs, pods and nodes, with what matters to a test."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from hub.local.simulation import job_decision, job_pods, pod_status
from hub.local.simulation.job_decision import JobPlan
from worker_agent.api.document import Document
from worker_agent.api.pod import Node, PodSpec
from worker_agent.api.timestamps import rfc3339

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB_UID = "job-uid"


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def job(status: Document | None = None, **spec: Any) -> Document:
    template: Document = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}
    spec.setdefault("template", template)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ns", "uid": JOB_UID, "resourceVersion": "5"},
        "spec": spec,
        "status": status or {},
    }


def pod(
    name: str,
    phase: str = "Running",
    *,
    index: int | None = None,
    tracked: bool = True,
    deleting: bool = False,
    ended: float = 0.0,
    **metadata: Any,
) -> Document:
    """A bound pod of the Job; ``ended`` is when it finished, in seconds from NOW."""
    made: Document = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"u-{name}",
            "resourceVersion": "7",
            "creationTimestamp": rfc3339(at(-100)),
            "ownerReferences": [{"kind": "Job", "name": "train", "uid": JOB_UID, "controller": True}],
            **({"finalizers": [job_pods.TRACKING_FINALIZER]} if tracked else {}),
            **({"deletionTimestamp": rfc3339(NOW)} if deleting else {}),
            **metadata,
        },
        "spec": {"nodeName": "n-0", "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Pending"},
    }
    if index is not None:
        made["metadata"].setdefault("annotations", {})[job_pods.INDEX_ANNOTATION] = str(index)
    if phase == "Running":
        made["status"] = pod_status.running(made, at(-10))
    elif phase in ("Succeeded", "Failed"):
        made["status"] = pod_status.ended(made, 0 if phase == "Succeeded" else 1, at(ended))
    return made


def decide(job: Document, *pods: Document, now: datetime = NOW, released: frozenset[str] = frozenset()) -> JobPlan:
    return job_decision.decide(job, list(pods), now, released)


def names(pods: list[Document]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def condition(status: Document | None, type: str) -> tuple[str, str, str] | None:
    """Status, reason, message of a condition."""
    for found in (status or {}).get("conditions", ()):
        if found["type"] == type:
            return found["status"], found["reason"], found["message"]
    return None


def true(type: str, reason: str = "R", since: float = 0.0) -> Document:
    return {"type": type, "status": "True", "reason": reason, "message": "m", "lastTransitionTime": rfc3339(at(since))}


def node(name: str, cpu: str = "4", *, ready: str = "True", labels: dict[str, str] | None = None, **spec: Any) -> Node:
    document = {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }
    return msgspec.convert(document, Node)


def pod_spec(cpu: str = "1", **spec: Any) -> PodSpec:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return msgspec.convert({"containers": [container], **spec}, PodSpec)
