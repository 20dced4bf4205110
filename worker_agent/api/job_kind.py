"""What the agent and the hub need to know of a job kind. A kind is mostly data: one file in ``worker_agent.jobs``.

Controllers, webhooks, remote copies, RBAC and the contract test all follow from a ``JobKind``; a kind states its
facts and overrides only what is special (spec/jobs sections 2 and 9).
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """What is injected into one pod set's template at start, and taken out at stop."""

    name: str
    count: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Document, ...] = ()
    scheduling_gates: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class JobPodSet:
    """One pod set as the job's document declares it; ``template`` is the PodTemplateSpec document."""

    name: str
    count: int
    template: Document
    min_count: int | None = None
    topology_request: Document | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """A job's end as its own status tells it."""

    success: bool
    message: str


class JobKind:
    """Base of every kind, with a default for everything that most kinds share.

    All methods are pure: they take a document and return a value or a new document (the argument stays untouched).
    """

    framework: ClassVar[str] = ""
    """Name in ``integrations.frameworks``, e.g. ``batch/job``."""
    resource: ClassVar[ResourceType]
    suspend_path: ClassVar[str] = "spec.suspend"
    managed_by_path: ClassVar[str] = "spec.managedBy"
    """Empty where the kind has no such field."""
    rank_label: ClassVar[str] = ""

    def is_suspended(self, job: Document) -> bool: ...  # type: ignore[empty-body]

    def suspend(self, job: Document) -> Document: ...  # type: ignore[empty-body]

    def pod_sets(self, job: Document, gates: Any) -> list[JobPodSet]: ...  # type: ignore[empty-body]

    def start(self, job: Document, infos: list[PodSetInfo]) -> Document: ...  # type: ignore[empty-body]

    def restore(self, job: Document, infos: list[PodSetInfo]) -> tuple[Document, bool]: ...  # type: ignore[empty-body]

    def finished(self, job: Document) -> Finish | None: ...

    def is_active(self, job: Document) -> bool: ...  # type: ignore[empty-body]

    def pods_ready(self, job: Document) -> bool: ...  # type: ignore[empty-body]
