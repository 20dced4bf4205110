"""What the agent and the hub need to know of a job kind. A kind is mostly data: one file in ``worker_agent.jobs``.

Controllers, webhooks, remote copies, RBAC and the contract test all follow from a ``JobKind``; a kind states its facts
and overrides only what is special (spec/jobs sections 2 and 9, spec/multikueue section 10).
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from worker_agent.api import names, pod_set_info, timestamps, topology_request, workload_name
from worker_agent.api.companions import Companion
from worker_agent.api.document import Document, at, put
from worker_agent.api.document import get as value_at
from worker_agent.api.job_facts import (
    NO_CAUSE,
    Cause,
    Finish,
    JobPodSet,
    NotYetStartable,
    Remains,
    StatusBack,
    Stop,
    StopStep,
    TemplateAt,
)
from worker_agent.api.job_marks import LABEL_VALUE_LIMIT, prebuilt_name, queue_name, with_prebuilt, without_labels
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.resource_type import ResourceType
from worker_agent.api.topology_request import PodIndex

__all__ = [
    "LABEL_VALUE_LIMIT",
    "NO_CAUSE",
    "Cause",
    "Finish",
    "JobKind",
    "JobPodSet",
    "NotYetStartable",
    "Remains",
    "StatusBack",
    "Stop",
    "StopStep",
    "TemplateAt",
    "prebuilt_name",
    "queue_name",
    "with_prebuilt",
    "without_labels",
]


class JobKind:
    """Base of every kind, with a default for everything that most kinds share.

    All methods are pure: they take a document and return a value or a new document (the argument stays untouched).
    """

    framework: ClassVar[str] = ""
    """Name in ``integrations.frameworks``, e.g. ``batch/job``, by which agents tell that they run the kind; empty where
    another program makes its Workloads: of such a kind a worker's API server tells, by serving it or not."""
    resource: ClassVar[ResourceType]
    suspend_path: ClassVar[str] = "spec.suspend"
    managed_by_path: ClassVar[str] = "spec.managedBy"
    """Empty where the kind has no such field."""
    managed_by_optional: ClassVar[bool] = False
    """Kubernetes releases that we serve may lack the field; then the job stays suspended while it runs elsewhere."""
    native_manager: ClassVar[str] = ""
    """The value of managedBy that stands for the kind's own controller; MultiKueue's default replaces it."""
    success_condition: ClassVar[str] = "Complete"
    failure_condition: ClassVar[str] = "Failed"
    rank_label: ClassVar[str] = ""
    """Label of a pod's index within its pod set; ranks of topology-aware placement follow it."""
    pod_name_label: ClassVar[str] = ""
    """Label that bears the job's name on its pods; empty where there is none."""
    template_labels: ClassVar[tuple[str, ...]] = ()
    """Labels that the kind's own controller puts on the template: kept by a restore."""
    private_template_labels: ClassVar[tuple[str, ...]] = ()
    """Those of them that belong to this one object: left out of Workloads and of remote copies."""
    top_level: ClassVar[bool] = False
    """Never looks for a managed ancestor (Pod)."""
    pod_sets_by_spec: ClassVar[bool] = False
    """The pod sets follow from spec, labels and annotations alone, whatever the status says."""
    composable: ClassVar[bool] = False
    """Made of several objects (pod groups)."""
    prebuilt_allowed: ClassVar[bool] = True
    elastic_allowed: ClassVar[bool] = False
    gates_elastic_pods: ClassVar[bool] = True
    """The create webhook puts the gate of elastic jobs on the templates."""
    pod_counts: ClassVar[tuple[str, ...]] = ("active", "ready")
    """Fields of the status that speak of pods that run now."""
    priority_class_paths: ClassVar[tuple[str, ...]] = ()
    """Where the kind names a pod priority class itself: the first non-empty one counts, none at all is "no class"."""

    update_repeats_create: ClassVar[bool] = True
    """The webhook checks every create rule on an update too."""
    counts_checked_last: ClassVar[bool] = False
    """Slice sizes are compared with the pod count only where the topology annotations passed every other rule."""
    unreadable_templates_checked: ClassVar[int | None] = None
    """How many templates' annotations are still checked one by one where the pod sets cannot be told; None: all."""
    topology_hint: ClassVar[str] = ""
    """Added to every message about topology annotations: where they are to be changed."""
    topology_groups: ClassVar[bool] = False
    """Pod sets may form a leader and worker group."""

    serving: ClassVar[bool] = False
    """Its pods are queued, it is not itself suspended; webhooks look at every write."""
    reconciled: ClassVar[bool] = True
    """Has Workloads of its own."""
    forwards_changes: ClassVar[bool] = False
    """Some of what its user changes while it runs elsewhere is carried there: ``remote_patch`` says what."""
    held_elsewhere: ClassVar[bool] = False
    """Its pods stay held here while it runs on another cluster, so that it needs no managedBy to be sent there."""
    tells_its_end: ClassVar[bool] = True
    """Its own status says that it ended; else only the Workload does, and nothing of it is on the way home."""
    points_at_workload: ClassVar[bool] = True
    """Its remote copy names the Workload to adopt; else the worker finds it by the name it would give."""
    starts_at_creation: ClassVar[bool] = False
    """May run from the moment it is made, where its Workload is admitted by then: one object, started in one step."""
    companion_resources: ClassVar[tuple[ResourceType, ...]] = ()
    """The kinds of objects that the pod sets, or what is told of the pods, follow from beside the job."""

    # Pod sets

    def companions(self, job: Document) -> Sequence[Companion]:
        """Which objects those are for this job; ``api.companions`` joins them to its document."""
        return ()

    def templates(self, job: Document) -> list[TemplateAt]:
        """The pod sets in order, with the place of each template."""
        raise TypeError(f"{type(self).__name__} declares no pod templates")

    def pod_sets(self, job: Document, policy: JobPolicy) -> list[JobPodSet]:
        """The pod sets of the job as written. Raises TopologyRequestError where annotations cannot be read."""
        return [self._pod_set(job, spot, policy) for spot in self.templates(job)]

    def pod_template(self, job: Document, spot: TemplateAt) -> Document:
        """The template as pods will be made of it, with what the kind's own controller adds to take up room."""
        template: Document = at(job, spot.path, {}) if spot.rendered is None else spot.rendered
        return template

    def _pod_set(self, job: Document, spot: TemplateAt, policy: JobPolicy) -> JobPodSet:
        template = without_labels(self.pod_template(job, spot), self.private_template_labels)
        request = topology_request.derive(template, spot.index or PodIndex(self.rank_label), policy)
        return JobPodSet(spot.name.lower(), spot.count, template, spot.min_count, request)

    def reclaimable_pods(self, job: Document) -> dict[str, int]:
        """Per pod set, how many of its pods will never need their resources again."""
        return {}

    def priority_class(self, job: Document) -> str | None:
        """The pod priority class the kind itself names; None for kinds that leave it to the pod templates."""
        if not self.priority_class_paths:
            return None
        named = (value_at(job, path, "") for path in self.priority_class_paths)
        return next((str(name) for name in named if name), "")

    def pod_labels(self, job: Document) -> dict[str, str]:
        """Labels that its pods bear and no others; empty where that is not known."""
        return {self.pod_name_label: job["metadata"]["name"]} if self.pod_name_label else {}

    # Suspension

    def is_suspended(self, job: Document) -> bool:
        return bool(value_at(job, self.suspend_path, False))

    def suspend(self, job: Document) -> Document:
        return self._with_suspend(job, True)

    def _with_suspend(self, job: Document, suspended: bool) -> Document:
        document: Document = put(job, tuple(self.suspend_path.split(".")), suspended)
        return document

    def start(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> Document:
        """The job unsuspended, with each pod set's info in its template. Raises InvalidPodSetInfo."""
        spots = self.templates(job)
        infos = list(infos)
        pod_set_info.expect_count(len(spots), infos)
        started = self.resized(self._with_suspend(job, False), infos)
        for spot, info in zip(spots, infos, strict=True):
            template = at(job, spot.path) or self.pod_template(job, spot)
            template = pod_set_info.inject(template, info, elastic=policy.elastic_jobs)
            started = put(started, spot.path, template)
        return started

    def start_steps(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> tuple[Document, ...]:
        """The job after each write of its start, in order. Raises InvalidPodSetInfo, NotYetStartable."""
        return (self.start(job, infos, policy),)

    def restore(self, job: Document, infos: Sequence[PodSetInfo]) -> tuple[Document, bool]:
        """The job's templates as ``infos`` remember them, and whether anything differed.

        With another number of pod sets nothing is changed: the infos belong to another form of the job.
        """
        spots = self.templates(job)
        if len(spots) != len(infos):
            return job, False
        restored = self.resized(job, infos)
        for spot, info in zip(spots, infos, strict=True):
            template = at(job, spot.path)
            if template is None:
                continue
            restored = put(restored, spot.path, pod_set_info.restore(template, self._kept(template, info)))
        return (restored, True) if restored != job else (job, False)

    def _kept(self, template: Document, info: PodSetInfo) -> PodSetInfo:
        labels = at(template, ("metadata", "labels"), {})
        kept = {name: labels[name] for name in self.template_labels if name in labels}
        return PodSetInfo(
            info.name,
            info.count,
            {**info.labels, **kept},
            info.annotations,
            info.node_selector,
            info.tolerations,
            info.scheduling_gates,
        )

    def resized(self, job: Document, infos: Sequence[PodSetInfo]) -> Document:
        """The job with the granted (or original) counts; kinds without partial admission keep their own."""
        return job

    def stop(self, job: Document, infos: Sequence[PodSetInfo] | None, cause: Cause = NO_CAUSE) -> Stop:
        """Suspend and restore. ``infos`` is None where no Workload says what the templates were."""
        if self.is_suspended(job):
            return Stop((), False)
        stopped = self.suspend(job)
        if infos is not None:
            stopped, _ = self.restore(stopped, infos)
        return Stop((StopStep(stopped),), True)

    def remains(self, job: Document) -> Sequence[Remains]:
        """What is to be deleted before a held job may start again, and before its quota is free."""
        return ()

    # What the job's own status says

    def finished(self, job: Document) -> Finish | None:
        for condition in value_at(job, "status.conditions", []):
            type_, status = condition.get("type"), condition.get("status")
            if status == "True" and type_ in (self.success_condition, self.failure_condition):
                return Finish(type_ == self.success_condition, condition.get("message", ""))
        return None

    def is_active(self, job: Document) -> bool:
        """Whether pods of the job may still run."""
        return bool(value_at(job, "status.active", 0))

    def active_seconds(self, job: Document, policy: JobPolicy, now: datetime) -> float:
        """How long pods of the job may still hold quota: 0 is no longer, infinity until the job itself says so."""
        return math.inf if self.is_active(job) else 0.0

    def pods_ready(self, job: Document) -> bool:
        """Whether every pod is ready or has succeeded."""
        return False

    # Rarely special

    def own_defaults(self, job: Document, policy: JobPolicy) -> Document:
        """What the create webhook fills in for this kind alone, whether the job is queued or not."""
        return job

    def belongs_elsewhere(self, job: Document) -> bool:
        """Made and marked by another integration: no webhook of this kind touches it."""
        return False

    def skips(self, job: Document, policy: JobPolicy) -> bool:
        """Not for us at all: looked at before anything else."""
        return False

    def on_hold(self, job: Document) -> bool:
        """Wants no quota for now, yet keeps its Workload."""
        return False

    def annotated(self, job: Document) -> Document:
        """The job with what we note on it of objects beside it."""
        return job

    def workload_active(self, job: Document) -> bool | None:
        """What the Workload's ``spec.active`` shall be; None leaves it to its user."""
        return None

    def workload_conditions(self, job: Document, workload: Document) -> list[Document]:
        """Conditions of the kind's own on its Workload: type, status, reason and message."""
        return []

    def member_changed(
        self, job: Document, name: str, change: Callable[[Document], Document | None]
    ) -> Document | None:
        """A composed job after a change of one of its objects; None once no object is left."""
        raise TypeError(f"{type(self).__name__} is not composed of several objects")

    def finalize(self, job: Document) -> Document:
        """The job without what kept it from being deleted."""
        return job

    def is_elastic(self, job: Document, policy: JobPolicy) -> bool:
        """May grow and shrink while it runs, each size being a workload slice."""
        annotation = value_at(job, "metadata.annotations", {}).get(names.ELASTIC_JOB_ANNOTATION)
        return self.elastic_allowed and policy.elastic_jobs and annotation == "true"

    def name_suffix(self, job: Document, policy: JobPolicy) -> str:
        """Part of the hash in the Workload's name, for kinds with one Workload per size."""
        return str(value_at(job, "metadata.generation", 0)) if self.is_elastic(job, policy) else ""

    def workload_name(self, job: Document, policy: JobPolicy) -> str:
        """The name of the Workload made for the job as it is now."""
        metadata, resource = job["metadata"], self.resource
        extra, short = self.name_suffix(job, policy), policy.short_workload_names
        name, uid = metadata["name"], metadata.get("uid", "")
        return workload_name.name_of(resource.kind, resource.group, name, uid, extra=extra, short=short)

    # MultiKueue

    @property
    def is_dispatched(self) -> bool:
        """Whether jobs of this kind can run on another cluster: none of them may run here as well."""
        return bool(self.managed_by_path) or self.held_elsewhere

    def members(self, job: Document) -> list[Document]:
        """The objects that a job consists of on the API server: itself, unless it is composed of several."""
        return [job]

    @property
    def of_member(self) -> "JobKind":
        """The kind that reads one of those objects."""
        return self

    def is_sent(self, member: Document) -> bool:
        """Whether an object that the worker does not have is to be made there."""
        return True

    def workload_count(self, job: Document) -> int:
        """How many Workloads the job has; all of them go to one cluster."""
        return 1

    def managed_by(self, job: Document) -> str:
        return str(value_at(job, self.managed_by_path, "")) if self.managed_by_path else ""

    def with_managed_by(self, job: Document, manager: str) -> Document:
        document: Document = put(job, tuple(self.managed_by_path.split(".")), manager or None)
        return document

    def remote_copy(self, job: Document, workload: str, origin: str, policy: JobPolicy) -> Document:
        """The job as a worker gets it: no owner, no finalizer, no managedBy; with origin and the Workload to adopt.

        What kubectl remembers of the manager's object stays there too: it says nothing of the copy.
        """
        metadata = job["metadata"]
        copied: Document = {"name": metadata["name"], "namespace": metadata.get("namespace", "")}
        copied["labels"] = {**(metadata.get("labels") or {}), names.MULTIKUEUE_ORIGIN_LABEL: origin}
        annotations = metadata.get("annotations") or {}
        if carried := {name: text for name, text in annotations.items() if name != names.LAST_APPLIED_ANNOTATION}:
            copied["annotations"] = carried
        copy: Document = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": copied,
            "spec": job.get("spec") or {},
        }
        if self.points_at_workload:
            copy = with_prebuilt(copy, workload, policy)
        return self.with_managed_by(copy, "") if self.managed_by_path else copy

    def remote_patch(self, local: Document, remote: Document, workload: str, policy: JobPolicy) -> Document:
        """The remote job with what follows the local one after admission; itself when nothing differs."""
        return remote

    def idle_status(self, job: Document) -> Document:
        """The job's status without pods: what is left to say once the cluster that ran it is lost."""
        return {name: value for name, value in (job.get("status") or {}).items() if name not in self.pod_counts}

    def ended(self, job: Document, end: Finish, now: datetime) -> Document:
        """The job with a status that tells of this end, for one that nobody else tells of it any more.

        A kind whose end does not read as a condition says here how it does; otherwise ``finished`` is not convinced.
        """
        return self._with_end(job, self.success_condition if end.success else self.failure_condition, end, now)

    def _with_end(self, job: Document, condition: str, end: Finish, now: datetime) -> Document:
        status = self.idle_status(job)
        told = {
            "type": condition,
            "status": "True",
            "reason": names.SUCCEEDED if end.success else names.FAILED,
            "message": end.message,
            "lastTransitionTime": timestamps.rfc3339(now),
        }
        kept = [each for each in status.get("conditions") or () if each.get("type") != condition]
        return {**job, "status": {**status, "conditions": [*kept, told]}}

    def without_interim(self, job: Document) -> Document:
        """The job without conditions of its status that only precede others: older API servers may not know them."""
        return job

    def status_back(self, local: Document, remote: Document, now: datetime) -> StatusBack:
        """Copy the remote status to the local job."""
        status = remote.get("status") or {}
        return StatusBack(None if status == (local.get("status") or {}) else status)
