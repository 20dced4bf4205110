"""What the kinds of the training operators share: named replica roles under one field (spec/jobs 9.3, 9.4)."""

from typing import ClassVar

from worker_agent.api.document import Document, Path, at, get
from worker_agent.api.job_kind import JobKind, TemplateAt
from worker_agent.engine.workload_status import is_true


class ReplicaRolesJob(JobKind):
    """A kind says where its roles stand and in which order they count; absent and null roles are left out."""

    suspend_path = "spec.runPolicy.suspend"
    managed_by_path = "spec.runPolicy.managedBy"
    native_manager = "kubeflow.org/training-operator"
    success_condition = "Succeeded"
    rank_label = "training.kubeflow.org/replica-index"
    pod_counts = ("replicaStatuses",)
    pod_name_label = "training.kubeflow.org/job-name"
    update_repeats_create = False
    starts_at_creation = True

    replica_specs: ClassVar[str]
    """The field of the spec that holds the roles."""
    roles: ClassVar[tuple[str, ...]]
    """The roles in the order of their pod sets."""

    def pod_labels(self, job: Document) -> dict[str, str]:
        """Jobs of two kinds may have one name: the operator is named besides."""
        operator = "mpi-operator" if self.resource.version == "v2beta1" else f"{self.resource.kind.lower()}-controller"
        return {**super().pod_labels(job), "training.kubeflow.org/operator-name": operator}

    def role_path(self, role: str) -> Path:
        return ("spec", self.replica_specs, role)

    def templates(self, job: Document) -> list[TemplateAt]:
        present = [(role, at(job, self.role_path(role))) for role in self.roles]
        return [self._template(role, get(spec, "replicas", 1)) for role, spec in present if spec is not None]

    def _template(self, role: str, replicas: int) -> TemplateAt:
        field = f"spec.{self.replica_specs}[{role}].template.metadata.annotations"
        return TemplateAt(role, (*self.role_path(role), "template"), replicas, annotations_field=field)

    def priority_class(self, job: Document) -> str | None:
        """The scheduling policy's class before those of the templates; none at all is "no class"."""
        named = [get(job, "spec.runPolicy.schedulingPolicy.priorityClass", "")]
        named += [at(job, (*spot.path, "spec", "priorityClassName"), "") for spot in self.templates(job)]
        return next((str(name) for name in named if name), "")

    def is_active(self, job: Document) -> bool:
        statuses = get(job, "status.replicaStatuses", {})
        return any(get(status, "active", 0) for status in statuses.values())

    def idle_status(self, job: Document) -> Document:
        status = super().idle_status(job)
        ended = [each for each in status.get("conditions") or () if each.get("type") != "Running"]
        return {**status, "conditions": ended} if "conditions" in status else status

    def pods_ready(self, job: Document) -> bool:
        return is_true(job, "Running")
