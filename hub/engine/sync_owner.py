"""Whose Workload it is: the owner's kind, and whether that owner is MultiKueue's to run (spec section 7, 3 and 4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from worker_agent.api import document as documents
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key, OwnerReference
from worker_agent.api.resource_type import PODS
from worker_agent.api.workload import Workload
from worker_agent.jobs.pod_group import PodGroup

NOWHERE: Final = Key("", "")
GROUP: Final = PodGroup()

KindTable = Mapping[str, JobKind]
"""Job kinds by ``<group>/<version>, Kind=<Kind>``, the text that messages print too."""


@dataclass(frozen=True, slots=True)
class Owner:
    """``kind`` is None when no adapter serves the owner; ``gvk`` is empty when there is no owner at all."""

    kind: JobKind | None = None
    gvk: str = ""
    key: Key = NOWHERE
    uid: str = ""


def gvk_text(api_version: str, kind: str) -> str:
    """``batch/v1, Kind=Job``; the core group prints as ``/v1, Kind=Pod``."""
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def table(kinds: Iterable[JobKind]) -> dict[str, JobKind]:
    return {gvk_text(kind.resource.api_version, kind.resource.kind): kind for kind in kinds}


def find(workload: Workload, kinds: KindTable) -> Owner:
    """The owner that decides about this Workload: the annotated one, the controller, or the first of the owners."""
    annotated = workload.metadata.annotation(names.JOB_OWNER_GVK_ANNOTATION)
    name = workload.metadata.annotation(names.JOB_OWNER_NAME_ANNOTATION)
    namespace = workload.metadata.namespace
    if name and annotated in kinds:
        return Owner(kinds[annotated], annotated, Key(namespace, name), _uid(workload, annotated))
    reference = _reference(workload)
    if reference is None:
        return Owner()
    gvk = gvk_text(reference.api_version, reference.kind)
    kind = kinds.get(gvk)
    if kind is not None and kind.resource == PODS and _is_of_group(workload):
        # Its pods bear the Workload's name as that of their group.
        return Owner(GROUP, gvk, workload.metadata.key, reference.uid)
    return Owner(kind, gvk, Key(namespace, reference.name), reference.uid)


def _is_of_group(workload: Workload) -> bool:
    return workload.metadata.annotation(names.IS_GROUP_WORKLOAD_ANNOTATION) == "true"


def _reference(workload: Workload) -> OwnerReference | None:
    owners = workload.metadata.owner_references or []
    return workload.metadata.controller or (owners[0] if owners else None)


def _uid(workload: Workload, gvk: str) -> str:
    owners = workload.metadata.owner_references or []
    return next((owner.uid for owner in owners if gvk_text(owner.api_version, owner.kind) == gvk), "")


def is_judged(kind: JobKind) -> bool:
    """Whether the job itself says who runs it; kinds without a managedBy field count as managed."""
    return bool(kind.managed_by_path)


def why_unmanaged(kind: JobKind, job: Document) -> str:
    """Empty when the job's managedBy names MultiKueue, else the reason why the Workload is rejected."""
    path = kind.managed_by_path
    if not path:
        return ""
    actual = documents.get(job, path, "")
    if actual == names.MULTIKUEUE_CONTROLLER:
        return ""
    return f'Expecting {path} to be "{names.MULTIKUEUE_CONTROLLER}" not "{actual}"'


def may_be_unmarked(kind: JobKind, job: Document) -> bool:
    """Whether the job has no manager because its API server may not know the field."""
    return kind.managed_by_optional and not kind.managed_by(job)


def no_adapter(owner: Owner) -> str:
    if not owner.gvk:
        return "No multikueue adapter found"
    return f'No multikueue adapter found for owner kind "{owner.gvk}"'
