"""trainer.kubeflow.org/v1alpha1 TrainJob: its pods come from a runtime that it refers to (spec/jobs 9.5)."""

from collections.abc import Sequence
from typing import Final

from worker_agent.api import companions, pod_set_info
from worker_agent.api.companions import Companion
from worker_agent.api.document import Document, get, put
from worker_agent.api.job_kind import NO_CAUSE, Cause, NotYetStartable, Stop, StopStep, TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.pod_sets_unknown import PodSetsUnknown
from worker_agent.api.resource_type import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES
from worker_agent.jobs import replicated_jobs, train_runtime
from worker_agent.jobs.replicated_jobs import ReplicatedJobsKind

MANAGER: Final = "kueue.x-k8s.io/manager"
_RUNTIMES: Final = {each.kind: each for each in (CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES)}


class TrainJob(ReplicatedJobsKind):
    framework = "trainer.kubeflow.org/trainjob"
    resource = TRAIN_JOBS
    pod_name_label = "jobset.sigs.k8s.io/jobset-name"
    companion_resources = (CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES)
    native_manager = "trainer.kubeflow.org/trainjob-controller"
    topology_hint = (
        'Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the '
        "corresponding Job"
    )
    pod_counts = ("jobsStatus",)
    statuses = "status.jobsStatus"

    def companions(self, job: Document) -> Sequence[Companion]:
        reference = get(job, "spec.runtimeRef", {})
        resource = _RUNTIMES.get(reference.get("kind", CLUSTER_TRAINING_RUNTIMES.kind))
        if resource is None:
            return ()
        namespace = job["metadata"].get("namespace", "") if resource.namespaced else ""
        return (Companion(resource, namespace, reference.get("name", "")),)

    def templates(self, job: Document) -> list[TemplateAt]:
        """The pod sets of the JobSet that the trainer will make. Raises PodSetsUnknown without its runtime."""
        return [self._spot(each) for each in train_runtime.replicated_jobs(job, _runtime(job))]

    def own_defaults(self, job: Document, policy: JobPolicy) -> Document:
        """Room for what an admission adds, so that it never mixes with what others patch."""
        patches = get(job, "spec.runtimePatches", [])
        if not isinstance(patches, list) or not all(isinstance(patch, dict) for patch in patches):
            return job  # the schema, checked next, refuses it by name
        if any(patch.get("manager") == MANAGER for patch in patches):
            return job
        own = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {}}}}
        document: Document = put(job, ("spec", "runtimePatches"), [*patches, own])
        return document

    def start(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> Document:
        pod_set_info.expect_count(len(self.templates(job)), list(infos))
        if not _has_patch(job):
            raise NotYetStartable("kueue runtime patch not found")
        return self._with_suspend(_patched(job, [_patch(info) for info in infos]), False)

    def start_steps(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> tuple[Document, ...]:
        """Patches may only change while the job is suspended, so it is unsuspended by a write of its own."""
        started = self.start(job, infos, policy)
        return (self._with_suspend(started, True), started)

    def restore(self, job: Document, infos: Sequence[PodSetInfo]) -> tuple[Document, bool]:
        return (_patched(job, None), True) if _has_patch(job) else (job, False)

    def stop(self, job: Document, infos: Sequence[PodSetInfo] | None, cause: Cause = NO_CAUSE) -> Stop:
        """Suspended first; the patch is cleared once no pod runs any more."""
        suspended = job if self.is_suspended(job) else self.suspend(job)
        steps = () if suspended is job else (StopStep(suspended),)
        if self.is_active(job):
            return Stop(steps, False, error="jobs are still active")
        restored, _ = self.restore(suspended, ())
        return Stop((*steps, StopStep(restored)) if restored != suspended else steps, True)

    def remote_copy(self, job: Document, workload: str, origin: str, policy: JobPolicy) -> Document:
        """Without our patch: the worker adds its own."""
        copy = super().remote_copy(job, workload, origin, policy)
        others = [patch for patch in get(copy, "spec.runtimePatches", []) if patch.get("manager") != MANAGER]
        document: Document = put(copy, ("spec", "runtimePatches"), others or None)
        return document

    def replicated_jobs(self, job: Document) -> list[Document]:
        """Of a job that runs somebody may have deleted the runtime since."""
        try:
            return train_runtime.replicated_jobs(job, _runtime(job))
        except PodSetsUnknown:
            return []

    def pods_ready(self, job: Document) -> bool:
        return bool(get(job, self.statuses, [])) and super().pods_ready(job)

    def _spot(self, each: Document) -> TemplateAt:
        name = each["name"]
        return TemplateAt(
            name,
            (),
            replicated_jobs.pods(each),
            index=self.pod_index(each),
            rendered=get(each, "template.spec.template", {}),
            annotations_field=f"job[{name.lower()}].annotations",
        )


def _runtime(job: Document) -> Document:
    reference = get(job, "spec.runtimeRef", {})
    kind = reference.get("kind", CLUSTER_TRAINING_RUNTIMES.kind)
    if kind not in _RUNTIMES:
        raise PodSetsUnknown(f"unsupported runtime: {kind}.{reference.get('apiGroup', '')}")
    runtime = companions.of(job, kind)
    if runtime is None:
        raise PodSetsUnknown(f"runtime '{reference.get('name', '')}' not found")
    return runtime


def _has_patch(job: Document) -> bool:
    return any(patch.get("manager") == MANAGER for patch in get(job, "spec.runtimePatches", []))


def _patched(job: Document, replicated_jobs: list[Document] | None) -> Document:
    """Our patch with these replicated jobs; None leaves it empty."""
    spec = {"replicatedJobs": replicated_jobs} if replicated_jobs else {}
    patches = [
        put(patch, ("trainingRuntimeSpec", "template", "spec"), spec) if patch.get("manager") == MANAGER else patch
        for patch in get(job, "spec.runtimePatches", [])
    ]
    document: Document = put(job, ("spec", "runtimePatches"), patches)
    return document


def _patch(info: PodSetInfo) -> Document:
    template: Document = pod_set_info.inject({"metadata": {}, "spec": {}}, info)
    return {"name": info.name, "template": {"spec": {"template": template}}}
