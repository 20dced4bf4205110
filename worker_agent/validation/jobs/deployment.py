"""Rules of Deployments: those of all serving kinds (spec/jobs 9.11)."""

from worker_agent.api.document import Document
from worker_agent.jobs.deployment import Deployment
from worker_agent.validation.field_error import FieldError
from worker_agent.validation.jobs import serving
from worker_agent.validation.jobs.surroundings import JobSurroundings


def create_errors(kind: Deployment, job: Document, around: JobSurroundings) -> list[FieldError]:
    return serving.create_errors(kind, job, around)


def update_errors(kind: Deployment, new: Document, old: Document, around: JobSurroundings) -> list[FieldError]:
    return serving.update_errors(kind, new, old, around)
