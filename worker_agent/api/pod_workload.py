"""Which Workload a pod is of, and whose an event is, by what stands on them: for reading a job's pods from afar."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.meta import ObjectMeta
from worker_agent.api.resource_type import ResourceType

CORE_EVENTS: Final = ResourceType("", "v1", "Event", "events")
"""Events as kubectl shows them; every server has them in this group too."""

_MARKS: Final = (
    names.WORKLOAD_ANNOTATION,
    names.WORKLOAD_SLICE_NAME_ANNOTATION,
    names.PREBUILT_WORKLOAD,
    names.POD_GROUP_NAME_LABEL,
)


def workloads_named(metadata: ObjectMeta) -> frozenset[str]:
    """The Workloads of its namespace that a pod says it is of; a pod in the middle of a change may name two."""
    found = (metadata.annotation(mark) or metadata.label(mark) for mark in _MARKS)
    return frozenset(name for name in found if name)


def is_pod_of(metadata: ObjectMeta, workload: Document) -> bool:
    """Whether the pod is one of the Workload's: it names it, or its chain of slices, or is what the Workload is made
    of."""
    own = workload["metadata"]
    annotations = own.get("annotations") or {}
    chain = annotations.get(names.WORKLOAD_SLICE_NAME_ANNOTATION, "")
    named = workloads_named(metadata)
    if own["name"] in named or (chain and chain in named):
        return True
    return any(owner.get("uid") == metadata.uid for owner in own.get("ownerReferences") or () if metadata.uid)


def subject_of(event: Document) -> tuple[str, str, str]:
    """API group, kind and name of what a core event is about."""
    reference = at(event, ("involvedObject",), {})
    group, _, _ = str(reference.get("apiVersion", "")).rpartition("/")
    return group, str(reference.get("kind", "")), str(reference.get("name", ""))
