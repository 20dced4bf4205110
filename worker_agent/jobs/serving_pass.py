"""Decisions about serving sets in progress: the objects they look at, and the intents so far (spec/jobs 9.12, 9.13)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from worker_agent.api import names
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import LABEL_VALUE_LIMIT, queue_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.pod import PriorityClass
from worker_agent.api.resource_type import PODS, WORKLOADS
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine import job_workload, reservation, workload_status
from worker_agent.engine.intents import (
    CreateObject,
    DeleteObject,
    Intent,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    RetryWithError,
)
from worker_agent.engine.job_workload import PriorityClasses, PriorityMissing
from worker_agent.jobs import pod_facts
from worker_agent.jobs.serving import ServingKind

REVISION_LABEL = "controller-revision-hash"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingView:
    """One serving set with its Workloads, its pods, and (for LeaderWorkerSets) the StatefulSets between them.

    ``job`` is None when it is gone; ``workloads`` are those of the namespace that may be its own, by name.
    """

    kind: ServingKind
    key: Key
    policy: JobPolicy
    job: Document | None
    workloads: Mapping[str, Document] = field(default_factory=dict)
    pods: tuple[Document, ...] = ()
    sets: tuple[Document, ...] = ()
    workload_priority_classes: Mapping[str, WorkloadPriorityClass] = field(default_factory=dict)
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)


class ServingPass:
    """Collects what is to be done; pods and Workloads are written at most once each."""

    def __init__(self, view: ServingView, now: datetime) -> None:
        self.view = view
        self.now = now
        self.intents: list[Intent] = []
        self.how = reservation.Observability(fine=view.policy.observability, explicit=view.policy.explicit_status)

    @property
    def job(self) -> Document:
        if self.view.job is None:
            raise LookupError(f"{self.view.kind.resource.kind} {self.view.key} is gone")
        return self.view.job

    @property
    def wants_workloads(self) -> bool:
        """Queued, and not a copy whose Workloads come from the manager."""
        labels = at(self.job, ("metadata", "labels"), {})
        queued = bool(queue_name(self.job)) or self.view.policy.manage_without_queue_name
        return queued and names.MULTIKUEUE_ORIGIN_LABEL not in labels

    @property
    def classes(self) -> PriorityClasses:
        return PriorityClasses(self.view.workload_priority_classes, self.view.priority_classes)

    def event(self, reason: str, message: str, type_: str = "Normal") -> None:
        resource, uid = self.view.kind.resource, self.job["metadata"].get("uid", "")
        self.intents.append(
            RecordEvent(resource=resource, key=self.view.key, reason=reason, message=message, type=type_, uid=uid)
        )

    def fail(self, message: str) -> None:
        self.intents.append(RetryWithError(message))

    def patch_pod(self, pod: Document, after: Document) -> None:
        if after != pod:
            self.intents.append(PatchObject(resource=PODS, before=pod, after=after))

    def patch_workload(self, workload: Document, after: Document) -> None:
        if after != workload:
            self.intents.append(PatchObject(resource=WORKLOADS, before=workload, after=after))

    def delete_workload(self, workload: Document) -> None:
        key, uid = workload_status.key_of(workload), workload["metadata"].get("uid", "")
        self.intents.append(RemoveFinalizer(resource=WORKLOADS, key=key, finalizer=names.IN_USE_FINALIZER))
        self.intents.append(DeleteObject(resource=WORKLOADS, key=key, uid=uid))

    def create_workload(self, name: str, pod_sets: list[Document], extra: Mapping[str, str]) -> None:
        """A Workload of the set, with the marks by which others find it. Raises PriorityMissing."""
        job, policy = self.job, self.view.policy
        priority = job_workload.resolve_priority(self.view.kind, job, pod_sets, self.classes)
        spec: Document = {"podSets": pod_sets}
        if queue_name(job):
            spec["queueName"] = queue_name(job)
        annotations = {**job_workload.annotations_of(job, policy), **self.owner_marks()}
        metadata: Document = {
            "name": name,
            "namespace": self.view.key.namespace,
            "labels": job_workload.job_uid_label(job),
            "annotations": {**annotations, names.IS_GROUP_WORKLOAD_ANNOTATION: "true", **extra},
            "finalizers": [names.IN_USE_FINALIZER],
            "ownerReferences": [self.owner_reference()],
        }
        document = {
            "apiVersion": WORKLOADS.api_version,
            "kind": WORKLOADS.kind,
            "metadata": metadata,
            "spec": job_workload.with_priority(spec, priority),
        }
        self.intents.append(CreateObject(resource=WORKLOADS, document=document))
        self.event("CreatedWorkload", f"Created Workload: {self.view.key.namespace}/{name}")

    def owner_marks(self) -> dict[str, str]:
        resource = self.view.kind.resource
        return {
            names.JOB_OWNER_GVK_ANNOTATION: f"{resource.api_version}, Kind={resource.kind}",
            names.JOB_OWNER_NAME_ANNOTATION: self.view.key.name,
        }

    def owner_reference(self) -> Document:
        """A plain owner: the set does not control its Workloads, its pods are queued as groups."""
        resource = self.view.kind.resource
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": self.view.key.name,
            "uid": self.job["metadata"].get("uid", ""),
        }

    def with_gates(self, workload: Document) -> Document:
        """The Workload with the set's admission gates; an event tells of a change."""
        if not self.view.policy.admission_gated_by:
            return workload
        path = ("metadata", "annotations", names.ADMISSION_GATED_BY_ANNOTATION)
        wanted = at(self.job, path)
        if wanted == at(workload, path):
            return workload
        self.event("UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{wanted or ""}"')
        document: Document = put(workload, path, wanted)
        return document

    def priority_missing(self, missing: PriorityMissing) -> None:
        if missing.workload_class:
            told = f'WorkloadPriorityClass "{missing.workload_class}" not found'
            self.event("WorkloadPriorityClassNotFound", told, "Warning")


def without_moves_of_what_runs(intents: Iterable[Intent]) -> list[Intent]:
    """The queue of a pod that was let go, and of a Workload with quota, is immutable: writing it would be refused each
    time, and with it what else is to be done for the set. It follows once the pod or the quota is gone."""
    kept = (_unmoved(intent) if isinstance(intent, PatchObject) else intent for intent in intents)
    return [intent for intent in kept if not isinstance(intent, PatchObject) or intent.after != intent.before]


def _unmoved(intent: PatchObject) -> PatchObject:
    before = intent.before
    if intent.resource == PODS and not pod_facts.is_gated(before):
        path: tuple[str, ...] = ("metadata", "labels", names.QUEUE_NAME_LABEL)
    elif intent.resource == WORKLOADS and reservation.has_quota(before):
        path = ("spec", "queueName")
    else:
        return intent
    named = at(before, path)
    return intent if named is None else replace(intent, after=put(intent.after, path, named))


def ungated(pod: Document) -> Document:
    """The pod without what holds it: it gets out of the way of a rollout, or nobody is left to admit it."""
    return pod_facts.without_gate(pod_facts.without_gate(pod, pod_facts.GATE), pod_facts.TOPOLOGY_GATE)


def is_outdated(pod: Document, stateful_set: Document) -> bool:
    """A pod of the revision that a rollout replaces."""
    status = stateful_set.get("status") or {}
    current, update = status.get("currentRevision", ""), status.get("updateRevision", "")
    return bool(current and current != update and pod_facts.label(pod, REVISION_LABEL) == current)


def with_queue(pod: Document, queue: str) -> Document:
    if not queue or pod_facts.label(pod, names.QUEUE_NAME_LABEL) == queue:
        return pod
    document: Document = put(pod, ("metadata", "labels", names.QUEUE_NAME_LABEL), queue)
    return document


def with_group(pod: Document, group: str, policy: JobPolicy) -> Document:
    """The pod with its group, which is the name of its Workload too."""
    long = len(group) > LABEL_VALUE_LIMIT
    for name in (names.POD_GROUP_NAME_LABEL, names.PREBUILT_WORKLOAD):
        annotated = policy.identifier_annotations or (long and name == names.PREBUILT_WORKLOAD)
        pod = put(pod, ("metadata", "annotations" if annotated else "labels", name), group)
    return pod
