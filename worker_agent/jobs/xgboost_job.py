"""kubeflow.org/v1 XGBoostJob (spec/jobs 9.4)."""

from worker_agent.api.resource_type import XGBOOST_JOBS
from worker_agent.jobs.replica_roles import ReplicaRolesJob


class XGBoostJob(ReplicaRolesJob):
    framework = "kubeflow.org/xgboostjob"
    resource = XGBOOST_JOBS
    replica_specs = "xgbReplicaSpecs"
    roles = ("Master", "Worker")
