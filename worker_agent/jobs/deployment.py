"""apps/v1 Deployment: each of its pods is queued by itself (spec/jobs 9.11)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, get
from worker_agent.api.job_kind import TemplateAt
from worker_agent.api.resource_type import DEPLOYMENTS
from worker_agent.jobs.serving import PARENT, ServingKind, marked, queue_labels

TEMPLATE: Final = ("spec", "template")


class Deployment(ServingKind):
    framework = "deployment"
    resource = DEPLOYMENTS
    parent = "deployment"
    reconciled = False

    def templates(self, job: Document) -> list[TemplateAt]:
        return [TemplateAt(names.DEFAULT_POD_SET_NAME, TEMPLATE, get(job, "spec.replicas", 1))]

    def suspend(self, job: Document) -> Document:
        labels = {**queue_labels(job), names.MANAGED_LABEL: "true"}
        return marked(job, TEMPLATE, labels, {PARENT: self.parent})
