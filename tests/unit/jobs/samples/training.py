"""The kinds of the training operators: replica roles under one field."""

from worker_agent.api.document import Document

from .sample import Sample, metadata, template


def _condition(type_: str, message: str = "") -> Document:
    return {"type": type_, "status": "True", "message": message}


def training_job(api_version: str, kind: str, field: str, **replicas: int) -> Sample:
    """A job of ``kind`` with these roles."""
    roles = {
        role: {"replicas": count, "restartPolicy": "Never", "template": template()} for role, count in replicas.items()
    }
    active = {role: {"active": count} for role, count in replicas.items()}
    return Sample(
        job={
            "apiVersion": api_version,
            "kind": kind,
            "metadata": metadata("train"),
            "spec": {"runPolicy": {"suspend": True, "backoffLimit": 2}, field: roles, "jobFieldOfTheFuture": [1, 2]},
        },
        running={"replicaStatuses": active, "conditions": [_condition("Created")]},
        ready={"replicaStatuses": active, "conditions": [_condition("Created"), _condition("Running")]},
        succeeded={"replicaStatuses": {}, "conditions": [_condition("Succeeded", "done")]},
        failed={"replicaStatuses": {}, "conditions": [_condition("Failed", "broken")]},
    )


KUBEFLOW = "kubeflow.org/v1"
PYTORCH_JOB = training_job(KUBEFLOW, "PyTorchJob", "pytorchReplicaSpecs", Master=1, Worker=3)
TF_JOB = training_job(KUBEFLOW, "TFJob", "tfReplicaSpecs", Chief=1, PS=2, Worker=3, Evaluator=1)
XGBOOST_JOB = training_job(KUBEFLOW, "XGBoostJob", "xgbReplicaSpecs", Master=1, Worker=3)
PADDLE_JOB = training_job(KUBEFLOW, "PaddleJob", "paddleReplicaSpecs", Master=1, Worker=3)
JAX_JOB = training_job(KUBEFLOW, "JAXJob", "jaxReplicaSpecs", Worker=4)
MPI_JOB = training_job("kubeflow.org/v2beta1", "MPIJob", "mpiReplicaSpecs", Launcher=1, Worker=4)
