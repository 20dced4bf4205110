"""kubeflow.org/v1 JAXJob: one role, and no prebuilt Workload (spec/jobs 5.3, 9.4)."""

from worker_agent.api.resource_type import JAX_JOBS
from worker_agent.jobs.replica_roles import ReplicaRolesJob


class JAXJob(ReplicaRolesJob):
    framework = "kubeflow.org/jaxjob"
    resource = JAX_JOBS
    replica_specs = "jaxReplicaSpecs"
    roles = ("Worker",)
    prebuilt_allowed = False
