"""apps/v1 StatefulSet: its pods are one group with one Workload (spec/jobs 9.12)."""

from collections.abc import Iterable
from typing import Final

from worker_agent.api import names, workload_name
from worker_agent.api.document import Document, at, get
from worker_agent.api.job_kind import TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import STATEFUL_SETS
from worker_agent.jobs.serving import PARENT, ServingKind, marked

TEMPLATE: Final = ("spec", "template")


class StatefulSet(ServingKind):
    framework = "statefulset"
    resource = STATEFUL_SETS
    parent = "statefulset"
    rank_label = "apps.kubernetes.io/pod-index"

    def templates(self, job: Document) -> list[TemplateAt]:
        return [TemplateAt(names.DEFAULT_POD_SET_NAME, TEMPLATE, get(job, "spec.replicas", 1))]

    def suspend(self, job: Document) -> Document:
        return marked(job, TEMPLATE, {}, {PARENT: self.parent})

    def belongs_elsewhere(self, job: Document) -> bool:
        return bool(at(job, (*TEMPLATE, "metadata", "annotations"), {}).get(PARENT, self.parent) != self.parent)

    def workload_names(self, job: Document, policy: JobPolicy) -> Iterable[str]:
        return [workload_name_of(job, uid, policy) for uid in (origin_uid(job), "")]

    def workload_name(self, job: Document, policy: JobPolicy) -> str:
        return workload_name_of(job, origin_uid(job), policy)


def origin_uid(job: Document) -> str:
    """The UID that names hang on: on a worker cluster that of the object on the manager."""
    metadata = job["metadata"]
    if names.MULTIKUEUE_ORIGIN_LABEL in (metadata.get("labels") or {}):
        return str((metadata.get("annotations") or {}).get(names.MULTIKUEUE_ORIGIN_UID_ANNOTATION, ""))
    return str(metadata.get("uid", ""))


def workload_name_of(job: Document, uid: str, policy: JobPolicy) -> str:
    """The Workload's name by owner and UID; an empty UID gives the name that earlier releases used."""
    resource = StatefulSet.resource
    return workload_name.name_of(
        resource.kind, resource.group, job["metadata"]["name"], uid, short=policy.short_workload_names
    )
