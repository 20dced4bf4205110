"""ray.io/v1 RayService: a cluster that serves until it is deleted (spec/jobs 9.8)."""

from typing import Final

from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import Finish
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import RAY_CLUSTERS, RAY_SERVICES
from worker_agent.engine.workload_status import is_true
from worker_agent.jobs.ray_cluster import RayKind, size_suffix, tolerates_head_failure

SERVED: Final = "spec.serveConfigV2"


class RayService(RayKind):
    framework = "ray.io/rayservice"
    resource = RAY_SERVICES
    suspend_path = "spec.rayClusterConfig.suspend"
    cluster_path = ("spec", "rayClusterConfig")
    shown_cluster = "spec.rayClusterSpec"
    companion_resources = (RAY_CLUSTERS,)
    made_cluster = "status.activeServiceStatus.rayClusterName"
    forwards_changes = True
    pod_counts = ("conditions", "numServeEndpoints")

    def skips(self, job: Document, policy: JobPolicy) -> bool:
        """Its quota stays taken until Ray has cleaned Redis up, which needs a pod of its own."""
        ending = policy.defer_ray_service_end and job["metadata"].get("deletionTimestamp") is not None
        return ending and tolerates_head_failure(job, at(job, self.cluster_path, {}))

    def name_suffix(self, job: Document, policy: JobPolicy) -> str:
        return size_suffix(self, job, policy)

    def remote_patch(self, local: Document, remote: Document, workload: str, policy: JobPolicy) -> Document:
        """What is served may change while the service runs; what it runs on may not."""
        wanted = get(local, SERVED, None)
        if not policy.remote_spec_sync or wanted == get(remote, SERVED, None):
            return remote
        document: Document = put(remote, tuple(SERVED.split(".")), wanted)
        return document

    def is_active(self, job: Document) -> bool:
        return is_true(job, "Ready")

    def pods_ready(self, job: Document) -> bool:
        return self.is_active(job)

    def finished(self, job: Document) -> Finish | None:
        return None
