"""What a job must satisfy when it is created, whatever its kind (spec/jobs section 8)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.job_kind import LABEL_VALUE_LIMIT, JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.topology_request import parse_int
from worker_agent.validation import admission_gates
from worker_agent.validation.field_error import FieldError, forbidden, invalid
from worker_agent.validation.formats import dns_subdomain
from worker_agent.validation.jobs import own_rules, topology
from worker_agent.validation.jobs.surroundings import JobSurroundings

QUEUE_NAME: Final = f"metadata.labels[{names.QUEUE_NAME_LABEL}]"
MAX_EXEC_TIME: Final = f"metadata.labels[{names.MAX_EXEC_TIME_LABEL}]"
PRIORITY_CLASS: Final = f"metadata.labels[{names.PRIORITY_CLASS_LABEL}]"
PREBUILT_LABEL: Final = f"metadata.labels[{names.PREBUILT_WORKLOAD}]"
PREBUILT_ANNOTATION: Final = f"metadata.annotations[{names.PREBUILT_WORKLOAD}]"
ELASTIC_JOB: Final = f"metadata.annotations[{names.ELASTIC_JOB_ANNOTATION}]"


def validate_create(kind: JobKind, job: Document, around: JobSurroundings) -> list[FieldError]:
    """All broken rules of a new job. Raises JobRefused where its pod sets cannot even be told."""
    policy = around.policy
    errors = [*common_errors(kind, job, policy), *own_rules.create_errors(kind, job, policy)]
    return errors + topology.template_errors(kind, job, policy)


def common_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """The rules on labels and annotations that every kind shares."""
    errors = queue_name_errors(job)
    errors += prebuilt_errors(kind, job, policy)
    errors += _max_exec_time_errors(job)
    errors += elastic_errors(kind, job, policy)
    if policy.admission_gated_by:
        errors += admission_gates.validate(at(job, ("metadata", "annotations")))
    return errors


_ELASTIC: Final = ("metadata", "annotations", names.ELASTIC_JOB_ANNOTATION)


def elastic_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """Not every kind can grow and shrink while it runs."""
    if not policy.elastic_jobs or kind.elastic_allowed or at(job, _ELASTIC) != "true":
        return []
    return [forbidden(ELASTIC_JOB, f'elastic job is not supported for "{gvk_text(kind)}"')]


def gvk_text(kind: JobKind) -> str:
    """``batch/v1, Kind=Job``, as Kueue's messages name a kind."""
    return f"{kind.resource.group}/{kind.resource.version}, Kind={kind.resource.kind}"


def queue_name_errors(job: Document) -> list[FieldError]:
    """An empty label is an error too: it is a queue name that names nothing."""
    name = at(job, ("metadata", "labels", names.QUEUE_NAME_LABEL))
    return [] if name is None else [invalid(QUEUE_NAME, name, error) for error in dns_subdomain(name)]


def prebuilt_source(job: Document, policy: JobPolicy) -> tuple[str, str]:
    """Path and value of the pointer to a prebuilt Workload; both empty without one. Only the source is looked at."""
    label = at(job, ("metadata", "labels", names.PREBUILT_WORKLOAD), "")
    annotation = at(job, ("metadata", "annotations", names.PREBUILT_WORKLOAD), "")
    in_label = (PREBUILT_LABEL, label)
    in_annotation = (PREBUILT_ANNOTATION, annotation)
    if policy.identifier_annotations:
        return in_annotation if annotation else (in_label if label else ("", ""))
    if label:
        return in_label
    return in_annotation if len(annotation) > LABEL_VALUE_LIMIT else ("", "")


def prebuilt_errors(kind: JobKind, job: Document, policy: JobPolicy) -> list[FieldError]:
    """The pointer is a Workload's name, and the kind may have one."""
    path, name = prebuilt_source(job, policy)
    if not name:
        return []
    if not kind.prebuilt_allowed and not _is_dispatched(job):
        return [forbidden(path, f'Is not supported for "{gvk_text(kind)}"')]
    return [invalid(path, name, error) for error in dns_subdomain(name)]


def _is_dispatched(job: Document) -> bool:
    """A copy that a manager made: its pointer comes with it (Kueue refuses it for JAXJobs and so cannot send them)."""
    return bool(at(job, ("metadata", "labels", names.MULTIKUEUE_ORIGIN_LABEL)))


def _max_exec_time_errors(job: Document) -> list[FieldError]:
    text = at(job, ("metadata", "labels", names.MAX_EXEC_TIME_LABEL))
    if text is None:
        return []
    try:
        seconds = parse_int(text)
    except ValueError as error:
        return [invalid(MAX_EXEC_TIME, text, str(error))]
    return [] if seconds > 0 else [invalid(MAX_EXEC_TIME, seconds, "should be greater than 0")]
