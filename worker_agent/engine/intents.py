"""Intents: what a decision wants done, as values. Every ``decide(view, now)`` returns a list of these.

The shell's one Applier executes them in order (``worker_agent.controllers``); ``intent_effects`` says, purely, what
each does to an object, so that a decision can be repeated on its own outcome before anything is written, and so that
tests need no server. Several intents on one object fold into one write per field manager.

``cluster`` names the MultiKueueCluster whose API server the write goes to; empty is the cluster the program runs on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import ResourceType

# Field managers. Those that Kueue has carry Kueue's names, so that objects can change hands in both directions.
ADMISSION_MANAGER: Final = "kueue-admission"
RECLAIMABLE_PODS_MANAGER: Final = "kueue-reclaimable-pods"
JOB_CONTROLLER_MANAGER: Final = "kueue-job-controller"
WORKLOAD_CONTROLLER_MANAGER: Final = "kueue-workload-controller"
MULTIKUEUE_MANAGER: Final = "kueue.x-k8s.io/multikueue"


def condition_manager(prefix: str, condition: str) -> str:
    """The manager of one condition that is not part of the admission status, e.g. ``kueue-job-controller-Finished``."""
    return f"{prefix}-{condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateObject:
    """Create ``document``; that it exists already is an error unless ``may_exist``."""

    resource: ResourceType
    document: Document
    field_manager: str = JOB_CONTROLLER_MANAGER
    may_exist: bool = False
    cluster: str = ""

    @property
    def key(self) -> Key:
        metadata = self.document["metadata"]
        return Key(metadata.get("namespace", ""), metadata.get("name", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchObject:
    """Turn ``before`` into ``after`` by a merge patch holding only what differs; nothing is sent when nothing does.

    ``strict`` adds the resourceVersion of ``before``: somebody else's write in between is then a Conflict, which the
    controller retries quietly. ``subresource`` is ``""`` or ``"status"`` (the other half of the documents is ignored).
    """

    resource: ResourceType
    before: Document
    after: Document
    field_manager: str = JOB_CONTROLLER_MANAGER
    subresource: str = ""
    strict: bool = True
    cluster: str = ""

    @property
    def key(self) -> Key:
        metadata = self.before["metadata"]
        return Key(metadata.get("namespace", ""), metadata.get("name", ""))


class SetCondition(NamedTuple):
    """One condition as it shall be. lastTransitionTime is set by ``intent_effects``: it moves when the status flips."""

    type: str
    status: str
    reason: str
    message: str = ""
    follows: bool = False
    """observedGeneration keeps up with the object even where nothing else changes: ``kubectl wait`` looks at it."""
    since: datetime | None = None
    """When the status flipped, where that was some time before the write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyStatus:
    """Change status by server-side apply under ``field_manager``: conditions set or removed, fields set or removed.

    ``fields`` maps names of status fields (``admission``, ``requeueState``, ...) to their whole new value as JSON; None
    removes the field. ``entries`` merges single entries, by ``name``, into a list such as ``admissionChecks``.
    Changes to one object under one manager are folded into one apply. ``strict`` sends the resourceVersion the decision
    was made on: without it an apply of the shared admission status, made from an older view, would take back what
    another controller wrote in between.
    """

    resource: ResourceType
    key: Key
    field_manager: str = ADMISSION_MANAGER
    conditions: tuple[SetCondition, ...] = ()
    removed_conditions: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    entries: Mapping[str, tuple[Document, ...]] = field(default_factory=dict)
    strict: bool = True
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteObject:
    """Delete an object; that it is gone already is fine. ``uid`` protects a namesake that came after it.

    ``grace_seconds`` shortens a pod's grace; 0 removes it without waiting for its kubelet.
    """

    resource: ResourceType
    key: Key
    uid: str = ""
    propagation: str = "Background"
    grace_seconds: int | None = None
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFinalizer:
    """Take one finalizer off an object; nothing is sent when it is not there."""

    resource: ResourceType
    key: Key
    finalizer: str
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEvent:
    """An Event about the object ``resource``/``key``; messages are cut to 1024 bytes. Never fails a decision."""

    resource: ResourceType
    key: Key
    reason: str
    message: str
    type: str = "Normal"
    uid: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Look at the same key again after so many seconds, whatever happens until then."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RetryWithError:
    """The decision could not be completed: report ``message`` and try again with back-off. Always the last intent."""

    message: str


Write = CreateObject | PatchObject | ApplyStatus | DeleteObject | RemoveFinalizer
Intent = Write | RecordEvent | RequeueAfter | RetryWithError
