"""One decision about a job in progress: the documents as they are by now, and the intents so far.

Every step writes through the pass, so that the steps after it see what it did.
"""

from collections.abc import Sequence
from datetime import datetime

from worker_agent.api import frameworks, names, timestamps
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import Cause
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import intent_effects, job_pod_sets, workload_status
from worker_agent.engine.intents import (
    JOB_CONTROLLER_MANAGER,
    ApplyStatus,
    DeleteObject,
    Intent,
    PatchObject,
    RecordEvent,
    RemoveFinalizer,
    RequeueAfter,
    RetryWithError,
    SetCondition,
    Write,
    condition_manager,
)
from worker_agent.engine.job_view import JobView


class JobPass:
    """``job`` and the Workloads change as intents are added; ``workload`` is the one that proved to be the job's.

    A job that an intent makes go (a pod that nothing holds back) stays as it was last; ``gone`` says so.
    """

    __slots__ = ("_job", "_workloads", "gone", "intents", "now", "view", "workload_name")

    def __init__(self, view: JobView, now: datetime) -> None:
        self.view = view
        self.now = now
        self.intents: list[Intent] = []
        self._job = view.job
        self.gone = False
        known = (*view.workloads, *((view.prebuilt,) if view.prebuilt is not None else ()))
        self._workloads = {workload["metadata"]["name"]: workload for workload in known}
        self.workload_name = ""

    # Reading

    @property
    def job(self) -> Document:
        if self._job is None:
            raise LookupError(f"{self.view.kind.resource.kind} {self.view.key} is gone")
        return self._job

    @property
    def workload(self) -> Document | None:
        return self._workloads.get(self.workload_name)

    def current(self, workload: Document) -> Document | None:
        """The Workload as it is by now; None once it is gone."""
        return self._workloads.get(workload["metadata"]["name"])

    def candidates(self) -> list[Document]:
        """The Workloads that name this job as their controller, as they are by now."""
        present = (self.current(workload) for workload in self.view.workloads)
        return [workload for workload in present if workload is not None]

    @property
    def suspended(self) -> bool:
        return self.view.kind.is_suspended(self.job)

    # Writing

    def write(self, intent: Write) -> None:
        self.intents.append(intent)
        if intent.resource == self.view.kind.resource and intent.key == self.view.key:
            left = intent_effects.effect(intent, self._job, self.now)
            self.gone = left is None
            self._job = self._job if left is None else left
        elif intent.resource == WORKLOADS:
            changed = intent_effects.effect(intent, self._workloads.pop(intent.key.name, None), self.now)
            if changed is not None:
                self._workloads[intent.key.name] = changed

    def patch_job(self, after: Document, subresource: str = "") -> None:
        if after != self.job and not self.gone:
            self.write(
                PatchObject(resource=self.view.kind.resource, before=self.job, after=after, subresource=subresource)
            )

    def patch_workload(self, workload: Document, after: Document) -> None:
        if after != workload:
            self.write(PatchObject(resource=WORKLOADS, before=workload, after=after))

    def delete_job(self) -> None:
        uid = self.job["metadata"].get("uid", "")
        self.write(DeleteObject(resource=self.view.kind.resource, key=self.view.key, uid=uid))

    def event(self, reason: str, message: str, type_: str = "Normal") -> None:
        uid = (self._job or {}).get("metadata", {}).get("uid", "")
        self.intents.append(
            RecordEvent(
                resource=self.view.kind.resource, key=self.view.key, reason=reason, message=message, type=type_, uid=uid
            )
        )

    def requeue_after(self, seconds: float) -> None:
        self.intents.append(RequeueAfter(seconds))

    def fail(self, message: str) -> bool:
        """End with an error that is retried with back-off; True, as a step that stops returns."""
        self.intents.append(RetryWithError(message))
        return True

    # Compound writes

    def set_condition(self, workload: Document, condition: SetCondition, prefix: str = JOB_CONTROLLER_MANAGER) -> None:
        """One condition under a field manager of its own; nothing when it is as wanted already."""
        intent = ApplyStatus(
            resource=WORKLOADS,
            key=workload_status.key_of(workload),
            field_manager=condition_manager(prefix, condition.type),
            conditions=(condition,),
            strict=False,
        )
        if intent_effects.status_after(workload, intent, self.now) is not workload:
            self.write(intent)

    def finish(self, workload: Document, reason: str, message: str) -> None:
        """Finished=True; a Workload that is finished keeps its first reason."""
        if not workload_status.is_true(workload, names.FINISHED):
            self.set_condition(workload, SetCondition(names.FINISHED, "True", reason, message))

    def drop_finalizer(self, workload: Document) -> None:
        if names.IN_USE_FINALIZER in at(workload, ("metadata", "finalizers"), []):
            self.write(_removal(workload))

    def delete_workload(self, workload: Document) -> None:
        self.drop_finalizer(workload)
        self.request_deletion(workload)

    def request_deletion(self, workload: Document) -> None:
        """The Workload goes once its finalizer does."""
        uid = workload["metadata"].get("uid", "")
        self.write(DeleteObject(resource=WORKLOADS, key=workload_status.key_of(workload), uid=uid))

    def finalize_workloads(self, workloads: Sequence[Document]) -> None:
        """The job is gone or going: its Workloads give back their quota and may go too."""
        for workload in workloads:
            orphaned = frameworks.controller_of(workload) is not None
            deleting = bool(workload["metadata"].get("deletionTimestamp"))
            if self.view.policy.finish_orphans and orphaned and not deleting:
                self.finish(workload, names.OWNER_NOT_FOUND, "The workload's owner no longer exists")
            self.drop_finalizer(workload)

    def finalize_job(self) -> None:
        self.patch_job(self.view.kind.finalize(self.job))

    def stop_job(self, workload: Document | None, reason: str, message: str) -> bool:
        """Suspend the job and put its templates back as ``workload`` remembers them; False when that has to wait."""
        infos = None if workload is None else job_pod_sets.infos_of_spec(workload)
        cause = Cause(reason, message, timestamps.rfc3339(self.now), self.view.policy.pods_first)
        stop = self.view.kind.stop(self.job, infos, cause)
        for step in stop.steps:
            self.patch_job(step.document, step.subresource)
        if stop.stopped:
            self.event("Stopped", message)
        if stop.delete:
            self.delete_job()
        if stop.error:
            self.fail(stop.error)
        return stop.complete and not stop.error


def _removal(workload: Document) -> RemoveFinalizer:
    return RemoveFinalizer(resource=WORKLOADS, key=workload_status.key_of(workload), finalizer=names.IN_USE_FINALIZER)
