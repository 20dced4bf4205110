"""kubeflow.org/v1 PyTorchJob (spec/jobs 9.4)."""

from worker_agent.api.resource_type import PYTORCH_JOBS
from worker_agent.jobs.replica_roles import ReplicaRolesJob


class PyTorchJob(ReplicaRolesJob):
    framework = "kubeflow.org/pytorchjob"
    resource = PYTORCH_JOBS
    replica_specs = "pytorchReplicaSpecs"
    roles = ("Master", "Worker")
