"""sparkoperator.k8s.io/v1beta2 SparkApplication."""

from worker_agent.api.document import Document

from .sample import Sample, metadata


def _role(name: str, **fields: object) -> Document:
    template = {"metadata": {}, "spec": {"containers": [{"name": f"spark-kubernetes-{name}"}], "fieldOfTheFuture": 1}}
    return {
        "coreRequest": "500m",
        "memory": "1g",
        "labels": {"app": "train"},
        "nodeSelector": {"arch": "amd64"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "template": template,
        **fields,
    }


SPARK_APPLICATION = Sample(
    job={
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": metadata("train"),
        "spec": {
            "suspend": True,
            "type": "Python",
            "mode": "cluster",
            "mainApplicationFile": "local:///train.py",
            "driver": _role("driver"),
            "executor": _role("executor", instances=2),
        },
    },
    running={"applicationState": {"state": "RUNNING"}, "executorState": {}},
    ready={"applicationState": {"state": "RUNNING"}, "executorState": {"exec-1": "RUNNING", "exec-2": "RUNNING"}},
    succeeded={"applicationState": {"state": "COMPLETED"}},
    failed={"applicationState": {"state": "FAILED", "errorMessage": "broken"}},
)
