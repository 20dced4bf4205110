"""sparkoperator.k8s.io/v1beta2 SparkApplication: a driver and its executors (spec/jobs 9.14).

Its roles have no pod templates of their own: fields of the role say what the operator will make of them. Here a role's
placement is looked at as a template, changed as one, and written back to those fields.
"""

from collections.abc import Sequence
from typing import Final

from worker_agent.api import pod_set_info
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import Finish, JobKind, TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.resource_type import SPARK_APPLICATIONS
from worker_agent.jobs import spark_roles

GLOBAL_SELECTOR: Final = ("spec", "nodeSelector")
ENDS: Final = ("COMPLETED", "FAILED", "SUBMISSION_FAILED")
ALIVE: Final = ("RUNNING", "COMPLETED")


class SparkApplication(JobKind):
    framework = "sparkoperator.k8s.io/sparkapplication"
    resource = SPARK_APPLICATIONS
    pod_name_label = "sparkoperator.k8s.io/app-name"
    managed_by_path = ""
    prebuilt_allowed = False
    unreadable_templates_checked = 0
    pod_counts = ("applicationState", "executorState", "driverInfo")

    def templates(self, job: Document) -> list[TemplateAt]:
        counts = {"driver": 1, "executor": get(job, "spec.executor.instances", 0)}
        return [_spot(role, count) for role, count in counts.items()]

    def pod_template(self, job: Document, spot: TemplateAt) -> Document:
        return spark_roles.pod_template(spot.name, at(job, spot.path, {}), get(job, "spec.volumes", []))

    def start(self, job: Document, infos: Sequence[PodSetInfo], policy: JobPolicy) -> Document:
        """A selector for all roles moves into each of them first, because their flavors may differ."""
        spots, infos = self.templates(job), list(infos)
        pod_set_info.expect_count(len(spots), infos)
        started = self._with_suspend(job, False)
        everywhere = at(started, GLOBAL_SELECTOR)
        for spot, info in zip(spots, infos, strict=True):
            role = at(started, spot.path, {})
            role = {**role, "nodeSelector": everywhere} if everywhere else role
            template = pod_set_info.inject(spark_roles.placement(role), info, elastic=policy.elastic_jobs)
            started = put(started, spot.path, spark_roles.placed(spot.name, role, template))
        document: Document = put(started, GLOBAL_SELECTOR, None) if everywhere else started
        return document

    def restore(self, job: Document, infos: Sequence[PodSetInfo]) -> tuple[Document, bool]:
        spots = self.templates(job)
        if len(spots) != len(infos):
            return job, False
        restored = put(job, GLOBAL_SELECTOR, None) if at(job, GLOBAL_SELECTOR) else job
        for spot, info in zip(spots, infos, strict=True):
            role = at(restored, spot.path, {})
            template = pod_set_info.restore(spark_roles.placement(role), info)
            role = spark_roles.placed(spot.name, role, template)
            if spot.name == "executor" and get(role, "instances", 0) != info.count:
                role = {**role, "instances": info.count}
            restored = put(restored, spot.path, role)
        return (restored, True) if restored != job else (job, False)

    def is_active(self, job: Document) -> bool:
        return bool(get(job, "status.applicationState.state") == "RUNNING")

    def pods_ready(self, job: Document) -> bool:
        alive = [state for state in get(job, "status.executorState", {}).values() if state in ALIVE]
        return self.is_active(job) and len(alive) >= get(job, "spec.executor.instances", 0)

    def finished(self, job: Document) -> Finish | None:
        state = get(job, "status.applicationState", {})
        if state.get("state") not in ENDS:
            return None
        return Finish(state["state"] == "COMPLETED", state.get("errorMessage", ""))


def _spot(role: str, count: int) -> TemplateAt:
    annotations = ("spec", role, "annotations")
    return TemplateAt(role, ("spec", role), count, annotations_at=annotations, annotations_field=".".join(annotations))
