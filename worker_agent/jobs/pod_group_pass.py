"""One decision about a group of pods in progress: what the pass of a single job does, done to each pod concerned."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.job_kind import Cause
from worker_agent.api.resource_type import PODS
from worker_agent.engine import intent_effects, workload_status
from worker_agent.engine.intents import DeleteObject, PatchObject, RecordEvent, Write
from worker_agent.engine.job_pass import JobPass
from worker_agent.jobs import pod_facts, pod_group
from worker_agent.jobs.pod import WORKLOAD_DELETED
from worker_agent.jobs.pod_group import PodGroup

TO_ALL: Final = "UpdatedAdmissionCheck"
"""The event that every pod of the group gets; of the others each pod gets its own."""


class PodGroupPass(JobPass):
    """``job`` is the group's document; it shrinks as pods go."""

    __slots__ = ()

    @property
    def group_kind(self) -> PodGroup:
        kind = self.view.kind
        if not isinstance(kind, PodGroup):
            raise TypeError(f"{kind.framework} is no group of pods")
        return kind

    @property
    def pods(self) -> list[Document]:
        return [] if self._job is None else pod_group.members(self._job)

    def narrow_to(self, pods: Sequence[Document]) -> None:
        """From here on the group is these pods."""
        kept = {pod["metadata"]["name"] for pod in pods}
        self._regroup([pod for pod in self.pods if pod["metadata"]["name"] in kept])

    def write(self, intent: Write) -> None:
        if intent.resource != PODS:
            super().write(intent)
            return
        self.intents.append(intent)
        if self._job is not None:
            change = partial(intent_effects.effect, intent, now=self.now)
            group = self.group_kind.member_changed(self._job, intent.key.name, change)
            self._regroup([] if group is None else pod_group.members(group))

    def _regroup(self, pods: list[Document]) -> None:
        if pods and self._job is not None:
            self._job = {**self._job, **pod_group.compose(pods), "metadata": self._job["metadata"]}

    def patch_pod(self, before: Document, after: Document, subresource: str = "") -> None:
        if after != before:
            self.write(PatchObject(resource=PODS, before=before, after=after, subresource=subresource))

    def delete_pod(self, pod: Document) -> None:
        key = workload_status.key_of(pod)
        self.write(DeleteObject(resource=PODS, key=key, uid=pod["metadata"].get("uid", "")))

    def patch_job(self, after: Document, subresource: str = "") -> None:
        for before, now in zip(self.pods, pod_group.members(after), strict=True):
            self.patch_pod(before, now, subresource)

    def delete_job(self) -> None:
        for pod in list(self.pods):
            self.delete_pod(pod)

    def finalize_job(self) -> None:
        """All pods of the group, also those that were replaced or too many."""
        everything = [] if self.view.job is None else pod_group.members(self.view.job)
        known = {pod["metadata"]["name"]: pod for pod in self.pods}
        self.finalize_pods(known.get(pod["metadata"]["name"], pod) for pod in everything)

    def finalize_pods(self, pods: Iterable[Document]) -> None:
        """Nothing of ours keeps these pods any longer."""
        for pod in list(pods):
            self.patch_pod(pod, pod_facts.finalized(pod))

    def event(self, reason: str, message: str, type_: str = "Normal") -> None:
        for pod in self.pods if reason == TO_ALL else self.pods[:1]:
            self.pod_event(pod, reason, message, type_)

    def pod_event(self, pod: Document, reason: str, message: str, type_: str = "Normal") -> None:
        self.intents.append(
            RecordEvent(
                resource=PODS,
                key=workload_status.key_of(pod),
                reason=reason,
                message=message,
                type=type_,
                uid=pod["metadata"].get("uid", ""),
            )
        )

    def stop_job(self, workload: Document | None, reason: str, message: str) -> bool:
        """Delete the pods that run, each with the reason in its status; all of them where their Workload goes."""
        cause = Cause(reason, message, timestamps.rfc3339(self.now))
        for pod, ended in self.group_kind.stopped_members(self.job, cause):
            self.patch_pod(pod, ended, "status")
            self.delete_pod(pod)
            self.pod_event(pod, "Stopped", message)
        if reason == WORKLOAD_DELETED:
            self.finalize_pods(self.pods)
        return True
