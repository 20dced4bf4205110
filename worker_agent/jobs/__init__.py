"""Job kinds: one file per kind. ``KINDS`` holds them by framework name; everything generic follows from it."""

from typing import Final

from worker_agent.api.job_kind import JobKind
from worker_agent.jobs.app_wrapper import AppWrapper
from worker_agent.jobs.batch_job import BatchJob
from worker_agent.jobs.deployment import Deployment
from worker_agent.jobs.jax_job import JAXJob
from worker_agent.jobs.job_set import JobSet
from worker_agent.jobs.leader_worker_set import LeaderWorkerSet
from worker_agent.jobs.mini_cluster import MiniCluster
from worker_agent.jobs.mpi_job import MPIJob
from worker_agent.jobs.paddle_job import PaddleJob
from worker_agent.jobs.pod import Pod
from worker_agent.jobs.pytorch_job import PyTorchJob
from worker_agent.jobs.ray_cluster import RayCluster
from worker_agent.jobs.ray_job import RayJob
from worker_agent.jobs.ray_service import RayService
from worker_agent.jobs.spark_application import SparkApplication
from worker_agent.jobs.stateful_set import StatefulSet
from worker_agent.jobs.tf_job import TFJob
from worker_agent.jobs.train_job import TrainJob
from worker_agent.jobs.xgboost_job import XGBoostJob

_ALL: Final = (
    BatchJob(),
    JobSet(),
    MPIJob(),
    PyTorchJob(),
    TFJob(),
    XGBoostJob(),
    PaddleJob(),
    JAXJob(),
    RayJob(),
    RayCluster(),
    RayService(),
    TrainJob(),
    AppWrapper(),
    SparkApplication(),
    MiniCluster(),
    Pod(),
    Deployment(),
    StatefulSet(),
    LeaderWorkerSet(),
)

KINDS: Final[dict[str, JobKind]] = {kind.framework: kind for kind in _ALL}
