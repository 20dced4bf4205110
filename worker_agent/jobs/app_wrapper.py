"""workload.codeflare.dev/v1beta2 AppWrapper: any objects with pods, queued as one (spec/jobs 9.9)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from worker_agent.api import pod_set_info
from worker_agent.api.document import Document, Path, at, get, put
from worker_agent.api.job_kind import Finish, JobKind, TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.resource_type import APP_WRAPPERS
from worker_agent.api.topology_request import PodIndex
from worker_agent.engine.workload_status import is_true
from worker_agent.jobs import app_wrapper_pods
from worker_agent.jobs.app_wrapper_components import pod_sets_of

INDEX_ANNOTATIONS: Final = "workload.codeflare.dev.appwrapper/tas-"


@dataclass(frozen=True, slots=True)
class _PodSet:
    """One pod set of a component: its template's path in the AppWrapper and the place of what is injected for it."""

    path: Path
    count: int
    index: PodIndex
    infos: Path
    place: int


class AppWrapper(JobKind):
    framework = "workload.codeflare.dev/appwrapper"
    resource = APP_WRAPPERS
    pod_name_label = "workload.codeflare.dev/appwrapper"
    native_manager = "workload.codeflare.dev/appwrapper-controller"
    update_repeats_create = False
    pod_counts = ("conditions", "phase", "componentStatus")

    def templates(self, job: Document) -> list[TemplateAt]:
        name = job["metadata"]["name"]
        return [
            TemplateAt(
                f"{name}-{number}",
                each.path,
                each.count,
                index=each.index,
                annotations_at=(*each.infos, each.place, "annotations"),
            )
            for number, each in enumerate(_pod_sets(job))
        ]

    def pod_template(self, job: Document, spot: TemplateAt) -> Document:
        return app_wrapper_pods.reduced(at(job, spot.path, {}))

    def start(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> Document:
        """The infos stand beside the components; AppWrapper's own controller puts them into the pods."""
        pod_sets = list(_pod_sets(job))
        pod_set_info.expect_count(len(pod_sets), list(infos))
        by_component: dict[Path, list[Document]] = {}
        for pod_set, info in zip(pod_sets, infos, strict=True):
            by_component.setdefault(pod_set.infos, []).append(_info(info))
        started = self._with_suspend(job, False)
        for path, documents in by_component.items():
            started = put(started, path, documents)
        return started

    def restore(self, job: Document, infos: Sequence[PodSetInfo]) -> tuple[Document, bool]:
        restored = job
        for place, component in enumerate(get(job, "spec.components", [])):
            if component.get("podSetInfos") is not None:
                restored = put(restored, ("spec", "components", place, "podSetInfos"), None)
        return (restored, True) if restored is not job else (job, False)

    def is_active(self, job: Document) -> bool:
        return is_true(job, "QuotaReserved")

    def pods_ready(self, job: Document) -> bool:
        return is_true(job, "PodsReady")

    def finished(self, job: Document) -> Finish | None:
        """A failed one counts as finished only when nothing of it is deployed any more."""
        phase = get(job, "status.phase")
        if phase == "Succeeded":
            return Finish(True, "AppWrapper finished successfully")
        if phase == "Failed" and not is_true(job, "ResourcesDeployed"):
            return Finish(False, "AppWrapper failed")
        return None

    def ended(self, job: Document, end: Finish, now: datetime) -> Document:
        return {**job, "status": {**self.idle_status(job), "phase": "Succeeded" if end.success else "Failed"}}


def _pod_sets(job: Document) -> Iterator[_PodSet]:
    statuses = get(job, "status.componentStatus", [])
    for place, component in enumerate(get(job, "spec.components", [])):
        base: Path = ("spec", "components", place)
        declared = (statuses[place].get("podSets") if place < len(statuses) else None) or component.get("podSets")
        infos = (*base, "podSetInfos")
        if declared:
            for number, each in enumerate(declared):
                path = (*base, *each["path"].split("."))
                yield _PodSet(path, get(each, "replicas", 1), _index(each.get("annotations") or {}), infos, number)
            continue
        for number, spot in enumerate(pod_sets_of(component.get("template") or {})):
            yield _PodSet((*base, "template", *spot.path), spot.count, spot.index or PodIndex(), infos, number)


def _index(annotations: dict[str, str]) -> PodIndex:
    """The labels of pods' indexes as the component's author gives them; a count that is no number is left out."""
    count = annotations.get(f"{INDEX_ANNOTATIONS}sub-group-count", "")
    return PodIndex(
        annotations.get(f"{INDEX_ANNOTATIONS}pod-index-label", ""),
        annotations.get(f"{INDEX_ANNOTATIONS}sub-group-index-label", ""),
        int(count) if count.isascii() and count.isdigit() else None,
    )


def _info(info: PodSetInfo) -> Document:
    fields = {
        "annotations": dict(info.annotations),
        "labels": dict(info.labels),
        "nodeSelector": dict(info.node_selector),
        "tolerations": list(info.tolerations),
        "schedulingGates": list(info.scheduling_gates),
    }
    return {name: value for name, value in fields.items() if value}
