"""One job of each served kind as a user would write it, with fields that nobody here knows. A new kind adds its own."""

from . import app_wrapper, batch, job_set, mini_cluster, ray, spark, train_job, training
from .sample import Sample

SAMPLES: dict[str, Sample] = {
    "batch/job": batch.JOB,
    "jobset.x-k8s.io/jobset": job_set.JOB_SET,
    "kubeflow.org/mpijob": training.MPI_JOB,
    "kubeflow.org/pytorchjob": training.PYTORCH_JOB,
    "kubeflow.org/tfjob": training.TF_JOB,
    "kubeflow.org/xgboostjob": training.XGBOOST_JOB,
    "kubeflow.org/paddlejob": training.PADDLE_JOB,
    "kubeflow.org/jaxjob": training.JAX_JOB,
    "ray.io/rayjob": ray.RAY_JOB,
    "ray.io/raycluster": ray.RAY_CLUSTER,
    "ray.io/rayservice": ray.RAY_SERVICE,
    "trainer.kubeflow.org/trainjob": train_job.TRAIN_JOB,
    "flux-framework.org/minicluster": mini_cluster.MINI_CLUSTER,
    "workload.codeflare.dev/appwrapper": app_wrapper.APP_WRAPPER,
    "sparkoperator.k8s.io/sparkapplication": spark.SPARK_APPLICATION,
}
"""By framework name."""

__all__ = ["SAMPLES", "Sample"]
