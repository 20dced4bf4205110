"""What the job lifecycle decides on: one job, the Workloads in question, and the surroundings that matter to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from worker_agent.api import companions, timestamps
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.pod import PriorityClass
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.api.workload_priority_class import WorkloadPriorityClass
from worker_agent.engine import intent_effects
from worker_agent.engine.intents import ApplyStatus, CreateObject, DeleteObject, Intent, PatchObject, RemoveFinalizer
from worker_agent.engine.job_ancestors import NO_ANCESTOR, Ancestry

WRITES = (CreateObject, PatchObject, ApplyStatus, DeleteObject, RemoveFinalizer)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """Everything one decision about one job reads; the shell fills it from its caches.

    ``job`` is None when it is gone. ``workloads`` are those in the job's namespace whose controller reference names
    this kind and this name (whatever the UID), in the order of their names. ``prebuilt`` is the Workload that
    ``job_kind.prebuilt_name`` names, if it exists. ``namespace_labels`` is None when the namespace is gone.
    ``ancestry`` is the result of ``job_ancestors.search`` (left empty for top-level kinds), ``ancestor_workloads`` are
    the Workloads controlled by ``ancestry.managed``. ``not_to_start`` is why the job must not be started now although
    its Workload is admitted; ``runs_elsewhere`` says that pods of it may run on another cluster, whatever its status
    tells; ``dispatched`` that they are to run there, so that those of a kind that is held here are never let go.
    ``ready_since`` is when its pods were first seen ready, where that was kept back.
    """

    kind: JobKind
    key: Key
    policy: JobPolicy
    job: Document | None
    workloads: tuple[Document, ...] = ()
    prebuilt: Document | None = None
    namespace_labels: Mapping[str, str] | None = None
    ancestry: Ancestry = NO_ANCESTOR
    ancestor_workloads: tuple[Document, ...] = ()
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict)
    workload_priority_classes: Mapping[str, WorkloadPriorityClass] = field(default_factory=dict)
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    not_to_start: str = ""
    runs_elsewhere: bool = False
    dispatched: bool = False
    awaiting_deletions: bool = False
    ready_since: datetime | None = None

    def after(self, intents: Iterable[Intent], now: datetime) -> "JobView":
        """The view as it will be once ``intents`` are done: to decide again before anything is written."""
        job, workloads = self.job, {_name(workload): workload for workload in self.workloads}
        prebuilt = self.prebuilt
        for intent in intents:
            if not isinstance(intent, WRITES):
                continue
            if intent.resource == self.kind.resource and job is not None and self.kind.composable:
                job = self.kind.member_changed(job, intent.key.name, partial(intent_effects.effect, intent, now=now))
            elif intent.resource == self.kind.resource and intent.key == self.key:
                job = intent_effects.effect(intent, job, now)
            elif intent.resource in self.kind.companion_resources and job is not None:
                job = _without_remains(job, intent, now)
            elif intent.resource == WORKLOADS:
                if prebuilt is not None and intent.key.name == _name(prebuilt):
                    prebuilt = intent_effects.effect(intent, prebuilt, now)
                changed = intent_effects.effect(intent, workloads.pop(intent.key.name, None), now)
                if changed is not None:
                    workloads[intent.key.name] = changed
        ordered = tuple(workloads[name] for name in sorted(workloads))
        return replace(self, job=job, workloads=ordered, prebuilt=prebuilt)


def _name(document: Document) -> str:
    return str(document["metadata"]["name"])


def _without_remains(job: Document, intent: Intent, now: datetime) -> Document:
    """The job once a companion is being deleted: it stays until its pods are gone."""
    companion = companions.of(job, intent.resource.kind) if isinstance(intent, DeleteObject) else None
    if companion is None:
        return job
    metadata = {**companion["metadata"], "deletionTimestamp": timestamps.rfc3339(now)}
    return companions.replaced(job, {**companion, "metadata": metadata})
