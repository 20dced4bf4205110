"""What the kinds share that serve until they are deleted and whose pods are queued themselves (spec/jobs 8, 9.11-9.13).

Such an object is not suspended: its webhook marks the pods it will make, and those wait by their gates.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import ClassVar, Final

from worker_agent.api import names
from worker_agent.api.document import Document, Path, at, get, put
from worker_agent.api.job_kind import Finish, JobKind, StatusBack, queue_name
from worker_agent.api.job_policy import JobPolicy

PARENT: Final = names.POD_SUSPENDING_PARENT_ANNOTATION


class ServingKind(JobKind):
    serving = True
    held_elsewhere = True
    managed_by_path = ""
    prebuilt_allowed = False
    counts_checked_last = False

    parent: ClassVar[str]
    """How its pods name it in their annotation: the framework."""

    def is_suspended(self, job: Document) -> bool:
        """Never: marking is repeated on every write, for whatever the user has changed."""
        return False

    def pod_labels(self, job: Document) -> dict[str, str]:
        """Its own selector, where the kind has one."""
        return get(job, "spec.selector.matchLabels", {}) or super().pod_labels(job)

    def is_running(self, job: Document) -> bool:
        """Whether any of its pods is ready, so that some of its fields cannot change any more."""
        return bool(get(job, "status.readyReplicas", 0) > 0)

    def workload_names(self, job: Document, policy: JobPolicy) -> Iterable[str]:
        """Every name that a Workload of this set may have."""
        return ()

    def finished(self, job: Document) -> Finish | None:
        return None

    def remote_copy(self, job: Document, workload: str, origin: str, policy: JobPolicy) -> Document:
        """With the UID that the names of its Workloads hang on."""
        copy = super().remote_copy(job, workload, origin, policy)
        path = ("metadata", "annotations", names.MULTIKUEUE_ORIGIN_UID_ANNOTATION)
        return put(copy, path, job["metadata"].get("uid", ""))  # type: ignore[no-any-return]

    def status_back(self, local: Document, remote: Document, now: datetime) -> StatusBack:
        """Never: the controller here would write its own at once."""
        return StatusBack(None)

    def idle_status(self, job: Document) -> Document:
        return job.get("status") or {}


def marked(job: Document, template: Path, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Document:
    """The job with these on the pod template at ``template``; where all of them are there it stays the same object."""
    for field, values in (("labels", labels), ("annotations", annotations)):
        path = (*template, "metadata", field)
        present = at(job, path, {})
        if {**present, **values} != present:
            job = put(job, path, {**present, **values})
    return job


def queue_labels(job: Document) -> dict[str, str]:
    """Queue and priority class, as pods are to carry them."""
    labels = at(job, ("metadata", "labels"), {})
    found = {names.QUEUE_NAME_LABEL: queue_name(job)}
    found[names.PRIORITY_CLASS_LABEL] = labels.get(names.PRIORITY_CLASS_LABEL, "")
    return {name: value for name, value in found.items() if value}
