"""Labels and annotations by which jobs are queued, and by which they find their Workload (spec/jobs 1 and 5.3)."""

from collections.abc import Sequence

from worker_agent.api import names
from worker_agent.api.document import Document, at, put
from worker_agent.api.document import get as value_at
from worker_agent.api.job_policy import JobPolicy

LABEL_VALUE_LIMIT = 63
"""The longest value a label can hold."""


def without_labels(template: Document, labels: Sequence[str]) -> Document:
    """The template without these labels; the same object when it has none of them."""
    present = at(template, ("metadata", "labels"), {})
    if not any(label in present for label in labels):
        return template
    kept = {name: value for name, value in present.items() if name not in labels}
    document: Document = put(template, ("metadata", "labels"), kept or None)
    return document


def with_prebuilt(job: Document, workload: str, policy: JobPolicy) -> Document:
    """The job pointing at a Workload to adopt: by annotation if those are read or the name is too long for a label."""
    where = "annotations" if policy.identifier_annotations or len(workload) > LABEL_VALUE_LIMIT else "labels"
    document: Document = put(job, ("metadata", where, names.PREBUILT_WORKLOAD), workload)
    return document


def prebuilt_name(job: Document, policy: JobPolicy) -> str:
    """The Workload the job adopts instead of making one; empty when it names none (spec/jobs 5.3)."""
    metadata = job.get("metadata") or {}
    label = (metadata.get("labels") or {}).get(names.PREBUILT_WORKLOAD, "")
    annotation = (metadata.get("annotations") or {}).get(names.PREBUILT_WORKLOAD, "")
    if policy.identifier_annotations:
        return str(annotation or label)
    return str(label or (annotation if len(annotation) > LABEL_VALUE_LIMIT else ""))


def queue_name(job: Document) -> str:
    """The LocalQueue the job names; empty when it names none."""
    return str(value_at(job, "metadata.labels", {}).get(names.QUEUE_NAME_LABEL, ""))
