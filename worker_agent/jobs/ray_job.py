"""ray.io/v1 RayJob: a cluster made for one job, and the pod that submits it (spec/jobs 9.7)."""

from datetime import datetime
from typing import Final

from worker_agent.api.document import Document, at, get
from worker_agent.api.job_kind import Finish, TemplateAt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import RAY_CLUSTERS, RAY_JOBS
from worker_agent.jobs.container_requests import with_container
from worker_agent.jobs.ray_cluster import RayKind, size_suffix

SUBMITTER_TEMPLATE: Final = ("spec", "submitterPodTemplate")
SUBMITTER: Final[Document] = {
    "name": "ray-job-submitter",
    "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
}


class RayJob(RayKind):
    framework = "ray.io/rayjob"
    resource = RAY_JOBS
    cluster_path = ("spec", "rayClusterSpec")
    shown_cluster = "spec.rayClusterSpec"
    companion_resources = (RAY_CLUSTERS,)
    made_cluster = "status.rayClusterName"
    gates_elastic_pods = False
    pod_counts = ("rayClusterStatus", "jobDeploymentStatus")

    def skips(self, job: Document, policy: JobPolicy) -> bool:
        """A job for a cluster that is there already takes no room of its own."""
        return bool(get(job, "spec.clusterSelector"))

    def on_hold(self, job: Document) -> bool:
        return bool(get(job, "status.jobDeploymentStatus") == "ValidationFailed")

    def templates(self, job: Document) -> list[TemplateAt]:
        submitters = get(job, "spec.submissionMode") == "K8sJobMode"
        return super().templates(job) + ([TemplateAt("submitter", SUBMITTER_TEMPLATE, 1)] if submitters else [])

    def pod_template(self, job: Document, spot: TemplateAt) -> Document:
        """The default submitter where the user gives none; as a sidecar it is a container of the head."""
        if spot.path == SUBMITTER_TEMPLATE:
            return super().pod_template(job, spot) or _submitter(job)
        template = super().pod_template(job, spot)
        sidecar = spot.path[-2] == "headGroupSpec" and get(job, "spec.submissionMode") == "SidecarMode"
        return with_container(template, SUBMITTER) if sidecar else template

    def name_suffix(self, job: Document, policy: JobPolicy) -> str:
        return size_suffix(self, job, policy)

    def is_active(self, job: Document) -> bool:
        return get(job, "status.jobDeploymentStatus", "") not in ("", "Suspended")

    def pods_ready(self, job: Document) -> bool:
        return bool(get(job, "status.rayClusterStatus.state") == "ready")

    def finished(self, job: Document) -> Finish | None:
        status = job.get("status") or {}
        if status.get("jobDeploymentStatus") not in ("Complete", "Failed"):
            return None
        return Finish(status.get("jobStatus") == "SUCCEEDED", status.get("message", ""))

    def ended(self, job: Document, end: Finish, now: datetime) -> Document:
        deployment, outcome = ("Complete", "SUCCEEDED") if end.success else ("Failed", "FAILED")
        told = {"jobDeploymentStatus": deployment, "jobStatus": outcome, "message": end.message}
        return {**job, "status": {**self.idle_status(job), **told}}


def _submitter(job: Document) -> Document:
    image = at(job, ("spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers", 0, "image"))
    container = {**SUBMITTER, "image": image} if image else SUBMITTER
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}
