"""Jobs and Workloads for tests: each test states only what matters to it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from worker_agent.api import names
from worker_agent.api.document import Document, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.engine import job_lifecycle, job_workload
from worker_agent.engine.intents import ApplyStatus, Intent, PatchObject, RecordEvent, RetryWithError
from worker_agent.engine.job_view import JobView
from worker_agent.engine.job_workload import PriorityClasses
from worker_agent.jobs.batch_job import BatchJob

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EARLIER = "2026-01-02T03:03:05Z"
KIND = BatchJob()
POLICY = JobPolicy(wait_for_pods_ready=False)


def job(
    name: str = "train",
    *,
    queue: str = "main-queue",
    suspend: bool = True,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    status: Document | None = None,
    metadata: Document | None = None,
    template: Document | None = None,
    **spec: Any,
) -> Document:
    """A Job of one pod (or ``parallelism``) asking for one CPU."""
    named = {names.QUEUE_NAME_LABEL: queue} if queue else {}
    document: Document = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"{name}-uid",
            "labels": {**named, **(labels or {})},
            "annotations": annotations or {},
            **(metadata or {}),
        },
        "spec": {"parallelism": 1, "suspend": suspend, "template": template or pod_template(), **spec},
    }
    return document if status is None else {**document, "status": status}


def pod_template(cpu: str = "1", **spec: Any) -> Document:
    return {
        "metadata": {"labels": {"app": "train"}},
        "spec": {
            "containers": [{"name": "c", "image": "train:1", "resources": {"requests": {"cpu": cpu}}}],
            "restartPolicy": "Never",
            **spec,
        },
    }


def workload(
    of: Document, *conditions: Document, name: str = "", policy: JobPolicy = POLICY, **status: Any
) -> Document:
    """The Workload of a job, with these conditions."""
    built = job_workload.build(KIND, of, PriorityClasses({}, {}), POLICY)
    if name:
        built = put(built, ("metadata", "name"), name)
    return {**built, "status": {"conditions": list(conditions), **status}}


def condition(
    type_: str, status: str = "True", reason: str = "ByTest", message: str = "", at: str = EARLIER
) -> Document:
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": EARLIER}


def admission(count: int = 1, flavor: str = "spot", cluster_queue: str = "cq", name: str = "main") -> Document:
    assignment = {"name": name, "count": count, "flavors": {"cpu": flavor}}
    return {"clusterQueue": cluster_queue, "podSetAssignments": [assignment]}


RESERVED = condition("QuotaReserved")
ADMITTED = condition("Admitted")


def admitted(of: Document, *more: Document, count: int = 1, name: str = "", **status: Any) -> Document:
    return workload(of, RESERVED, ADMITTED, *more, name=name, admission=admission(count), **status)


def flavor(name: str = "spot", **spec: Any) -> ResourceFlavor:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, ResourceFlavor)


def view(of: Document | None, *workloads: Document, policy: JobPolicy = POLICY, **changes: Any) -> JobView:
    seen = JobView(
        kind=KIND,
        key=Key("ns", "train"),
        policy=policy,
        job=of,
        workloads=workloads,
        namespace_labels={"kubernetes.io/metadata.name": "ns"},
        flavors={"spot": flavor(nodeLabels={"tier": "spot"})},
    )
    return replace(seen, **changes)


def events(intents: list[Intent]) -> list[tuple[str, str]]:
    return [(event.reason, event.message) for event in intents if isinstance(event, RecordEvent)]


def errors(intents: list[Intent]) -> list[str]:
    return [intent.message for intent in intents if isinstance(intent, RetryWithError)]


def patched(intents: list[Intent], kind: str = "Job") -> Document:
    """The object as the last patch leaves it."""
    return [i.after for i in intents if isinstance(i, PatchObject) and i.resource.kind == kind][-1]


def decide(seen: JobView) -> list[Intent]:
    """One decision at the tests' time."""
    return job_lifecycle.decide(seen, NOW)


def conditions(intents: list[Intent]) -> dict[str, tuple[str, str, str]]:
    """Conditions written, by type: status, reason, message."""
    written = [c for intent in intents if isinstance(intent, ApplyStatus) for c in intent.conditions]
    return {c.type: (c.status, c.reason, c.message) for c in written}


def of_type(intents: list[Intent], type_: type) -> list[Intent]:
    """The intents of one type, in order."""
    return [intent for intent in intents if isinstance(intent, type_)]
