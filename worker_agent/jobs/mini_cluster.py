"""flux-framework.org/v1alpha2 MiniCluster: the Flux operator makes an indexed Job of it, and a pod for its services.

It has no field that suspends it. The operator leaves one of size 0 alone, so that is how it is held; the size it shall
have stands in an annotation meanwhile. What the operator made before is not removed by it then: we do that, and read
from the Job how the MiniCluster fares, because its own status does not tell.
"""

from collections.abc import Sequence
from typing import Final

from worker_agent.api import companions, frameworks, names, need, pod_set_info
from worker_agent.api.companions import Companion
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import Finish, JobKind, NotYetStartable, Remains, TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import InvalidPodSetInfo, PodSetInfo
from worker_agent.api.pod_sets_unknown import PodSetsUnknown
from worker_agent.api.resource_type import JOBS, MINI_CLUSTERS, PODS
from worker_agent.engine.workload_status import is_true
from worker_agent.jobs import mini_cluster_pods
from worker_agent.jobs.batch_job import BatchJob

SIZE: Final = ("spec", "size")
HELD_SIZE: Final = ("metadata", "annotations", names.HELD_SIZE_ANNOTATION)
PLACED: Final = ("spec", "pod")
LARGEST_SIZE: Final = 2**31 - 1
"""Of int32, as the field of the definition is."""
NO_SIZE: Final = (
    f"it is held and its size is not known: set spec.size, or the annotation {names.HELD_SIZE_ANNOTATION},"
    " to the number of pods it shall have"
)
SERVICES: Final = "services"
READY: Final = "JobMiniClusterReady"
_MADE: Final = BatchJob()
"""How the Job that the operator makes is read."""


NEEDS = (need.of_kind(JOBS, "delete"),)


class MiniCluster(JobKind):
    framework = "flux-framework.org/minicluster"
    resource = MINI_CLUSTERS
    pod_name_label = "batch.kubernetes.io/job-name"
    companion_resources = (JOBS, PODS)
    managed_by_path = ""
    held_elsewhere = True
    tells_its_end = False
    pod_counts = ("conditions", "size")

    def companions(self, job: Document) -> Sequence[Companion]:
        namespace, name = job["metadata"].get("namespace", ""), job["metadata"]["name"]
        return (Companion(JOBS, namespace, name), Companion(PODS, namespace, services_pod(name)))

    def templates(self, job: Document) -> list[TemplateAt]:
        """Raises PodSetsUnknown where no size is to be read: one of no pods would be admitted and never start."""
        size = wanted_size(job)
        if size < 1:
            raise PodSetsUnknown(NO_SIZE)
        return _spots(job, size)

    def pod_template(self, job: Document, spot: TemplateAt) -> Document:
        if spot.name == SERVICES:
            return mini_cluster_pods.services_template(job)
        return mini_cluster_pods.cluster_template(job)

    def is_suspended(self, job: Document) -> bool:
        return bool(get(job, "spec.size", 1) == 0)

    def _with_suspend(self, job: Document, suspended: bool) -> Document:
        document: Document = put(job, SIZE, 0 if suspended else wanted_size(job))
        return put(document, HELD_SIZE, str(wanted_size(job))) if suspended else document

    def start(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> Document:
        """All pods are placed by the same fields. Raises NotYetStartable while pods of an earlier run are left."""
        pod_set_info.expect_count(len(self.templates(job)), list(infos))
        if any(info.scheduling_gates for info in infos):
            raise InvalidPodSetInfo("the pods of a MiniCluster cannot wait for a topology assignment")
        if self.remains(job):
            raise NotYetStartable("what the Flux operator made for an earlier run is still there")
        wanted = _as_template(at(job, PLACED, {}))
        for number, info in enumerate(infos):
            wanted = pod_set_info.inject(wanted, _without_name(info) if number else info, elastic=policy.elastic_jobs)
        started: Document = put(self._with_suspend(job, False), PLACED, _as_fields(at(job, PLACED, {}), wanted))
        return started

    def restore(self, job: Document, infos: Sequence[PodSetInfo]) -> tuple[Document, bool]:
        if len(_spots(job, 1)) != len(infos):
            return job, False
        present = at(job, PLACED, {})
        wanted = pod_set_info.restore(_as_template(present), infos[0])
        restored = put(job, PLACED, _as_fields(present, wanted) or None)
        return (restored, True) if restored != job else (job, False)

    def remains(self, job: Document) -> Sequence[Remains]:
        """The operator's Job, unless it has ended, and the services' pod."""
        made = _child(job, JOBS.kind)
        left = [Remains(JOBS, made)] if made is not None and _MADE.finished(made) is None else []
        services = _child(job, PODS.kind)
        return left if services is None else [*left, Remains(PODS, services)]

    def is_active(self, job: Document) -> bool:
        """The Job stays until the last of its pods is gone: it is deleted in the foreground."""
        return bool(self.remains(job)) and self.finished(job) is None

    def pods_ready(self, job: Document) -> bool:
        made = _child(job, JOBS.kind)
        if made is not None:
            return _MADE.pods_ready(made)
        return self.is_suspended(job) and is_true(job, READY)

    def finished(self, job: Document) -> Finish | None:
        made = _child(job, JOBS.kind)
        return None if made is None else _MADE.finished(made)


def wanted_size(job: Document) -> int:
    """The size that is or shall be; 0 where a held MiniCluster does not say."""
    size: int = get(job, "spec.size", 1)
    held = str(at(job, HELD_SIZE, ""))
    readable = held.isascii() and held.isdigit() and len(held) <= len(str(LARGEST_SIZE)) and int(held) <= LARGEST_SIZE
    return size or (int(held) if readable else 0)


def services_pod(name: str) -> str:
    return f"{name}-services"


def _child(job: Document, kind: str) -> Document | None:
    """What the operator made for this very object; a namesake of somebody else's is none of ours."""
    found = companions.of(job, kind)
    owner = frameworks.controller_of(found) if found is not None else None
    return found if owner is not None and owner.get("uid") == job["metadata"].get("uid") else None


def _spots(job: Document, size: int) -> list[TemplateAt]:
    spots = [_spot(names.DEFAULT_POD_SET_NAME, size)]
    return [*spots, _spot(SERVICES, 1)] if get(job, "spec.services", []) else spots


def _spot(name: str, count: int) -> TemplateAt:
    annotations = (*PLACED, "annotations")
    return TemplateAt(name, PLACED, count, annotations_at=annotations, annotations_field=".".join(annotations))


_FIELDS: Final = {
    "annotations": ("metadata", "annotations"),
    "labels": ("metadata", "labels"),
    "nodeSelector": ("spec", "nodeSelector"),
    "tolerations": ("spec", "tolerations"),
}


def _as_template(placed: Document) -> Document:
    template: Document = {"metadata": {}, "spec": {}}
    for field, path in _FIELDS.items():
        template = put(template, path, placed.get(field))
    return template


def _as_fields(placed: Document, template: Document) -> Document:
    for field, path in _FIELDS.items():
        placed = put(placed, (field,), at(template, path) or None)
    return placed


def _without_name(info: PodSetInfo) -> PodSetInfo:
    """All pods bear the labels of ``spec.pod``: they are counted with the first pod set."""
    labels = {name: value for name, value in info.labels.items() if name != names.POD_SET_LABEL}
    return PodSetInfo(info.name, info.count, labels, info.annotations, info.node_selector, info.tolerations)
