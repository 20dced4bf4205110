"""A Job and its pods, sorted once for the decision: who is active, who ended, what is counted already."""

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from hub.local.simulation import completion_indexes, job_pods
from worker_agent.api import document as documents
from worker_agent.api.document import Document
from worker_agent.api.timestamps import parse

JOB_CONTROLLER = "kubernetes.io/job-controller"
UNLIMITED = 2**31 - 1


@dataclass(slots=True)
class Tally:
    """What the status has counted: finished pods whose finalizer is still on wait in ``uncounted_*`` (UIDs)."""

    succeeded: int = 0
    failed: int = 0
    completed_indexes: set[int] = field(default_factory=set)
    failed_indexes: set[int] = field(default_factory=set)
    uncounted_succeeded: list[str] = field(default_factory=list)
    uncounted_failed: list[str] = field(default_factory=list)


class JobState:
    """``released`` holds UIDs of pods whose finalizer we took off, though the pods at hand may not show it yet."""

    def __init__(self, job: Document, pods: Iterable[Document], released: Set[str] = frozenset()) -> None:
        self.job = job
        self.spec: Document = job["spec"]
        self.status: Document = job.get("status") or {}
        self._released = released
        mine = job["metadata"]["uid"]
        self.pods = sorted(
            (pod for pod in pods if job_pods.owner_uid(pod) == mine),
            key=lambda pod: (pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]),
        )

    def is_tracked(self, pod: Document) -> bool:
        return job_pods.is_tracked(pod) and job_pods.uid(pod) not in self._released

    @property
    def is_indexed(self) -> bool:
        return self.spec.get("completionMode") == "Indexed"

    @property
    def is_suspended(self) -> bool:
        return bool(self.spec.get("suspend"))

    @property
    def is_deleting(self) -> bool:
        return bool(self.job["metadata"].get("deletionTimestamp"))

    @property
    def is_ours(self) -> bool:
        """Whether the built-in controller is responsible: ``spec.managedBy`` absent or naming it."""
        return self.spec.get("managedBy") in (None, JOB_CONTROLLER)

    @property
    def parallelism(self) -> int:
        return int(documents.get(self.spec, "parallelism", 1))

    @property
    def completions(self) -> int | None:
        value = self.spec.get("completions")
        return None if value is None else int(value)

    @property
    def backoff_limit(self) -> int:
        default = 6 if self.limit_per_index is None else UNLIMITED
        return int(documents.get(self.spec, "backoffLimit", default))

    @property
    def limit_per_index(self) -> int | None:
        value = self.spec.get("backoffLimitPerIndex")
        return None if value is None else int(value)

    @property
    def replaces_only_failed(self) -> bool:
        return self.spec.get("podReplacementPolicy") == "Failed"

    @property
    def start_time(self) -> datetime | None:
        text = self.status.get("startTime")
        return parse(text) if text else None

    def condition(self, type: str) -> Document | None:
        """The condition of that type if its status is True."""
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == type and condition.get("status") == "True":
                return dict(condition)
        return None

    @property
    def finished(self) -> Document | None:
        return self.condition("Complete") or self.condition("Failed")

    @cached_property
    def active(self) -> list[Document]:
        """Pods that run or will, tracked ones only; the others are ``strays``."""
        return [pod for pod in self.pods if job_pods.is_active(pod) and self.is_tracked(pod)]

    @cached_property
    def strays(self) -> list[Document]:
        """Active pods without our finalizer: we were about to delete them."""
        return [pod for pod in self.pods if job_pods.is_active(pod) and not self.is_tracked(pod)]

    @cached_property
    def terminating(self) -> list[Document]:
        return [pod for pod in self.pods if job_pods.is_deleting(pod) and not job_pods.is_finished(pod)]

    def has_failed(self, pod: Document) -> bool:
        """Pods that were deleted from outside count as failed too, else a lost pod would never be missed."""
        if job_pods.phase(pod) == "Failed":
            return True
        deleted = job_pods.is_deleting(pod) and job_pods.phase(pod) != "Succeeded"
        return deleted and not self.replaces_only_failed

    def counts(self, pod: Document) -> bool:
        """Whether the pod's index is one that is asked for (always, for a Job without indexes)."""
        if not self.is_indexed:
            return True
        index = job_pods.index(pod)
        return index is not None and index < (self.completions or 0)

    def tally(self) -> Tally:
        """What the status says now."""
        uncounted: dict[str, Any] = self.status.get("uncountedTerminatedPods") or {}
        completions = self.completions or 0
        return Tally(
            int(self.status.get("succeeded") or 0),
            int(self.status.get("failed") or 0),
            completion_indexes.parse(self.status.get("completedIndexes") or "", completions),
            completion_indexes.parse(self.status.get("failedIndexes") or "", completions),
            list(uncounted.get("succeeded") or ()),
            list(uncounted.get("failed") or ()),
        )
