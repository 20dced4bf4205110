"""What is injected into a pod template when a job starts, and how it is taken out again (spec/jobs section 6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from worker_agent.api import names
from worker_agent.api.document import Document, put

UPDATE_ERROR: Final = "invalid admission check PodSetUpdate"


class InvalidPodSetInfo(ValueError):
    """The job cannot be started with this: permanent, so its Workload is finished with reason FailedToStart."""


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """One pod set's share of an admission, or (for a stop) what its template held originally.

    ``count`` is what was granted.
    """

    name: str
    count: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Document, ...] = ()
    scheduling_gates: tuple[Document, ...] = ()

    @classmethod
    def of_pod_set(cls, pod_set: Document) -> "PodSetInfo":
        """The original values of a Workload's pod set: what a stop puts back."""
        template = pod_set.get("template") or {}
        metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
        return cls(
            name=pod_set.get("name", names.DEFAULT_POD_SET_NAME),
            count=pod_set.get("count", 1),
            labels=metadata.get("labels") or {},
            annotations=metadata.get("annotations") or {},
            node_selector=spec.get("nodeSelector") or {},
            tolerations=tuple(spec.get("tolerations") or ()),
            scheduling_gates=tuple(spec.get("schedulingGates") or ()),
        )

    @classmethod
    def of_update(cls, update: Document) -> "PodSetInfo":
        """An admission check's ``podSetUpdates`` entry."""
        return cls(
            name=update.get("name", ""),
            labels=update.get("labels") or {},
            annotations=update.get("annotations") or {},
            node_selector=update.get("nodeSelector") or {},
            tolerations=tuple(update.get("tolerations") or ()),
        )

    def merged(self, other: "PodSetInfo", *, elastic: bool = False) -> "PodSetInfo":
        """This with ``other`` added. Raises InvalidPodSetInfo when both give one key different values."""
        return replace(
            self,
            annotations=_union("annotations", self.annotations, other.annotations, _replaceable(other, elastic)),
            labels=_union("labels", self.labels, other.labels),
            node_selector=_union("nodeSelector", self.node_selector, other.node_selector),
            tolerations=_appended(self.tolerations, other.tolerations),
            scheduling_gates=_appended(self.scheduling_gates, other.scheduling_gates),
        )


def expect_count(expected: int, infos: list[PodSetInfo]) -> None:
    """Raises InvalidPodSetInfo unless there is one info per pod set."""
    if len(infos) != expected:
        raise InvalidPodSetInfo(f"invalid podset infos: expecting {expected} podset, got {len(infos)}")


def inject(template: Document, info: PodSetInfo, *, elastic: bool = False) -> Document:
    """The template with ``info`` added; what the user wrote stays. Raises InvalidPodSetInfo on a conflict.

    With ``elastic`` (gate ElasticJobsViaWorkloadSlices) the annotations that name the workload slice may be
    overwritten: a new slice starts the same job again.
    """
    return _written(template, PodSetInfo.of_pod_set({"template": template}).merged(info, elastic=elastic))


def restore(template: Document, original: PodSetInfo) -> Document:
    """The template with its labels, annotations, node selector, tolerations and gates as ``original`` has them.

    Affinity and everything else is left alone. The same object comes back when nothing differs.
    """
    restored = _written(template, original)
    return template if restored == template else restored


def _written(template: Document, info: PodSetInfo) -> Document:
    current = PodSetInfo.of_pod_set({"template": template})
    fields: tuple[tuple[tuple[str, ...], Any, Any], ...] = (
        (("metadata", "annotations"), current.annotations, info.annotations),
        (("metadata", "labels"), current.labels, info.labels),
        (("spec", "nodeSelector"), current.node_selector, info.node_selector),
        (("spec", "tolerations"), current.tolerations, info.tolerations),
        (("spec", "schedulingGates"), current.scheduling_gates, info.scheduling_gates),
    )
    for path, before, after in fields:
        if before != after:
            value = list(after) if isinstance(after, tuple) else dict(after)
            template = put(template, path, value or None)
    return template


def _replaceable(info: PodSetInfo, elastic: bool) -> frozenset[str]:
    if not elastic:
        return frozenset()
    replaceable = {names.WORKLOAD_SLICE_NAME_ANNOTATION}
    if names.WORKLOAD_SLICE_NAME_ANNOTATION in info.annotations:
        replaceable.add(names.WORKLOAD_ANNOTATION)
    return frozenset(replaceable)


def _union(
    what: str, ours: Mapping[str, str], theirs: Mapping[str, str], replaceable: frozenset[str] = frozenset()
) -> dict[str, str]:
    for key in sorted(theirs):
        if key in ours and ours[key] != theirs[key] and key not in replaceable:
            raise InvalidPodSetInfo(
                f"{UPDATE_ERROR}: conflict for {what}: conflict for key={key}, value1={ours[key]}, value2={theirs[key]}"
            )
    return {**ours, **theirs}


def _appended(ours: tuple[Document, ...], theirs: tuple[Document, ...]) -> tuple[Document, ...]:
    appended = list(ours)
    for item in theirs:
        if item not in appended:
            appended.append(item)
    return tuple(appended)
