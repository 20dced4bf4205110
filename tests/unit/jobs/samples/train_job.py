"""trainer.kubeflow.org/v1alpha1 TrainJob, with the runtime it refers to."""

from worker_agent.api.document import Document

from .sample import Sample, metadata, template


def _job(name: str, step: str) -> Document:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step}
    spec = {"parallelism": 1, "completions": 1, "template": template()}
    return {"name": name, "replicas": 1, "template": {"metadata": {"labels": labels}, "spec": spec}}


def _status(**counts: int) -> list[Document]:
    return [{"name": name, **counts} for name in ("model", "node")]


TRAIN_JOB = Sample(
    job={
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata("train"),
        "spec": {
            "suspend": True,
            "runtimeRef": {"kind": "ClusterTrainingRuntime", "name": "torch"},
            "trainer": {"numNodes": 3, "env": [{"name": "LR", "value": "0.1"}]},
            "jobFieldOfTheFuture": [1, 2],
            "runtimePatches": [
                {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {}}}},
            ],
        },
    },
    running={"jobsStatus": _status(active=1, ready=0, succeeded=0)},
    ready={"jobsStatus": _status(active=1, ready=1, succeeded=0)},
    succeeded={"conditions": [{"type": "Complete", "status": "True", "message": "done"}]},
    failed={"conditions": [{"type": "Failed", "status": "True", "message": "broken"}]},
    companion={
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch"},
        "spec": {
            "template": {"spec": {"replicatedJobs": [_job("model", "model-initializer"), _job("node", "trainer")]}}
        },
    },
)
