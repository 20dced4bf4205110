"""flux-framework.org/v1alpha2 MiniCluster, held; what is told of its pods stands in the Job that its operator makes."""

from worker_agent.api import names
from worker_agent.api.document import Document

from .sample import Sample, metadata

_METADATA = metadata("train")
_METADATA["annotations"] = {**_METADATA["annotations"], names.HELD_SIZE_ANNOTATION: "4"}


def _ended(condition: str) -> Document:
    return {"conditions": [{"type": condition, "status": "True", "message": "so it ended"}]}


MINI_CLUSTER = Sample(
    job={
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": _METADATA,
        "spec": {
            "size": 0,
            "containers": [{"image": "lammps:1", "resources": {"requests": {"cpu": "2"}}, "fieldOfTheFuture": 1}],
            "pod": {
                "labels": {"app": "train"},
                "nodeSelector": {"arch": "amd64"},
                "tolerations": [{"key": "dedicated", "operator": "Exists"}],
                "podFieldOfTheFuture": True,
            },
        },
    },
    running={"active": 4, "ready": 2},
    ready={"active": 4, "ready": 4},
    succeeded=_ended("Complete"),
    failed=_ended("Failed"),
    child={
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "ownerReferences": [{"uid": "train-uid", "controller": True}]},
        "spec": {"parallelism": 4, "completions": 4},
    },
)
