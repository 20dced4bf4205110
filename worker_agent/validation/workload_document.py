"""What the rules of a Workload ask of its document more than once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from worker_agent.api.document import Document, get
from worker_agent.api.names import DEFAULT_POD_SET_NAME, ELASTIC_JOB_ANNOTATION, QUOTA_RESERVED
from worker_agent.validation.policy import ValidationPolicy


@dataclass(frozen=True)
class WorkloadDocument:
    """A Workload under validation, with its lists at hand; absent lists are empty."""

    document: Document
    policy: ValidationPolicy

    @cached_property
    def pod_sets(self) -> list[Document]:
        return get(self.document, "spec.podSets") or []

    @cached_property
    def counts(self) -> dict[str, int]:
        """Pods by name of the pod set."""
        return {pod_set_name(pod_set): pod_set.get("count") or 0 for pod_set in self.pod_sets}

    @cached_property
    def annotations(self) -> dict[str, Any]:
        return get(self.document, "metadata.annotations") or {}

    @cached_property
    def conditions(self) -> list[Document]:
        return get(self.document, "status.conditions") or []

    @cached_property
    def admission(self) -> Document | None:
        found: Document | None = get(self.document, "status.admission")
        return found

    @cached_property
    def assignments(self) -> list[Document]:
        return (self.admission or {}).get("podSetAssignments") or []

    @cached_property
    def reclaimable(self) -> dict[str, int]:
        """Pods that are done, by pod set."""
        entries = get(self.document, "status.reclaimablePods") or []
        return {entry.get("name", ""): entry.get("count") or 0 for entry in entries}

    @cached_property
    def checks(self) -> list[Document]:
        return get(self.document, "status.admissionChecks") or []

    @property
    def reserved(self) -> bool:
        return any(c.get("type") == QUOTA_RESERVED and c.get("status") == "True" for c in self.conditions)

    @property
    def elastic(self) -> bool:
        return self.policy.elastic_jobs and self.annotations.get(ELASTIC_JOB_ANNOTATION) == "true"


def pod_set_name(pod_set: Document) -> str:
    return pod_set.get("name") or DEFAULT_POD_SET_NAME
