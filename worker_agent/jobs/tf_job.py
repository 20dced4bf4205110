"""kubeflow.org/v1 TFJob: five roles (spec/jobs 9.4)."""

from worker_agent.api.resource_type import TF_JOBS
from worker_agent.jobs.replica_roles import ReplicaRolesJob


class TFJob(ReplicaRolesJob):
    framework = "kubeflow.org/tfjob"
    resource = TF_JOBS
    replica_specs = "tfReplicaSpecs"
    roles = ("Chief", "Master", "PS", "Worker", "Evaluator")
