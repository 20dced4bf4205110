"""kubeflow.org/v1 PaddleJob (spec/jobs 9.4)."""

from worker_agent.api.resource_type import PADDLE_JOBS
from worker_agent.jobs.replica_roles import ReplicaRolesJob


class PaddleJob(ReplicaRolesJob):
    framework = "kubeflow.org/paddlejob"
    resource = PADDLE_JOBS
    replica_specs = "paddleReplicaSpecs"
    roles = ("Master", "Worker")
