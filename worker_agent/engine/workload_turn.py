"""What one turn of the Workload reconciler sees and what it wants done: the ground its steps stand on.

The steps live in ``workload_retention``, ``workload_activity``, ``workload_blockers``, ``queue_stops`` and
``workload_deadlines``; ``workload_lifecycle`` puts them in order.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from worker_agent.api import names
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import workload_status
from worker_agent.engine.devices.resolution import Refusal
from worker_agent.engine.intents import (
    WORKLOAD_CONTROLLER_MANAGER,
    DeleteObject,
    Intent,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    RequeueAfter,
    RetryWithError,
)
from worker_agent.engine.pods_ready import PodsReadyRules
from worker_agent.engine.reservation import Observability
from worker_agent.engine.workload_status import StatusDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleRules:
    """The configuration and gates that the Workload reconciler obeys; resolved once, where things are wired."""

    observability: Observability = field(default_factory=Observability)
    pods_ready: PodsReadyRules | None = None
    """None: waitForPodsReady is off."""
    retention_after_finished: float | None = None
    """Seconds; None keeps finished Workloads for ever."""
    finish_orphans: bool = True
    admission_gates: bool = True
    equivalence_hashing: bool = True
    orchestrated_preemption: bool = False
    concurrent_admission: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadView:
    """One Workload and the queues it stands in, as known at one moment. All facts, no decisions.

    ``cluster_queue`` is the LocalQueue's; where that is gone, the one of the Workload's own admission.
    """

    workload: Document
    local_queue: LocalQueue | None = None
    cluster_queue: ClusterQueue | None = None
    cluster_queue_known: bool = False
    """The engine's queues know the ClusterQueue."""
    cluster_queue_active: bool = False
    obstacle: str = ""
    """Why the LocalQueue or ClusterQueue may not take it (spec/engine 3.2); empty when nothing stands against it."""
    remembered_reason: str = ""
    """Reason of an equal Workload that failed recently (spec/engine 5.6)."""
    refusal: Refusal | None = None
    """Device claims that cannot be served (spec/engine 3.7)."""
    jitter: float = 0.0
    """Random in [0, 1), for back-off."""

    @property
    def queue_name(self) -> str:
        return str((self.workload.get("spec") or {}).get("queueName", ""))

    @property
    def cluster_queue_name(self) -> str:
        if self.local_queue is not None:
            return self.local_queue.spec.cluster_queue
        return str(((self.workload.get("status") or {}).get("admission") or {}).get("clusterQueue", ""))


@dataclass(slots=True)
class Turn:
    """One pass over the steps: the view, the rules, the draft of the status, and what else is to be done."""

    view: WorkloadView
    rules: LifecycleRules
    now: datetime
    draft: StatusDraft = field(init=False)
    before: list[Intent] = field(default_factory=list)
    after: list[Intent] = field(default_factory=list)
    requeue: float | None = None
    error: str = ""
    """Why the turn is to be repeated soon."""

    def __post_init__(self) -> None:
        self.draft = StatusDraft(self.view.workload, self.now)

    @property
    def key(self) -> Key:
        return self.draft.key

    @property
    def metadata(self) -> dict[str, Any]:
        return self.view.workload.get("metadata") or {}

    @property
    def active(self) -> bool:
        return self.draft.spec.get("active") is not False

    @property
    def deleting(self) -> bool:
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def reserved(self) -> bool:
        return self.draft.is_true(names.QUOTA_RESERVED)

    @property
    def admitted(self) -> bool:
        return self.draft.is_true(names.ADMITTED)

    @property
    def evicted(self) -> bool:
        return self.draft.is_true(names.EVICTED)

    @property
    def finished(self) -> bool:
        return self.draft.is_true(names.FINISHED)

    @property
    def pending(self) -> bool:
        return not (self.reserved or self.admitted or self.finished)

    def reason(self, fine: str, legacy: str) -> str:
        return self.rules.observability.reason(fine, legacy)

    def event(self, reason: str, message: str, type_: str = "Normal") -> None:
        uid = self.metadata.get("uid", "")
        self.after.append(
            RecordEvent(resource=WORKLOADS, key=self.key, reason=reason, message=message, type=type_, uid=uid)
        )

    def look_again(self, seconds: float) -> None:
        """Come back after so many seconds; the earliest wish counts."""
        self.requeue = seconds if self.requeue is None else min(self.requeue, seconds)

    def deactivate(self) -> None:
        document = self.view.workload
        spec = {**(document.get("spec") or {}), "active": False}
        self.before.append(
            PatchObject(
                resource=WORKLOADS,
                before=document,
                after={**document, "spec": spec},
                field_manager=WORKLOAD_CONTROLLER_MANAGER,
            )
        )

    def remove_finalizer(self) -> None:
        self.after.append(RemoveFinalizer(resource=WORKLOADS, key=self.key, finalizer=names.IN_USE_FINALIZER))

    def delete(self) -> None:
        self.after.append(DeleteObject(resource=WORKLOADS, key=self.key, uid=self.metadata.get("uid", "")))

    def age(self, condition: str) -> float:
        """Seconds since the condition last flipped."""
        return (self.now - workload_status.since(self.draft.document, condition)).total_seconds()

    def intents(self) -> list[Intent]:
        """The spec first: a crash in between then leaves a state from which the status follows again."""
        done = list(self.before)
        done.extend(self.draft.intents())
        done.extend(self.after)
        if self.requeue is not None:
            done.append(RequeueAfter(self.requeue))
        if self.error:
            done.append(RetryWithError(self.error))
        return done
